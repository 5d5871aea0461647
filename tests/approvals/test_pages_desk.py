"""The queue and the card: who sees what, page and partial, filters, cursors, queries."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from approvals import queues
from approvals.models import Proposal
from memories.cursors import write_cursor
from memories.models import Agent, User
from tests import build
from tests.approvals.pages import Forms, address, card

QUEUE = "/proposals/"


def rows(response: Any) -> int:
    return int(response.content.decode().count('class="row"'))


def test_the_root_leads_to_the_queue(desk: Client) -> None:
    assert desk.get("/").headers["Location"] == QUEUE


@pytest.mark.parametrize("limited", [False, True])
def test_nothing_left_is_said_of_what_the_person_may_see(
    agent: Agent, limited: bool
) -> None:
    sam = build.person("sam", agents=[agent.agent_id] if limited else None)
    client = Client()
    client.force_login(sam)
    page = client.get("/proposals/").content.decode()
    assert ("Every proposal that you may see is decided." in page) == limited
    assert ("Every proposal is decided." in page) != limited


def test_somebody_unknown_meets_the_login_page_and_comes_back(agent: Agent) -> None:
    proposal = build.held(agent)
    response = Client().get(address(proposal) + "?op=remember")
    assert response.status_code == 302
    expected = f"/login/?next=%2Fproposals%2F{proposal.pk}%2F%3Fop%3Dremember"
    assert response.headers["Location"] == expected


def test_somebody_unknown_comes_back_to_the_whole_text(agent: Agent) -> None:
    memory = build.memory(agent)
    whole = f"{address(build.forgetting(agent, memory))}memories/{memory.pk}/"
    expected = f"/login/?next={quote(whole, safe='')}"
    assert Client().get(whole).headers["Location"] == expected


def test_an_expired_session_leads_htmx_to_a_full_login_page(agent: Agent) -> None:
    proposal = build.held(agent)
    headers = {**build.HTMX, "HX-Current-URL": f"http://testserver{address(proposal)}"}
    response = Client().post(address(proposal, "approve"), headers=headers)
    assert response.status_code == 200
    expected = f"/login/?next=%2Fproposals%2F{proposal.pk}%2F"
    assert response.headers["HX-Redirect"] == expected
    assert Proposal.objects.pending().count() == 1


def test_the_same_address_serves_the_page_and_its_part(desk: Client, agent: Agent) -> None:
    proposal = build.held(agent)
    for where, root in (
        (QUEUE, '<section id="queue-list"'),
        (address(proposal), f'<article id="proposal-{proposal.pk}"'),
    ):
        page, part = desk.get(where), desk.get(where, headers=build.HTMX)
        assert page.content.strip().startswith(b"<!doctype html>")
        assert part.content.decode().strip().startswith(root)
        assert root in page.content.decode()
        assert "HX-Request" in page.headers["Vary"]


def test_a_restored_history_entry_is_a_full_page(desk: Client, agent: Agent) -> None:
    headers = {**build.HTMX, "HX-History-Restore-Request": "true"}
    page = desk.get(address(build.held(agent)), headers=headers)
    assert page.content.strip().startswith(b"<!doctype html>")


def test_signed_in_pages_are_kept_by_no_cache(desk: Client) -> None:
    assert "no-store" in desk.get(QUEUE).headers["Cache-Control"]


def test_a_viewer_reads_and_sees_no_buttons(agent: Agent) -> None:
    proposal = build.held(agent, "Tea is served at four.")
    client = Client()
    client.force_login(build.person(role="viewer"))
    response = client.get(address(proposal))
    assert "Tea is served at four." in response.content.decode()
    assert Forms(response).buttons == ["Log out", "Show"]


def test_the_owner_of_an_agent_reads_why_somebody_else_decides(reviewer: User) -> None:
    proposal = build.held(build.agent(owner=reviewer))
    client = Client()
    client.force_login(reviewer)
    page = client.get(address(proposal))
    assert "You own this agent" in page.content.decode()
    assert "Approve" not in Forms(page).buttons


@pytest.mark.django_db
def test_proposals_of_other_agents_are_not_there() -> None:
    mine, other = build.agent("mine"), build.agent("other")
    shown, hidden = build.held(mine), build.held(other, "Nobody else reads this.")
    client = Client()
    client.force_login(build.person(agents=["mine"]))
    assert client.get(address(shown)).status_code == 200
    for act in ("", "approve", "reject", "rebase", "retry"):
        send = client.post if act else client.get
        assert send(address(hidden, act)).status_code == 404
    queue = client.get(QUEUE + "?status=any").content.decode()
    assert rows(client.get(QUEUE)) == 1
    assert "Nobody else" not in queue
    assert "other" not in queue.partition("<main")[2].partition('id="queue-list"')[0]
    assert client.get(QUEUE + f"?agent={other.pk}").status_code == 400


def test_an_unknown_proposal_is_404(desk: Client) -> None:
    assert desk.get(address(uuid4())).status_code == 404
    assert desk.post(address(uuid4(), "approve")).status_code == 404


@pytest.mark.parametrize(
    ("query", "texts"),
    [
        ("", {"one", "two", "three"}),
        ("op=remember", {"one", "two", "three"}),
        ("op=merge", set()),
        ("type=procedural", {"two"}),
        ("q=THREE", {"three"}),
        ("age=day", {"one"}),
        ("status=rejected", {"four"}),
        ("status=any", {"one", "two", "three", "four"}),
        ("status=pending&type=procedural", {"two"}),
    ],
)
def test_the_filter_is_in_the_address(
    desk: Client, agent: Agent, query: str, texts: set[str]
) -> None:
    old = build.held(agent, "text one")
    build.held(agent, "text two", memory_type="procedural")
    build.held(agent, "text three")
    build.reject(build.held(agent, "text four"))
    past = timezone.now() - timedelta(days=2)
    Proposal.objects.filter(pk=old.pk).update(created_at=past)

    page = desk.get(f"{QUEUE}?{query}&agent={agent.pk}")

    listed = page.content.decode().partition('id="queue-list"')[2]
    assert {
        word for word in ("one", "two", "three", "four") if f"text {word}" in listed
    } == (texts)
    assert f"{len(texts)} found" in listed


def test_text_is_found_in_the_memories_a_proposal_would_touch(
    desk: Client, agent: Agent
) -> None:
    build.forgetting(agent, build.memory(agent, "The vault code is on the fridge."))
    assert rows(desk.get(QUEUE + "?q=fridge")) == 1


def test_pages_go_on_from_a_cursor_oldest_first(
    desk: Client, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queues, "PAGE_SIZE", 2)
    for number in range(5):
        build.held(agent, f"text {number}")
    seen: list[str] = []
    where = QUEUE + "?type=semantic"
    for _ in range(3):
        text = desk.get(where).content.decode()
        seen += [str(n) for n in range(5) if f"text {n}" in text.partition('id="pane"')[0]]
        cursor = text.partition(f'href="{QUEUE}?type=semantic&amp;after=')[2]
        where = f"{QUEUE}?type=semantic&after=" + cursor.partition('"')[0]
    assert seen == ["0", "1", "2", "3", "4"]


BEFORE_THE_CALENDAR = datetime.fromisoformat("0001-01-01T00:00:00+14:00")


@pytest.mark.parametrize(
    "cursor",
    [
        *("x", "AAAA", "%C3%A9", "MjAyNi0wMS0wMSB4"),
        write_cursor((BEFORE_THE_CALENDAR, UUID(int=1))),
    ],
)
def test_a_cursor_that_was_never_handed_out_starts_at_the_beginning(
    desk: Client, agent: Agent, cursor: str
) -> None:
    build.held(agent)
    assert rows(desk.get(f"{QUEUE}?after={cursor}")) == 1


def test_the_title_counts_what_waits(desk: Client, agent: Agent) -> None:
    build.held(agent, "a")
    build.held(agent, "b")
    assert "<title>(2) Queue" in desk.get(QUEUE).content.decode()


def test_queries_do_not_grow_with_the_queue(desk: Client, agent: Agent) -> None:
    first = build.held(agent, "number 0")
    few = queries(lambda: desk.get(QUEUE)), queries(lambda: desk.get(address(first)))
    for number in range(1, 12):
        build.held(agent, f"number {number}", metadata={"derived_from": [str(uuid4())]})
        build.forgetting(agent, build.memory(agent, f"memory {number}"))
    many = queries(lambda: desk.get(QUEUE)), queries(lambda: desk.get(address(first)))
    assert many == few
    assert max(many) <= 12


def test_queries_do_not_grow_with_the_targets(desk: Client, agent: Agent) -> None:
    memories = [build.memory(agent, f"memory {number}") for number in range(9)]
    small = build.forgetting(agent, *memories[:2])
    large = build.forgetting(agent, *memories[2:])
    assert queries(lambda: desk.get(address(small))) == queries(
        lambda: desk.get(address(large))
    )


def queries(act: Callable[[], object]) -> int:
    with CaptureQueriesContext(connection) as captured:
        act()
    return len(captured)


def test_what_an_agent_wrote_is_inert(desk: Client, agent: Agent) -> None:
    hostile = '<script>alert(1)</script><div hx-get="/x" hx-trigger=load>{{ 7*7 }}</div>'
    proposal = build.held(
        agent,
        hostile,
        tags=[hostile[:100]],
        metadata={hostile: [hostile], "source": hostile, "derived_from": [hostile]},
    )
    build.reject(build.held(agent, "other"), comment=hostile)
    for where in (QUEUE, address(proposal), QUEUE + "?status=any"):
        text = desk.get(where).content.decode()
        assert "<script>alert" not in text
        assert '<div hx-get="/x"' not in text
        assert "&lt;script&gt;alert" in text
        assert ">49<" not in text


def test_hidden_characters_are_tokens_and_warned_about(desk: Client, agent: Agent) -> None:
    proposal = build.held(
        agent, "pay\u202epal \u200b", tags=["a\u00adb"], metadata={"k\U000e0041": 1}
    )
    text = desk.get(address(proposal)).content.decode()
    for label in ("U+202E", "U+200B", "U+00AD", "U+E0041"):
        assert f'">{label}</span>' in text
    assert "Warnings" in text


def test_right_to_left_text_is_no_warning(desk: Client, agent: Agent) -> None:
    proposal = build.held(agent, "naïve café Здравствуйте العربية 👨‍👩‍👧")
    assert "Warnings" not in desk.get(address(proposal)).content.decode()


@pytest.mark.case("G16")
def test_odd_metadata_is_reviewable_and_decidable(desk: Client, agent: Agent) -> None:
    deep: Any = "bottom"
    for _ in range(20):
        deep = {"ключ": [deep]}
    odd = {f"key {number} é": number for number in range(40)} | {"deep": deep}
    proposal = build.held(agent, metadata=odd)
    text = desk.get(address(proposal)).content.decode()
    assert "key 39 é" in text
    assert "bottom" in text
    build.approve(proposal)
    assert build.made_by(proposal).metadata == odd


def test_a_closed_card_names_the_version_that_was_shown(desk: Client, agent: Agent) -> None:
    memory = build.memory(agent)
    proposal = build.forgetting(agent, memory)
    build.approve(build.revising(memory, "Alice prefers coffee."))
    assert "version 2, live" in desk.get(address(proposal)).content.decode()
    build.reject(proposal)
    text = desk.get(address(proposal)).content.decode()
    assert "version 1, now live" in text
    assert "Alice prefers tea." in text


def test_a_card_says_in_one_sentence_what_will_happen(desk: Client) -> None:
    bot = build.agent("billing-bot")
    one, two, three = (build.memory(bot, f"memory {n}") for n in range(3))
    for proposal, sentence in (
        (build.held(bot), "Remember 1 new semantic memory for billing-bot"),
        (build.held(bot, "new", supersedes=[one.pk]), "Replace 1 semantic memory of"),
        (build.revising(one, "newer"), "Revise 1 semantic memory of billing-bot"),
        (build.merging(bot, one, two, three), "into 1 semantic memory; the 3 retire"),
        (build.forgetting(bot, one, two), "Forget 2 semantic memories of billing-bot"),
        (build.expiring(bot, one), "Expire 1 semantic memory of billing-bot now"),
        (
            build.expiring(bot, one, ttl_seconds=86_400),
            "Let 1 semantic memory of billing-bot expire",
        ),
    ):
        assert sentence in desk.get(address(proposal)).content.decode()


def test_errors_are_pages_of_the_same_look(desk: Client) -> None:
    page = desk.get("/nowhere/")
    assert page.status_code == 404
    assert "There is nothing here" in page.content.decode()


def test_an_edit_form_shows_what_is_proposed(desk: Client, agent: Agent) -> None:
    proposal = build.held(agent, "\nline\r\nline", tags=["tea", "a, b", 'say "x"'])
    fields = card(desk, proposal).by_button("Edit and approve").fields
    assert fields["content"] == "\nline\nline"
    assert fields["tags"] == 'tea, "a, b", "say ""x"""'


def test_a_stale_forget_shows_the_first_targets_that_moved_on(
    desk: Client, agent: Agent
) -> None:
    memories = [build.memory(agent, f"memory {number}") for number in range(5)]
    proposal = build.forgetting(agent, *memories)
    for memory in memories:
        build.approve(build.revising(memory, f"{memory.content}, later"))
    text = desk.get(address(proposal)).content.decode()
    assert text.count("As it is now") == 3
    assert "2 more moved on." in text


def test_a_change_is_shown_side_by_side_once_that_was_chosen(
    desk: Client, agent: Agent
) -> None:
    old = build.memory(agent, "Tea at four.")
    proposal = build.held(agent, "Tea at five.", supersedes=[old.pk])
    other = build.held(agent, "Tea at six.", supersedes=[old.pk])
    page = desk.get(address(proposal) + "?op=remember").content.decode()
    assert 'data-view="inline"' in page
    link = f'href="{address(proposal)}?view=split&amp;op=remember"'
    assert link in page
    for where in (address(proposal) + "?view=split", address(other)):
        assert 'data-view="split"' in desk.get(where).content.decode()
    assert (
        'data-view="inline"' in desk.get(address(other) + "?view=inline").content.decode()
    )
    assert "Side by side" not in desk.get(address(build.held(agent))).content.decode()
