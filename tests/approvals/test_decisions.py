"""Approve, edit, reject: what lands is what was seen, once, by who may."""

from __future__ import annotations

import json
from datetime import datetime

import pytest
from pytest_django.fixtures import Settings

from approvals import services
from approvals.models import Decision, Proposal
from memories.actors import SYSTEM
from memories.errors import (
    AlreadyDecided,
    ChangedSinceShown,
    Impossible,
    NotAllowed,
    ProposalNotFound,
)
from memories.models import Agent, AuditEntry, IndexEntry, Memory, User
from memories.services import set_active
from tests import build

pytestmark = pytest.mark.django_db


def test_an_approved_memory_has_the_reserved_id_and_every_trace(
    agent: Agent, reviewer: User
) -> None:
    proposal = build.held(
        agent, "Tea, not coffee.", tags=["taste"], metadata={"source": "user"}
    )

    build.approve(proposal, reviewer)

    memory = build.made_by(proposal)
    assert (memory.content, memory.tags, memory.source) == (
        "Tea, not coffee.",
        ["taste"],
        "user",
    )
    revision = memory.revisions.get()
    assert (revision.actor_label, revision.proposal_id) == ("rosa", proposal.pk)
    assert memory.index_entries.get().priority == IndexEntry.Priority.DECISION
    entry = AuditEntry.objects.get(action="proposal.approved")
    assert (entry.actor_label, entry.proposal_id) == ("rosa", proposal.pk)
    assert f"memory:{memory.pk}" in json.loads(entry.objects_json)


@pytest.mark.case("G10")
def test_an_edit_is_all_that_is_stored_and_the_audit_holds_both(
    agent: Agent, reviewer: User
) -> None:
    proposal = build.held(agent, "The pet is a cat.", tags=["pet"])

    decision = build.approve(
        proposal, reviewer, content="The pet is a dog.", tags=("pet", "dog")
    )

    memory = Memory.objects.get()
    assert (memory.content, memory.tags) == ("The pet is a dog.", ["pet", "dog"])
    assert decision.edited
    payload = json.loads(AuditEntry.objects.get(action="proposal.approved").payload or "")
    assert payload["change"]["content"] == "The pet is a dog."
    assert payload["proposed"]["content"] == "The pet is a cat."


@pytest.mark.case("G11")
@pytest.mark.parametrize(
    ("sent", "posted"),
    [
        ("one\ntwo\n", "one\r\ntwo\r\n"),
        ("one\r\ntwo", "one\r\ntwo"),
        ("one\rtwo", "one\r\ntwo"),
        ("  spaced \u00e9 ", "  spaced \u00e9 "),
    ],
)
def test_saving_what_was_shown_is_no_edit(
    agent: Agent, reviewer: User, sent: str, posted: str
) -> None:
    decision = build.approve(
        build.held(agent, sent, tags=["a"]), reviewer, content=posted, tags=("a",)
    )

    assert not decision.edited
    assert Memory.objects.get().content == sent


@pytest.mark.parametrize(
    ("sent", "posted", "stored"),
    [("one\ntwo", "one\r\n2", "one\n2"), ("one\r\ntwo", "one\r\n2", "one\r\n2")],
)
def test_an_edited_text_keeps_its_line_ends(
    agent: Agent, sent: str, posted: str, stored: str
) -> None:
    build.approve(build.held(agent, sent), content=posted)

    assert Memory.objects.get().content == stored


@pytest.mark.parametrize("content", ["", " \n", "\u200b", "x" * 65_537])
def test_an_edit_to_nothing_or_too_much_is_refused(agent: Agent, content: str) -> None:
    proposal = build.held(agent)

    with pytest.raises(Impossible):
        build.approve(proposal, content=content)

    proposal.refresh_from_db()
    assert proposal.is_pending
    assert not Memory.objects.exists()


def test_a_decision_is_final(agent: Agent, reviewer: User) -> None:
    proposal = build.held(agent)
    seen = build.seen(proposal)
    services.reject(proposal.pk, reviewer=reviewer, seen=seen, reason="untrue")

    with pytest.raises(AlreadyDecided, match="rejected by rosa"):
        services.approve(proposal.pk, reviewer=reviewer, seen=seen)

    assert Decision.objects.count() == 1
    assert not Memory.objects.exists()


def test_a_card_that_was_not_seen_is_not_decided(agent: Agent, reviewer: User) -> None:
    proposal = build.held(agent)

    for seen in ("", "0" * 64):
        with pytest.raises(ChangedSinceShown):
            services.approve(proposal.pk, reviewer=reviewer, seen=seen)

    proposal.refresh_from_db()
    assert proposal.is_pending


def test_a_viewer_reads_and_does_not_decide(agent: Agent) -> None:
    viewer = build.person("vera", role="viewer")
    proposal = build.held(agent)

    with pytest.raises(NotAllowed):
        build.approve(proposal, viewer)
    with pytest.raises(NotAllowed):
        build.reject(proposal, viewer)

    refused = AuditEntry.objects.filter(action="decision.refused")
    assert [entry.actor_label for entry in refused] == ["vera", "vera"]


def test_who_owns_the_agent_does_not_decide_for_it() -> None:
    owner = build.person("olga", role="admin")
    proposal = build.held(build.agent("olgas-bot", owner=owner))

    with pytest.raises(NotAllowed) as refusal:
        build.approve(proposal, owner)

    assert refusal.value.code == "owner_cannot_decide"


@pytest.mark.case("D17")
def test_a_proposal_of_an_agent_one_may_not_see_does_not_exist(agent: Agent) -> None:
    limited = build.person("lena", agents=[build.agent("hers").agent_id])
    proposal = build.held(agent)

    with pytest.raises(ProposalNotFound):
        build.approve(proposal, limited)


def test_an_inactive_person_decides_nothing(agent: Agent, reviewer: User) -> None:
    reviewer.is_active = False

    with pytest.raises(NotAllowed):
        build.approve(build.held(agent), reviewer)


def test_of_an_agent_that_is_off_a_proposal_can_only_be_rejected(agent: Agent) -> None:
    proposal = build.held(agent)
    set_active(agent, False, actor=SYSTEM)

    with pytest.raises(NotAllowed):
        build.approve(proposal)
    build.reject(proposal)

    proposal.refresh_from_db()
    assert proposal.status == Proposal.Status.REJECTED


def test_a_second_person_approves_where_that_is_asked_for(
    agent: Agent, reviewer: User, settings: Settings
) -> None:
    from memories.changes import Remember

    settings.REQUIRE_SECOND_PERSON = True
    change = Remember(agent=agent.pk, memory_type="semantic", content="mine")
    proposal = services.submit(change, by=reviewer, agent=agent).proposal
    assert proposal is not None

    with pytest.raises(NotAllowed):
        build.approve(proposal, reviewer)
    build.approve(proposal, build.person())

    assert Memory.objects.get().content == "mine"


@pytest.mark.case("G13")
def test_an_approved_merge_retires_its_sources(agent: Agent) -> None:
    one = build.memory(agent, "one", tags=["a", "b"])
    two = build.memory(agent, "two", tags=["b", "c"])

    proposal = build.merging(agent, two, one)
    build.approve(proposal)

    merged = Memory.objects.live().get()
    assert merged.content == "one\ntwo"
    assert merged.tags == ["a", "b", "c"]
    assert set(merged.metadata["amp_merged_from"]) == {str(one.pk), str(two.pk)}
    assert {m.superseded_by_id for m in Memory.objects.exclude(pk=merged.pk)} == {merged.pk}


def test_equal_sources_are_joined_once(agent: Agent) -> None:
    proposal = build.merging(
        agent, build.short_term(agent, "same"), build.memory(agent, "same")
    )

    build.approve(proposal)

    assert Memory.objects.live().get().content == "same"


def test_a_merge_without_one_source_keeps_the_text_that_was_shown(agent: Agent) -> None:
    one, two, three = (build.memory(agent, text) for text in ("one", "two", "three"))
    proposal = build.merging(agent, one, two, three, content="all")

    decision = build.approve(proposal, memory_ids=(one.pk, three.pk))

    assert decision.edited
    assert set(Memory.objects.live().values_list("content", flat=True)) == {"all", "two"}


def test_a_merge_needs_two_sources_and_a_forget_one(agent: Agent) -> None:
    one, two = build.memory(agent, "one"), build.memory(agent, "two")

    with pytest.raises(Impossible):
        build.approve(build.merging(agent, one, two), memory_ids=(one.pk,))
    with pytest.raises(Impossible):
        build.approve(build.forgetting(agent, one, two), memory_ids=())

    assert Memory.objects.live().count() == 2


def test_an_unticked_memory_is_not_forgotten(agent: Agent) -> None:
    one, two = build.memory(agent, "one"), build.memory(agent, "two")

    build.approve(build.forgetting(agent, one, two), memory_ids=(two.pk,))

    assert Memory.objects.live().get() == one


def test_an_approved_expiry_raises_the_version(agent: Agent) -> None:
    memory = build.memory(agent)

    build.approve(build.expiring(agent, memory, ttl_seconds=3600))

    memory.refresh_from_db()
    assert memory.version == 2
    assert memory.expires_at is not None
    assert memory in Memory.objects.live()


@pytest.mark.parametrize(
    "instant", ["9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00"]
)
def test_an_instant_outside_the_calendar_is_no_edit(agent: Agent, instant: str) -> None:
    memory = build.memory(agent)
    proposal = build.expiring(agent, memory, ttl_seconds=60)

    with pytest.raises(Impossible):
        build.approve(proposal, expires_at=datetime.fromisoformat(instant))

    memory.refresh_from_db()
    assert (memory.version, memory.expires_at) == (1, None)


@pytest.mark.case("G12")
def test_reason_and_comment_are_kept(agent: Agent, reviewer: User) -> None:
    decision = build.reject(build.held(agent), reviewer, reason="private", comment="a name")

    decision.refresh_from_db()
    assert (decision.reason, decision.comment) == ("private", "a name")


@pytest.mark.case("G18")
def test_withdraw_and_approve_exclude_each_other(agent: Agent, reviewer: User) -> None:
    key = build.key(agent)
    withdrawn, approved = build.held(agent, "one"), build.held(agent, "two")
    services.withdraw(withdrawn.pk, by=key)
    build.approve(approved, reviewer)

    with pytest.raises(AlreadyDecided):
        build.approve(withdrawn, reviewer)
    with pytest.raises(AlreadyDecided):
        services.withdraw(approved.pk, by=key)

    assert Memory.objects.get().content == "two"


@pytest.mark.case("G21")
def test_a_successor_retires_what_it_supersedes(agent: Agent) -> None:
    old = build.memory(agent, "Closes at five.")

    build.memory(agent, "Closes at six.", supersedes=[old.pk])

    old.refresh_from_db()
    new = Memory.objects.live().get()
    assert (old.state, old.superseded_by, old.version) == ("retired", new, 2)
    assert [r.action for r in old.revisions.order_by("version")] == [
        "remembered",
        "retired",
    ]
