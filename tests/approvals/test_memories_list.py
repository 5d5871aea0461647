"""The list of memories: who sees which, filters, order, pages, queries."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from approvals.memory_pages import listing
from memories.models import Agent, Memory
from memories.services import expire_due
from tests import build
from tests.approvals.memory_pages import LIST, address, shown, signed_in, text_of
from tests.plans import whole_reads

pytestmark = pytest.mark.django_db


def ids(*memories: Memory) -> list[str]:
    return [str(memory.pk) for memory in memories]


def test_somebody_unknown_meets_the_login_page_and_comes_back() -> None:
    response = Client().get(LIST + "?tag=tea")
    assert response.headers["Location"] == "/login/?next=%2Fmemories%2F%3Ftag%3Dtea"


def test_the_newest_comes_first_and_only_what_is_live(desk: Client, agent: Agent) -> None:
    old, new = build.memory(agent, "old"), build.short_term(agent, "new")
    build.forget_now(agent, build.short_term(agent, "gone"))
    build.held(agent, "still waiting")
    assert shown(desk.get(LIST)) == ids(new, old)


def test_each_filter_narrows_the_list(desk: Client, agent: Agent) -> None:
    other = build.agent()
    tea = build.memory(agent, "Alice drinks tea.", tags=["tea", 'a "b", c'])
    mate = build.memory(other, "Bob drinks mate.", tags=["teas"])
    note = build.short_term(agent, "hello", ttl_seconds=3_600)
    for query, expected in (
        ({"agent": str(other.pk)}, [mate]),
        ({"type": "episodic"}, [note]),
        ({"tag": "tea"}, [tea]),
        ({"tag": 'a "b", c'}, [tea]),
        ({"tag": "te"}, []),
        ({"tag": "Tea"}, []),
        ({"state": "expires"}, [note]),
        ({"state": "live"}, [note, mate, tea]),
        ({"agent": str(agent.pk), "type": "semantic", "tag": "tea"}, [tea]),
    ):
        assert shown(desk.get(LIST, query)) == ids(*expected), query


def test_the_state_is_that_of_the_clock(desk: Client, agent: Agent) -> None:
    lives, ends = build.memory(agent, "lives"), build.memory(agent, "ends")
    swept, gone = build.short_term(agent, "swept"), build.short_term(agent, "gone")
    old = build.memory(agent, "old")
    new = build.memory(agent, "new", supersedes=[old.pk])
    build.forget_now(agent, gone)
    past = timezone.now() - timedelta(seconds=1)
    Memory.objects.filter(pk=swept.pk).update(expires_at=past)
    expire_due()
    Memory.objects.filter(pk=ends.pk).update(expires_at=past)

    assert shown(desk.get(LIST)) == ids(new, lives)
    assert shown(desk.get(LIST, {"state": "expired"})) == ids(swept, ends)
    assert shown(desk.get(LIST, {"state": "retired"})) == ids(old)
    assert shown(desk.get(LIST, {"state": "forgotten"})) == ids(gone)
    assert len(shown(desk.get(LIST, {"state": "any"}))) == 6


def test_a_text_with_another_state_filters_by_what_it_contains_and_says_so(
    desk: Client, agent: Agent
) -> None:
    gone = build.short_term(agent, "The vault opens at NOON.")
    build.forget_now(agent, gone, build.short_term(agent, "Something else."))
    page = desk.get(LIST, {"q": "at noon", "state": "forgotten"})
    assert shown(page) == ids(gone)
    assert "Search covers live memories only." in text_of(page)


def test_pages_follow_each_other_and_nothing_is_left_out(
    desk: Client, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "PAGE_SIZE", 2)
    made = [build.short_term(agent, f"note {number}", tags=["t"]) for number in range(5)]
    Memory.objects.update(created_at=timezone.now())  # the id decides
    seen: list[str] = []
    where: str | None = f"{LIST}?tag=t"
    while where:
        page = desk.get(where)
        seen += shown(page)
        following = re.search(r'<a href="([^"]+)">Next', text_of(page))
        where = unescape(following[1]) if following else None
    assert seen == sorted(ids(*made), reverse=True)


def test_an_answer_looks_through_a_bounded_number_and_says_how_far_it_came(
    desk: Client, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "WINDOW", 4)
    oldest = build.short_term(agent, "oldest", tags=["t"])
    for number in range(6):
        build.short_term(agent, f"note {number}")
    newest = build.short_term(agent, "newest", tags=["t"])
    Memory.objects.update(created_at=timezone.now())  # the id decides
    first = desk.get(LIST, {"tag": "t"})
    assert shown(first) == ids(newest)
    assert "it looked back to" in text_of(first)
    further = re.search(r'<a href="([^"]+)">Look further back', text_of(first))
    assert further
    second = desk.get(unescape(further[1]))
    assert shown(second) == ids(oldest)
    assert "Look further back" not in text_of(second)
    nothing = text_of(desk.get(LIST, {"tag": "other"}))
    assert "Nothing fits so far" in nothing
    assert "No memory fits" not in nothing


@pytest.mark.parametrize(
    "query", [{}, {"state": "expired"}, {"type": "working"}, {"tag": "x", "state": "any"}]
)
def test_no_filter_leaves_the_order_of_an_index(
    agent: Agent, monkeypatch: pytest.MonkeyPatch, query: dict[str, str]
) -> None:
    monkeypatch.setattr(listing, "WINDOW", 2)
    for number in range(4):
        build.short_term(agent, f"note {number}")
    limited = build.person(agents=[agent.agent_id])
    for person in (build.person(), limited):
        client = signed_in(person)
        for chosen in ({}, {"agent": str(agent.pk)}):
            with CaptureQueriesContext(connection) as caught:
                assert client.get(LIST, {**query, **chosen}).status_code == 200
            assert whole_reads(caught, "memories_memory") == []


@pytest.mark.parametrize("after", ["nonsense", "", "é"])
def test_a_cursor_that_is_none_shows_the_first_page(
    desk: Client, agent: Agent, after: str
) -> None:
    memory = build.memory(agent)
    assert shown(desk.get(LIST, {"after": after})) == ids(memory)


@pytest.mark.parametrize(
    "query", [{"agent": "nobody"}, {"type": "other"}, {"state": "odd"}, {"q": "x" * 1_001}]
)
def test_a_filter_that_is_none_is_said_and_shows_nothing(
    desk: Client, agent: Agent, query: dict[str, str]
) -> None:
    build.memory(agent)
    page = desk.get(LIST, query)
    assert page.status_code == 400
    assert shown(page) == []
    assert 'class="fault"' in text_of(page)


@pytest.mark.case("D17")
def test_a_limited_person_finds_nothing_of_another_agent(agent: Agent) -> None:
    other = build.agent("secret-bot")
    mine = build.memory(agent, "mine", tags=["t"])
    theirs = build.memory(other, "theirs", tags=["t"])
    build.drain()
    client = signed_in(build.person(agents=[agent.agent_id]))
    for query in ({}, {"state": "any"}, {"tag": "t"}, {"q": "mine"}):
        page = client.get(LIST, query)
        assert shown(page) == ids(mine), query
        assert "secret-bot" not in text_of(page)
    for query in ({"agent": str(other.pk)}, {"agent": str(other.pk), "q": "theirs"}):
        page = client.get(LIST, query)
        assert page.status_code == 400
        assert shown(page) == []
    assert client.get(address(theirs)).status_code == 404


def test_what_the_index_does_not_have_yet_says_so(desk: Client, agent: Agent) -> None:
    build.memory(agent)
    assert 'data-index="queued"' in text_of(desk.get(LIST))
    build.drain()
    assert "data-index" not in text_of(desk.get(LIST))


def test_an_empty_list_says_what_to_do(desk: Client, agent: Agent) -> None:
    assert "Nothing is remembered yet" in text_of(desk.get(LIST))
    build.memory(agent)
    assert "No memory fits" in text_of(desk.get(LIST, {"tag": "none"}))


@pytest.mark.case("D14")
def test_a_long_memory_is_short_in_every_list_and_whole_on_its_page(
    desk: Client, agent: Agent
) -> None:
    text = "".join(f"Sentence {number} of a long rule. " for number in range(1_500))
    memory = build.memory(agent, text)
    build.drain()
    for query in ({}, {"q": "Sentence of a long rule"}):
        page = desk.get(LIST, query)
        assert shown(page) == ids(memory)
        assert "Sentence 1 of" in text_of(page)
        assert "Sentence 1499 of" not in text_of(page)
        assert len(page.content) < 20_000
    assert "Sentence 1499 of" in text_of(desk.get(address(memory)))


@pytest.mark.parametrize("query", [{}, {"q": "memory"}, {"state": "any", "tag": "t"}])
def test_more_rows_take_no_more_queries(
    desk: Client, agent: Agent, query: dict[str, str]
) -> None:
    def queries() -> int:
        build.drain()
        with CaptureQueriesContext(connection) as caught:
            assert shown(desk.get(LIST, query))
        return len(caught)

    build.memory(agent, "memory 0", tags=["t"])
    desk.get(LIST, query)  # what is read once per process
    few = queries()
    for number in range(1, 9):
        build.memory(agent, f"memory {number}", tags=["t"])
    assert queries() == few
