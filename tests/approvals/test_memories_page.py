"""The page of one memory: text, state, index, provenance, versions."""

from __future__ import annotations

import re
import time
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from approvals.memory_pages import versions
from memories.models import Agent, IndexEntry, Memory, MemoryRevision, User
from tests import build
from tests.approvals.memory_pages import LIST, address, send, signed_in, text_of
from tests.approvals.pages import Forms
from tests.approvals.pages import address as proposal_address
from tests.approvals.test_pages_hostile import HOSTILE, RAW

pytestmark = pytest.mark.django_db


def words(response: Any) -> str:
    """The page without its tags, for sentences that markup cuts."""
    return " ".join(re.sub(r"<[^>]*>", " ", response.content.decode()).split())


def link(memory: Memory) -> str:
    return f'href="{address(memory)}"'


def revise(memory: Memory, content: str, who: User | None = None) -> None:
    memory.refresh_from_db()
    build.approve(build.revising(memory, content), who)
    memory.refresh_from_db()


def test_it_shows_text_tags_metadata_and_who_let_it_in(
    desk: Client, agent: Agent, reviewer: User
) -> None:
    proposal = build.held(agent, "Alice\ndrinks tea.", tags=["tea"], metadata={"k": "v"})
    build.approve(proposal, reviewer)
    page = desk.get(address(build.made_by(proposal)))
    assert "Alice\ndrinks tea." in text_of(page)
    assert "tea</span></li>" in text_of(page)
    assert "remembered by rosa" in words(page)
    assert f"proposed by {agent.agent_id}" in words(page)
    assert f'href="{proposal_address(proposal)}"' in text_of(page)


def test_lineage_is_linked_where_it_exists_and_is_the_agents_own(
    desk: Client, agent: Agent
) -> None:
    foreign = build.memory(build.agent(), "Somebody else's words.")
    source = build.memory(agent, "The source.")
    old = build.memory(agent, "The old one.")
    new = build.memory(
        agent,
        "The new one.",
        supersedes=[old.pk],
        metadata={"source": "web", "derived_from": [str(source.pk), str(foreign.pk), "x"]},
    )
    page = desk.get(address(new))
    assert link(source) in text_of(page)
    assert link(old) in text_of(page)
    assert link(foreign) not in text_of(page)
    assert str(foreign.pk) in text_of(page)
    assert "Somebody else" not in text_of(page)
    assert "Source web" in words(page)
    assert link(new) in text_of(desk.get(address(old)))
    assert "Superseded by The new one." in words(desk.get(address(old)))


def test_a_merged_memory_links_what_it_was_merged_from(desk: Client, agent: Agent) -> None:
    one, two = build.memory(agent, "one"), build.memory(agent, "two")
    proposal = build.merging(agent, one, two)
    build.approve(proposal)
    page = desk.get(address(build.made_by(proposal)))
    assert "Merged from one two" in words(page)
    assert link(one) in text_of(page)


def test_a_proposal_that_waits_is_linked(desk: Client, agent: Agent) -> None:
    memory = build.memory(agent)
    proposal = build.forgetting(agent, memory)
    assert proposal_address(proposal) in text_of(desk.get(address(memory)))
    build.reject(proposal)
    assert "Waiting for a decision" not in text_of(desk.get(address(memory)))


@pytest.mark.parametrize("state", ["forgotten", "retired", "expired"])
def test_what_is_not_live_says_so_and_has_no_buttons(
    desk: Client, agent: Agent, state: str
) -> None:
    memory = build.memory(agent, "tea")
    if state == "forgotten":
        build.approve(build.forgetting(agent, memory))
    elif state == "retired":
        build.memory(agent, "mate", supersedes=[memory.pk])
    else:
        build.approve(build.expiring(agent, memory))
    page = desk.get(address(memory))
    assert f'data-state="{state}"' in text_of(page)
    assert "Agents do not recall it." in words(page)
    assert "Propose a change" not in text_of(page)
    for act in ("propose", "forget", "versions/1/restore"):
        refused = desk.get(address(memory, act))
        assert refused.status_code == 409
        assert f"The memory is {state}" in text_of(refused)


def test_the_index_is_retried_by_who_may(agent: Agent, desk: Client) -> None:
    memory = build.memory(agent)
    assert "It follows soon." in words(desk.get(address(memory)))
    build.drain()
    assert "Agents recall it." in words(desk.get(address(memory)))
    IndexEntry.objects.update(indexed_version=0, last_error="no <b>vector</b>")
    page = desk.get(address(memory))
    assert "no &lt;b&gt;vector" in text_of(page)

    viewer = signed_in(build.person(role="viewer"))
    assert "Retry" not in Forms(viewer.get(address(memory))).buttons
    assert viewer.post(address(memory, "retry")).status_code == 403
    assert IndexEntry.objects.get().last_error

    response = send(desk, address(memory), "Retry")
    assert response.headers["Location"] == address(memory)
    assert IndexEntry.objects.get().last_error == ""
    assert desk.get(address(memory, "retry")).headers["Location"] == address(memory)


def test_every_version_stands_with_its_change_and_who_made_it(
    desk: Client, agent: Agent, reviewer: User
) -> None:
    memory = build.memory(agent, "Alice drinks tea.", tags=["tea"])
    revise(memory, "Alice drinks mate.", reviewer)
    build.approve(build.expiring(agent, memory, ttl_seconds=86_400), reviewer)
    build.approve(build.forgetting(agent, memory), reviewer)
    page = desk.get(address(memory))
    text = text_of(page)
    places = [text.index(f'id="version-{n}"') for n in (4, 3, 2, 1)]
    assert places == sorted(places)
    assert "<del>tea</del>" in text
    assert "<ins>mate</ins>" in text
    assert "forgotten by rosa" in words(page)
    assert "expiry set by rosa" in words(page)
    assert "expires in 24 hours" in words(page) or "expires in 1 day" in words(page)
    assert 'data-state="forgotten"' in text[places[0] : places[1]]


def test_older_versions_are_behind_a_pager(desk: Client, agent: Agent) -> None:
    memory = build.memory(agent, "text 1")
    many(memory, [f"text {number}" for number in range(2, 25)])
    first = text_of(desk.get(address(memory)))
    assert 'id="version-24"' in first
    assert 'id="version-15"' in first
    assert 'id="version-14"' not in first
    assert f'href="{address(memory)}?upto=14#history"' in first
    last = text_of(desk.get(address(memory), {"upto": 4}))
    assert "<del>3</del>" in last  # the change of the first one that is shown
    assert 'id="version-1"' in last
    assert "Older versions" not in last
    for odd in ("x", "0", "999", "-1", "9" * 30):
        assert desk.get(address(memory), {"upto": odd}).status_code == 200


def copy_of(revision: MemoryRevision) -> dict[str, Any]:
    own = {"id", "version", "content", "metadata"}
    members = {f.attname: getattr(revision, f.attname) for f in revision._meta.fields}
    return {name: value for name, value in members.items() if name not in own}


def many(memory: Memory, texts: list[str]) -> None:
    """Versions as the services leave them; through the gate 24 of them take seconds."""
    first = memory.revisions.get(version=1)
    MemoryRevision.objects.bulk_create(
        MemoryRevision(**copy_of(first), version=version, content=text)
        for version, text in enumerate(texts, start=2)
    )
    Memory.objects.filter(pk=memory.pk).update(version=len(texts) + 1, content=texts[-1])


@pytest.mark.parametrize("unit", ["word ", "x\n", "a\u200b", "\u0430a ", "0" * 30 + "\n"])
def test_long_versions_make_a_page_of_bounded_size_in_under_a_second(
    desk: Client, agent: Agent, unit: str
) -> None:
    memory = build.memory(agent, "start")
    many(memory, [f"{n} {unit * 65_000}"[: 65_000 - n * 37] + str(n) for n in range(15)])
    desk.get(address(memory))  # what is compiled once
    begin = time.thread_time()
    page = desk.get(address(memory))
    took = time.thread_time() - begin
    assert page.status_code == 200
    assert len(page.content) < 4_000_000
    assert took < 1  # of its own work, however busy the machine is
    assert f'href="{address(memory)}?upto=' in text_of(page)
    assert "too long to be shown among the others" in text_of(page)


def test_many_changes_of_metadata_share_their_time(desk: Client, agent: Agent) -> None:
    memory = build.memory(agent, "start")
    first = memory.revisions.get(version=1)
    for n in range(2, 12):
        big = {f"k{k}": f"{n * k} " * 20 for k in range(300)}
        MemoryRevision.objects.create(
            **copy_of(first), version=n, content="start", metadata=big
        )
    Memory.objects.filter(pk=memory.pk).update(version=11)
    begin = time.thread_time()
    assert desk.get(address(memory)).status_code == 200
    assert time.thread_time() - begin < 1


@pytest.mark.case("D10")
@pytest.mark.parametrize("text", HOSTILE)
def test_markup_is_inert_on_every_page_of_a_memory(
    desk: Client, agent: Agent, text: str
) -> None:
    agent.name = text
    agent.save()
    memory = build.memory(
        agent,
        f"before {text}",
        tags=[text],
        metadata={text: {text: text}, "source": text, "derived_from": [text]},
    )
    revise(memory, f"after {text}")
    Memory.objects.filter(pk=memory.pk).update(user_id=text)
    build.drain()
    for where in (
        address(memory),
        address(memory) + "?view=split",
        address(memory, "propose"),
        address(memory, "forget"),
        address(memory, "versions/1/restore"),
        LIST,
        reverse("approvals:memories") + f"?q={text}",
    ):
        page = desk.get(where)
        assert page.status_code == 200
        assert not RAW.search(text_of(page)), where
        assert "unsafe" not in page.headers["Content-Security-Policy"]


def test_hidden_characters_are_shown(desk: Client, agent: Agent) -> None:
    memory = build.memory(agent, "pay\u202epal", tags=["t\u200bea"])
    for where in (address(memory), LIST, address(memory, "forget")):
        assert 'class="token"' in text_of(desk.get(where))


@pytest.mark.case("D17")
def test_who_may_not_see_the_agent_meets_404_on_every_page(agent: Agent) -> None:
    memory = build.memory(build.agent())
    client = signed_in(build.person(agents=[agent.agent_id], role="admin"))
    for act in ("", "propose", "forget", "retry", "versions/1/restore"):
        assert client.get(address(memory, act)).status_code == 404
        assert client.post(address(memory, act), {"base_version": 1}).status_code in {
            404,
            405,
        }
    memory.refresh_from_db()
    assert (memory.version, memory.state) == (1, "live")


def test_what_does_not_exist_is_404(desk: Client, agent: Agent) -> None:
    memory = build.memory(agent)
    for act in ("", "propose/", "forget/", "retry/", "versions/1/restore/"):
        assert desk.get(f"/memories/{uuid4()}/{act}").status_code == 404
    assert desk.get(address(memory, "versions/2/restore")).status_code == 404
    assert desk.get(address(memory, f"versions/{10**30}/restore")).status_code == 404


def test_more_versions_and_relatives_take_no_more_queries(
    desk: Client, agent: Agent
) -> None:
    def queries(memory: Memory) -> int:
        with CaptureQueriesContext(connection) as caught:
            assert desk.get(address(memory)).status_code == 200
        return len(caught)

    old = build.memory(agent, "old")
    few = build.memory(
        agent, "few", supersedes=[old.pk], metadata={"derived_from": [str(old.pk)]}
    )
    revise(few, "few, again")
    build.forgetting(agent, few)
    olds = [build.memory(agent, f"old {n}") for n in range(4)]
    much = build.memory(
        agent,
        "much",
        supersedes=[one.pk for one in olds],
        metadata={"derived_from": [str(one.pk) for one in olds]},
    )
    for number in range(5):
        revise(much, f"much, {number}")
    build.forgetting(agent, much)
    build.expiring(agent, much, ttl_seconds=60)
    queries(few)
    assert queries(much) == queries(few)
    assert versions.PAGE_SIZE > 6
