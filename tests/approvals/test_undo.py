"""Undo: the reversal is whole, or refused with the reason."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django.fixtures import Settings

from approvals import services
from approvals.models import Decision, Proposal, ProposalTarget
from memories import audit
from memories.errors import CannotUndo, NotAllowed, ProposalNotFound
from memories.models import Agent, AuditEntry, Memory, MemoryRevision, User
from tests import build
from tests.build import Api

pytestmark = pytest.mark.django_db


def recalled(api: Api, query: str) -> list[str]:
    return [hit["content"] for hit in api.amp("recall", query=query).json().get("hits", [])]


@pytest.mark.case("G30")
def test_an_undone_approval_leaves_recall_and_waits_again(
    api: Api, agent: Agent, reviewer: User
) -> None:
    proposal = build.held(agent, "Refunds take five days.")
    decision = build.approve(proposal, reviewer)
    build.drain()
    assert recalled(api, "refunds") == ["Refunds take five days."]

    services.undo(decision.pk, reviewer=reviewer)

    assert recalled(api, "refunds") == []
    build.drain()
    assert recalled(api, "refunds") == []
    proposal.refresh_from_db()
    assert (proposal.status, proposal.revision, proposal.closed_at) == ("pending", 2, None)
    decision.refresh_from_db()
    assert decision.undone_at is not None
    memory = build.made_by(proposal)
    assert (memory.state, memory.superseded_by, memory.version) == ("retired", None, 2)


@pytest.mark.case("G30")
def test_approving_again_revives_the_same_id(
    api: Api, agent: Agent, reviewer: User
) -> None:
    proposal = build.held(agent, "Refunds take five days.")
    first = build.approve(proposal, reviewer)
    made = build.made_by(proposal)
    services.undo(first.pk, reviewer=reviewer)

    build.approve(proposal, reviewer, content="Refunds take four days.")
    build.drain()

    again = build.made_by(proposal)
    assert (again.pk, again.version, again.state) == (made.pk, 3, "live")
    assert again.created_at == made.created_at
    assert recalled(api, "refunds") == ["Refunds take four days."]
    actions = MemoryRevision.objects.filter(memory=made).order_by("version")
    assert [row.action for row in actions] == ["remembered", "taken back", "remembered"]
    assert Decision.objects.filter(proposal=proposal).count() == 2


@pytest.mark.case("G30")
def test_what_was_replaced_lives_again(api: Api, agent: Agent, reviewer: User) -> None:
    old = build.memory(agent, "Support opens at nine.", tags=["hours"])
    proposal = build.held(agent, "Support opens at eight.", supersedes=[old.pk])
    decision = build.approve(proposal, reviewer)

    services.undo(decision.pk, reviewer=reviewer)
    build.drain()

    old.refresh_from_db()
    assert (old.state, old.superseded_by, old.version) == ("live", None, 3)
    assert recalled(api, "support opens") == ["Support opens at nine."]
    assert (
        ProposalTarget.objects.moved().get().proposal == proposal
    )  # drafted on version 1: a person looks again


@pytest.mark.case("G30")
def test_merge_forget_expire_and_revise_are_reversed_whole(
    agent: Agent, reviewer: User
) -> None:
    one, two = build.memory(agent, "Free from 50 euros."), build.memory(agent, "Over 50.")
    three, four = build.memory(agent, "Old code."), build.memory(agent, "Strike.")
    five = build.memory(agent, "Two years.")
    asked = [
        build.merging(agent, one, two, content="Free over 50."),
        build.forgetting(agent, three),
        build.expiring(agent, four),
        build.revising(five, "Three years."),
    ]
    decisions = [build.approve(proposal, reviewer) for proposal in asked]

    for decision in decisions:
        services.undo(decision.pk, reviewer=reviewer)

    for memory in (one, two, three, four, five):
        was = (memory.content, memory.expires_at)
        memory.refresh_from_db()
        assert (memory.content, memory.expires_at) == was
        assert (memory.state, memory.version) == ("live", 3)
    assert Proposal.objects.pending().count() == 4
    assert not any(isinstance(found, audit.Break) for found in audit.verify())


@pytest.mark.case("G30")
def test_it_is_refused_once_the_new_memory_was_itself_replaced(
    agent: Agent, reviewer: User
) -> None:
    proposal = build.held(agent, "Support opens at eight.")
    decision = build.approve(proposal, reviewer)
    newer = build.held(
        agent, "Support opens at seven.", supersedes=[build.made_by(proposal).pk]
    )
    build.approve(newer, reviewer)
    entries = AuditEntry.objects.count()

    with pytest.raises(CannotUndo, match="changed since"):
        services.undo(decision.pk, reviewer=reviewer)

    proposal.refresh_from_db()
    decision.refresh_from_db()
    assert (proposal.status, decision.undone_at) == ("approved", None)
    assert AuditEntry.objects.count() == entries


@pytest.mark.case("G30")
def test_another_reviewer_cannot_and_the_attempt_is_kept(
    agent: Agent, reviewer: User
) -> None:
    decision = build.approve(build.held(agent), reviewer)

    with pytest.raises(NotAllowed, match="Only who decided"):
        services.undo(decision.pk, reviewer=build.person("sam"))

    assert AuditEntry.objects.filter(action="decision.refused").count() == 1
    decision.refresh_from_db()
    assert decision.undone_at is None


@pytest.mark.case("G30")
def test_twice_is_refused_and_an_old_form_does_not_undo_a_newer_decision(
    agent: Agent, reviewer: User
) -> None:
    proposal = build.held(agent)
    decision = build.reject(proposal, reviewer)
    services.undo(decision.pk, reviewer=reviewer)
    build.approve(proposal, reviewer)

    with pytest.raises(CannotUndo, match="does not stand"):
        services.undo(decision.pk, reviewer=reviewer)

    proposal.refresh_from_db()
    assert proposal.status == "approved"


def test_after_its_time_it_is_refused(
    agent: Agent, reviewer: User, settings: Settings
) -> None:
    decision = build.approve(build.held(agent), reviewer)
    late = decision.at + timedelta(seconds=settings.UNDO_SECONDS, microseconds=1)

    assert services.refusal_to_undo(decision, reviewer, decision.at) is None
    assert services.refusal_to_undo(decision, reviewer, late) is not None

    Decision.objects.filter(pk=decision.pk).update(at=timezone.now() - timedelta(minutes=1))
    with pytest.raises(CannotUndo, match="30 seconds"):
        services.undo(decision.pk, reviewer=reviewer)


def test_who_may_not_see_the_agent_finds_no_decision(agent: Agent, reviewer: User) -> None:
    decision = build.approve(build.held(agent), reviewer)

    with pytest.raises(ProposalNotFound):
        services.undo(decision.pk, reviewer=build.person("lim", agents=[]))


def test_a_rejected_text_that_was_undone_is_no_echo(agent: Agent, reviewer: User) -> None:
    decision = build.reject(build.held(agent, "The sky is green."), reviewer)
    services.undo(decision.pk, reviewer=reviewer)

    assert build.short_term(agent, "The sky is green.").state == Memory.State.LIVE


def test_the_same_asked_again_meanwhile_is_decided_instead(
    agent: Agent, reviewer: User
) -> None:
    decision = build.reject(build.held(agent, "Alice likes tea."), reviewer)
    build.held(agent, "Alice likes tea.")

    with pytest.raises(CannotUndo, match="asked for the same again"):
        services.undo(decision.pk, reviewer=reviewer)

    decision.refresh_from_db()
    assert decision.undone_at is None


def test_the_agent_sees_it_pending_again(api: Api, agent: Agent, reviewer: User) -> None:
    proposal = build.held(agent)
    decision = build.approve(proposal, reviewer)
    services.undo(decision.pk, reviewer=reviewer)

    told = api.client.get(f"/api/v1/proposals/{proposal.pk}").json()

    assert (told["status"], told["revision"], told["decision"]) == ("pending", 2, None)
    assert told["index"] is None


@pytest.mark.case("G30")
def test_the_page_offers_undo_after_a_decision_and_takes_it_back(
    desk: Client, agent: Agent, reviewer: User
) -> None:
    proposal = build.held(agent)
    decided = desk.post(
        reverse("approvals:approve", args=[proposal.pk]),
        {"seen": build.seen(proposal)},
        follow=True,
    )
    decision = Decision.objects.get()
    address = reverse("approvals:undo", args=[proposal.pk])
    assert f'action="{address}' in decided.content.decode()

    back = desk.post(address, {"decision": decision.pk}, follow=True)

    assert back.status_code == 200
    assert "waits again" in back.content.decode()
    assert f'id="proposal-{proposal.pk}"' in back.content.decode()
    assert 'data-status="pending"' in back.content.decode()


@pytest.mark.case("G30")
def test_a_refused_undo_shows_the_card_with_the_reason(
    desk: Client, agent: Agent, reviewer: User
) -> None:
    proposal = build.held(agent)
    decision = build.approve(proposal, reviewer)
    services.undo(decision.pk, reviewer=reviewer)

    answer = desk.post(
        reverse("approvals:undo", args=[proposal.pk]), {"decision": decision.pk}
    )

    assert answer.status_code == 409
    assert "does not stand any more" in answer.content.decode()


@pytest.mark.parametrize("number", ["", "x", "9" * 40, "-1", "٣"])
def test_a_decision_that_is_no_number_is_none(
    desk: Client, agent: Agent, number: str
) -> None:
    proposal = build.held(agent)

    answer = desk.post(reverse("approvals:undo", args=[proposal.pk]), {"decision": number})

    assert answer.status_code == 404


@pytest.mark.case("G30")
def test_what_closed_itself_for_the_undone_decision_waits_again(
    agent: Agent, reviewer: User
) -> None:
    memory = build.memory(agent, "Old code.")
    forgetting = build.forgetting(agent, memory)
    expiring = build.expiring(agent, memory)
    decision = build.approve(forgetting, reviewer)
    services.close_overtaken()
    expiring.refresh_from_db()
    assert expiring.closed_reason == "target_gone"

    services.undo(decision.pk, reviewer=reviewer)

    expiring.refresh_from_db()
    assert (expiring.status, expiring.closed_reason) == ("pending", "")
    assert expiring.revision == 2
    entry = AuditEntry.objects.get(action="decision.undone")
    assert f"proposal:{expiring.pk}" in entry.objects_json


def test_the_page_offers_no_undo_of_what_the_person_may_not_see_any_more(
    desk: Client, agent: Agent, reviewer: User
) -> None:
    build.approve(build.held(agent), reviewer)
    reviewer.all_agents = False
    reviewer.save()

    assert "Undo" not in desk.get(reverse("approvals:queue")).content.decode()
