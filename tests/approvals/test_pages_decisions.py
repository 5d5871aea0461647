"""Deciding in the browser: what lands, and what comes next."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.http import HttpResponse
from django.test import Client

from approvals.models import Decision, Proposal
from memories.models import Agent, AuditEntry, IndexEntry, Memory, User
from tests import build
from tests.approvals.pages import Forms, address, card, press


def texts(agent: Agent) -> list[str]:
    return list(Memory.objects.live().filter(agent=agent).values_list("content", flat=True))


def decision(proposal: Proposal) -> Decision:
    return Decision.objects.get(proposal=proposal)


def test_the_first_button_that_begins_with_approve_approves_as_it_stands(
    desk: Client, agent: Agent, reviewer: User
) -> None:
    proposal = build.held(agent, "Tea at four.", tags=["tea"])
    buttons = card(desk, proposal).buttons
    assert next(text for text in buttons if text.startswith("Approve")) == "Approve"

    press(desk, proposal, "Approve")

    assert texts(agent) == ["Tea at four."]
    made = decision(proposal)
    assert (made.outcome, made.edited, made.reviewer) == ("approved", False, reviewer)


def test_after_a_decision_the_next_of_the_filter_opens(desk: Client, agent: Agent) -> None:
    first = build.held(agent, "first", memory_type="procedural")
    build.held(agent, "semantic")
    third = build.held(agent, "third", memory_type="procedural")
    page = Forms(desk.get(address(first) + "?type=procedural"))

    response = press(desk, first, "Approve", forms=page)

    assert response.headers["Location"] == address(third) + "?type=procedural"
    shown = desk.get(response.headers["Location"]).content.decode()
    assert "Approved: Remember 1 new procedural memory" in shown
    assert "Approved: Remember" not in desk.get(address(third)).content.decode()


def test_after_the_last_one_the_queue_says_that_nothing_waits(
    desk: Client, agent: Agent
) -> None:
    response = press(desk, build.held(agent), "Reject")
    assert response.headers["Location"] == "/proposals/"
    assert "Nothing waits" in desk.get("/proposals/").content.decode()


def test_with_htmx_the_next_card_comes_at_once(desk: Client, agent: Agent) -> None:
    first, second = build.held(agent, "first"), build.held(agent, "second")
    response = press(desk, first, "Approve", headers=build.HTMX)
    text = response.content.decode()
    assert response.status_code == 200
    assert text.strip().startswith(f'<article id="proposal-{second.pk}"')
    assert response.headers["HX-Push-Url"] == address(second)
    assert "Approved: Remember 1 new semantic memory" in text
    assert '<section id="queue-list" class="queue-list" hx-swap-oob="true">' in text
    assert "<title>(1) " in text
    assert "autofocus" in text


@pytest.mark.case("G10")
def test_only_the_edited_text_lands(desk: Client, agent: Agent, reviewer: User) -> None:
    proposal = build.held(agent, "The cat sleeps.", tags=["cat"])
    press(
        desk,
        proposal,
        "Edit and approve",
        content="The violin sleeps.",
        tags='violin, "a, b"',
    )
    memory = build.made_by(proposal)
    assert (memory.content, memory.tags) == ("The violin sleeps.", ["violin", "a, b"])
    entry = AuditEntry.objects.get(action="proposal.approved", proposal_id=proposal.pk)
    assert "The cat sleeps." in (entry.payload or "")
    assert "The violin sleeps." in (entry.payload or "")
    assert entry.actor_label == reviewer.username
    text = desk.get(address(proposal)).content.decode()
    assert "Approved with changes" in text
    assert "What the reviewer changed" in text


@pytest.mark.case("G11")
@pytest.mark.parametrize(
    "content",
    [
        "one\r\ntwo\r\n",
        "one\ntwo",
        "\n\n leading",
        "a\rb\r\nc\nd",
        "tabs\t  \n",
        "<b>&amp;",
    ],
)
def test_an_untouched_edit_form_is_no_edit(
    desk: Client, agent: Agent, content: str
) -> None:
    tags = ["tea", "a, b", 'say "x"', " space ", "line\nend"]
    proposal = build.held(agent, content, tags=tags)
    press(desk, proposal, "Edit and approve")
    assert not decision(proposal).edited
    memory = build.made_by(proposal)
    assert (memory.content, memory.tags) == (content, tags)


def test_an_edit_that_cannot_be_is_422_and_nothing_typed_is_lost(
    desk: Client, agent: Agent
) -> None:
    proposal = build.held(agent, "text", tags=["tea"])
    response = press(
        desk, proposal, "Edit and approve", content="kept text", tags=f"tea, {'x' * 200}"
    )
    assert response.status_code == 422
    fields = Forms(response).by_button("Edit and approve").fields
    assert fields["content"] == "kept text"
    assert "x" * 200 in fields["tags"]
    assert "the limit is 128" in response.content.decode()
    assert Proposal.objects.pending().count() == 1


def test_blank_content_is_refused(desk: Client, agent: Agent) -> None:
    response = press(desk, build.held(agent), "Edit and approve", content=" \r\n ")
    assert response.status_code == 422
    assert texts(agent) == []


def test_nul_in_an_edit_is_refused(desk: Client, agent: Agent) -> None:
    response = press(desk, build.held(agent), "Edit and approve", content="a\0b")
    assert response.status_code == 422
    assert texts(agent) == []


@pytest.mark.case("G12")
def test_a_rejection_keeps_reason_and_comment(desk: Client, agent: Agent) -> None:
    proposal = build.held(agent)
    assert card(desk, proposal).by_button("Reject").fields["reason"] == "other"
    press(desk, proposal, "Reject", reason="outdated", comment="Since May it is ten.")
    made = decision(proposal)
    assert (made.reason, made.comment) == ("outdated", "Since May it is ten.")
    text = desk.get(address(proposal)).content.decode()
    assert "Rejected as outdated" in text
    assert "Since May it is ten." in text


def test_a_reason_that_is_none_is_422(desk: Client, agent: Agent) -> None:
    response = press(
        desk, build.held(agent), "Reject", reason="boring", comment="still here"
    )
    assert response.status_code == 422
    assert "still here" in response.content.decode()
    assert not Decision.objects.exists()


def test_single_targets_can_be_unticked(desk: Client, agent: Agent) -> None:
    stay, go = build.memory(agent, "stay"), build.memory(agent, "go")
    proposal = build.forgetting(agent, stay, go)
    press(desk, proposal, "Edit and approve", memory_ids=[str(go.pk)])
    assert texts(agent) == ["stay"]
    assert "left alone by the reviewer" in desk.get(address(proposal)).content.decode()


def test_unticking_every_target_is_refused(desk: Client, agent: Agent) -> None:
    memories = build.memory(agent, "a"), build.memory(agent, "b")
    response = press(
        desk, build.forgetting(agent, *memories), "Edit and approve", memory_ids=[]
    )
    assert response.status_code == 422
    assert "otherwise reject it" in response.content.decode()
    assert sorted(texts(agent)) == ["a", "b"]


def test_a_merge_can_be_edited_and_lose_a_source(desk: Client, agent: Agent) -> None:
    one, two, three = (build.memory(agent, text) for text in ("one", "two", "three"))
    proposal = build.merging(agent, one, two, three)
    press(
        desk,
        proposal,
        "Edit and approve",
        content="one and two",
        memory_ids=[str(one.pk), str(two.pk)],
    )
    assert sorted(texts(agent)) == ["one and two", "three"]


def test_the_instant_of_an_expire_can_be_changed(desk: Client, agent: Agent) -> None:
    memory = build.memory(agent)
    proposal = build.expiring(agent, memory, ttl_seconds=86_400)
    press(desk, proposal, "Edit and approve", expires_at="2031-05-03T14:00:00")
    memory.refresh_from_db()
    assert memory.expires_at == datetime(2031, 5, 3, 14, tzinfo=UTC)
    assert decision(proposal).edited


@pytest.mark.parametrize(
    "instant", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "10000-01-01"]
)
def test_an_instant_beyond_the_calendar_is_422(
    desk: Client, agent: Agent, instant: str
) -> None:
    proposal = build.expiring(agent, build.memory(agent), ttl_seconds=86_400)
    response = press(desk, proposal, "Edit and approve", expires_at=instant)
    assert response.status_code == 422
    assert Proposal.objects.pending().count() == 1


def test_an_untouched_instant_is_no_edit(desk: Client, agent: Agent) -> None:
    proposal = build.expiring(agent, build.memory(agent), ttl_seconds=86_400)
    press(desk, proposal, "Edit and approve")
    assert not decision(proposal).edited


def test_an_id_that_is_none_is_422(desk: Client, agent: Agent) -> None:
    proposal = build.forgetting(agent, build.memory(agent, "a"), build.memory(agent, "b"))
    response = press(desk, proposal, "Edit and approve", memory_ids=["x"])
    assert response.status_code == 422


def test_a_decision_address_typed_into_the_bar_leads_to_the_card(
    desk: Client, agent: Agent
) -> None:
    proposal = build.held(agent)
    response = desk.get(address(proposal, "approve") + "?op=remember")
    assert response.headers["Location"] == address(proposal) + "?op=remember"
    assert desk.put(address(proposal, "approve")).status_code == 405


def test_the_card_follows_the_index_and_offers_a_retry(desk: Client, agent: Agent) -> None:
    proposal = build.held(agent)
    build.approve(proposal)
    assert "queued" in desk.get(address(proposal)).content.decode()
    entry = IndexEntry.objects.get(memory=build.made_by(proposal))
    IndexEntry.objects.filter(pk=entry.pk).update(last_error="the text is <b>odd</b>")
    text = desk.get(address(proposal)).content.decode()
    assert "failed" in text
    assert "the text is &lt;b&gt;odd&lt;/b&gt;" in text

    press(desk, proposal, "Retry")

    entry.refresh_from_db()
    assert entry.last_error == ""
    build.drain()
    assert "Agents recall it" in desk.get(address(proposal)).content.decode()


def test_the_line_after_an_edit_says_what_was_decided(desk: Client, agent: Agent) -> None:
    one, two = build.memory(agent, "one"), build.memory(agent, "two")
    expire = build.expiring(agent, one, ttl_seconds=86_400)
    response = press(desk, expire, "Edit and approve", expires_at="2030-05-06T07:08:09")
    assert "6 May 2030" in _said(desk, response)

    forget = build.forgetting(agent, one, two)
    response = press(desk, forget, "Edit and approve", memory_ids=[str(one.pk)])
    assert "Forget 1 semantic memory" in _said(desk, response)


def test_an_agent_learns_what_an_edited_expiry_became(
    desk: Client, agent: Agent, api: build.Api
) -> None:
    proposal = build.expiring(agent, build.memory(agent), ttl_seconds=86_400)
    press(desk, proposal, "Edit and approve", expires_at="2030-05-06T07:08:09")

    told = api.client.get(f"/api/v1/proposals/{proposal.pk}").json()

    assert told["decision"]["expires_at"].startswith("2030-05-06T07:08:09")


def test_a_comment_reaches_the_agent_with_plain_line_ends(
    desk: Client, agent: Agent
) -> None:
    proposal = build.held(agent)
    press(desk, proposal, "Reject", comment="one\r\ntwo")
    assert decision(proposal).comment == "one\ntwo"


def _said(desk: Client, response: HttpResponse) -> str:
    return str(desk.get(response.headers["Location"]).content.decode())
