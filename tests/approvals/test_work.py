"""My work: the own decisions, what became of them, and what can be taken back."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from approvals import work
from approvals.models import Decision, Proposal
from memories.cursors import write_cursor
from memories.models import Agent, User
from tests import build
from tests.approvals.pages import Forms, address

pytestmark = pytest.mark.django_db

HOSTILE = "<img src=x onerror=alert(1)><div hx-get=/x hx-trigger=load>\u202e"


def shown(client: Client, query: str = "") -> Any:
    response = client.get(f"/work/{query}")
    assert response.status_code == 200
    return response.context["work"]


def text_of(client: Client) -> str:
    return " ".join(client.get("/work/").content.decode().split())


def test_own_decisions_are_listed_newest_first_as_the_card_says_them(
    agent: Agent, reviewer: User, desk: Client
) -> None:
    old = build.memory(agent, "Tea.", reviewer=build.person())
    proposals = [
        build.held(agent, "Coffee."),
        build.held(agent, "Green tea.", supersedes=[old.pk]),
        build.forgetting(agent, build.memory(agent, "Water.", reviewer=build.person())),
    ]
    for proposal in proposals:
        build.approve(proposal, reviewer)
    build.reject(build.held(agent, "Gin."), reviewer, reason="private", comment="No.")

    done = shown(desk).done
    assert [one.outcome for one in done] == ["Rejected as private", *["Approved"] * 3]
    for one in done:
        card = desk.get(address(one.proposal)).context["card"]
        assert one.sentence == card.sentence
    page = text_of(desk)
    assert f'href="{address(proposals[0])}"' in page
    assert "Rejected as private" in page
    assert "No." in page


def test_nobody_elses_decisions_are_listed(agent: Agent, desk: Client) -> None:
    build.memory(agent, "Decided by another.")
    work_page = shown(desk)
    assert (work_page.done, work_page.numbers.recent) == ([], 0)


def test_the_index_state_is_that_of_the_card(
    agent: Agent, reviewer: User, desk: Client
) -> None:
    build.approve(build.held(agent), reviewer)
    build.reject(build.held(agent, "Gin."), reviewer)
    assert [one.index and one.index.name for one in shown(desk).done] == [None, "queued"]
    build.drain()
    assert [one.index and one.index.name for one in shown(desk).done] == [None, "indexed"]


@pytest.mark.case("G30")
def test_a_decision_is_undone_from_the_list_and_stays_listed(
    agent: Agent, reviewer: User, desk: Client
) -> None:
    proposal = build.held(agent)
    decision = build.approve(proposal, reviewer)

    forms = [
        form
        for form in Forms(desk.get("/work/")).found
        if form.fields.get("decision") == f"{decision.pk}"
    ]
    response = desk.post(forms[-1].action, forms[-1].data)
    assert response.status_code == 302

    proposal.refresh_from_db()
    assert proposal.is_pending
    (done,) = shown(desk).done
    assert (done.undoable_until, done.index) == (None, None)
    page = text_of(desk)
    assert 'data-status="undone"' in page
    assert "You took it back" in page

    build.reject(proposal, reviewer)
    assert [one.outcome for one in shown(desk).done] == ["Rejected", "Approved"]
    assert shown(desk).numbers.recent == 1


def test_what_is_too_old_to_undo_offers_no_button(
    agent: Agent, reviewer: User, desk: Client
) -> None:
    build.approve(build.held(agent), reviewer)
    assert shown(desk).done[0].undoable_until is not None
    Decision.objects.update(
        at=timezone.now() - timedelta(seconds=settings.UNDO_SECONDS + 1)
    )
    assert shown(desk).done[0].undoable_until is None
    assert "Undo" not in Forms(desk.get("/work/")).buttons


def test_the_numbers_count_standing_decisions_by_day_and_week(
    agent: Agent, reviewer: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    wednesday = datetime(2030, 5, 15, 12, tzinfo=UTC)
    for hours, outcome in (
        (1, "approve"),
        (13, "reject"),
        (40, "approve"),
        (70, "approve"),
    ):
        proposal = build.held(agent, f"{hours} hours ago.")
        decide = build.approve if outcome == "approve" else build.reject
        made = decide(proposal, reviewer)
        at = wednesday - timedelta(hours=hours)
        Decision.objects.filter(pk=made.pk).update(at=at)
    undone = build.reject(build.held(agent, "Taken back."), reviewer)
    Decision.objects.filter(pk=undone.pk).update(at=wednesday, undone_at=wednesday)
    long_ago = build.reject(build.held(agent, "Long ago."), reviewer)
    Decision.objects.filter(pk=long_ago.pk).update(at=wednesday - timedelta(days=31))

    monkeypatch.setattr(timezone, "now", lambda: wednesday)
    numbers = work.work_of(reviewer).numbers
    assert (numbers.today, numbers.week, numbers.recent, numbers.rate) == (1, 3, 4, 75)


def test_there_is_no_rate_without_a_decision(desk: Client) -> None:
    assert shown(desk).numbers.rate is None


def test_a_long_history_comes_in_pages_that_miss_none(
    agent: Agent, reviewer: User, desk: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "PAGE_SIZE", 2)
    for number in range(5):
        build.reject(build.held(agent, f"Fact {number}."), reviewer)
    at = timezone.now()
    Decision.objects.update(at=at)  # all in one instant: the id decides
    seen, query = [], ""
    for _ in range(3):
        page = shown(desk, query)
        seen += [one.proposal.summary for one in page.done]
        query = f"?after={page.after}"
    assert seen == [f"Fact {number}." for number in (4, 3, 2, 1, 0)]
    assert page.after == ""


def test_a_cursor_nobody_handed_out_leads_to_the_newest(desk: Client) -> None:
    response = desk.get("/work/?after=rubbish")
    assert response.headers["Location"] == "/work/"
    beyond = write_cursor((timezone.now(), UUID(int=2**127)))
    assert "Nothing earlier" in desk.get(f"/work/?after={beyond}").content.decode()


def test_an_empty_page_says_what_to_do_next(desk: Client) -> None:
    assert "Go to the queue" in text_of(desk)
    viewer = Client()
    viewer.force_login(build.person(role="viewer"))
    assert "does not decide" in text_of(viewer)


@pytest.mark.case("D17")
def test_decisions_about_agents_one_may_no_longer_see_are_gone(
    agent: Agent, desk: Client, reviewer: User
) -> None:
    hidden = build.agent("hidden-bot")
    build.approve(build.held(hidden, "Secret."), reviewer)
    build.approve(build.held(agent, "Seen."), reviewer)
    User.objects.filter(pk=reviewer.pk).update(all_agents=False)
    reviewer.agents.set([agent])

    page = shown(desk)
    assert [one.proposal.summary for one in page.done] == ["Seen."]
    assert page.numbers.recent == 1
    text = text_of(desk)
    assert "hidden-bot" not in text
    assert "Secret." not in text


def test_what_one_wrote_oneself_and_what_waits_is_listed(
    agent: Agent, desk: Client, reviewer: User
) -> None:
    mine, other = build.held(agent, "Mine."), build.held(agent, "Of a program.")
    Proposal.objects.filter(pk=mine.pk).update(author_key=None, author=reviewer)
    page = shown(desk)
    assert ([p.pk for p in page.waiting], page.waiting_count) == ([mine.pk], 1)
    assert f'href="{address(mine)}"' in text_of(desk)
    assert f'href="{address(other)}"' not in text_of(desk)
    build.reject(mine, build.person())
    assert shown(desk).waiting_count == 0


@pytest.mark.case("D10")
@pytest.mark.case("D6")
def test_hostile_texts_are_shown_and_do_nothing(
    agent: Agent, desk: Client, reviewer: User
) -> None:
    build.reject(build.held(agent, HOSTILE), reviewer, comment=HOSTILE)
    mine = build.held(agent, f"{HOSTILE} mine")
    Proposal.objects.filter(pk=mine.pk).update(author_key=None, author=reviewer)
    page = text_of(desk)
    assert "<img src=x" not in page
    assert "<div hx-get" not in page
    assert page.count(">U+202E</span>") == 3


def test_queries_do_not_grow_with_the_decisions(
    agent: Agent, desk: Client, reviewer: User
) -> None:
    def decide(number: int) -> None:
        build.approve(build.held(agent, f"New {number}."), reviewer)
        build.reject(build.held(agent, f"Bad {number}."), reviewer)
        kept = build.memory(agent, f"Kept {number}.")
        build.approve(build.forgetting(agent, kept), reviewer)
        mine = build.held(agent, f"Mine {number}.")
        Proposal.objects.filter(pk=mine.pk).update(author_key=None, author=reviewer)

    def count() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert re.search(r"Decided", text_of(desk))
        return len(captured)

    decide(0)
    few = count()
    for number in range(1, 6):
        decide(number)
    assert count() == few
