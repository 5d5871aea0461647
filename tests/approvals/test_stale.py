"""The memory moves on while a proposal waits."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from approvals import services
from approvals.models import Proposal
from memories.errors import AlreadyDecided, ChangedSinceShown, StaleVersion
from memories.models import Agent, Memory, User
from tests import build

pytestmark = pytest.mark.django_db


def is_stale(proposal: Proposal) -> bool:
    return bool(Proposal.objects.with_staleness().get(pk=proposal.pk).stale)  # type: ignore[attr-defined]  # annotated


@pytest.mark.case("G5")
def test_of_two_replacements_the_second_turns_stale(agent: Agent, reviewer: User) -> None:
    old = build.memory(agent, "first")
    fast = build.held(agent, "fast", supersedes=[old.pk])
    slow = build.held(agent, "slow", supersedes=[old.pk])
    seen = build.seen(slow)
    assert not is_stale(slow)

    build.approve(fast, reviewer)

    assert is_stale(slow)
    for shown in (seen, build.seen(slow)):
        with pytest.raises(StaleVersion):
            services.approve(slow.pk, reviewer=reviewer, seen=shown)
    assert Memory.objects.live().get().content == "fast"
    slow.refresh_from_db()
    assert slow.is_pending


@pytest.mark.case("G6")
def test_a_revision_meanwhile_makes_it_stale(agent: Agent, reviewer: User) -> None:
    memory = build.memory(agent, "first")
    slow = build.revising(memory, "slow")
    build.approve(build.revising(memory, "fast"))

    with pytest.raises(StaleVersion):
        build.approve(slow, reviewer)

    memory.refresh_from_db()
    assert (memory.content, memory.version) == ("fast", 2)


def test_a_rebased_revision_lands_on_top(agent: Agent, reviewer: User) -> None:
    memory = build.memory(agent, "first")
    slow = build.revising(memory, "slow")
    build.approve(build.revising(memory, "fast"))

    services.rebase(slow.pk, reviewer=reviewer, seen=build.seen(slow))

    slow.refresh_from_db()
    assert (slow.revision, slow.is_pending, is_stale(slow)) == (2, True, False)
    assert slow.drafts.get().change_json["base_version"] == 1
    build.approve(slow, reviewer)
    memory.refresh_from_db()
    assert (memory.content, memory.version) == ("slow", 3)


def test_a_rebased_replacement_of_what_is_gone_is_a_plain_new_memory(
    agent: Agent, reviewer: User
) -> None:
    old = build.memory(agent, "first")
    proposal = build.held(agent, "second", supersedes=[old.pk])
    build.approve(build.forgetting(agent, old))
    assert is_stale(proposal)

    services.rebase(proposal.pk, reviewer=reviewer, seen=build.seen(proposal))
    build.approve(proposal, reviewer)

    assert Memory.objects.live().get().content == "second"
    old.refresh_from_db()
    assert old.state == "forgotten"


def test_a_rebased_merge_is_put_together_again(agent: Agent, reviewer: User) -> None:
    one, two = build.memory(agent, "one"), build.memory(agent, "two")
    proposal = build.merging(agent, one, two)
    build.approve(build.revising(one, "one, revised"))

    services.rebase(proposal.pk, reviewer=reviewer, seen=build.seen(proposal))
    build.approve(proposal, reviewer)

    assert Memory.objects.live().get().content == "one, revised\ntwo"


def test_a_rebased_proposal_is_listed_rejected_and_repeated_as_it_reads_now(
    agent: Agent, reviewer: User
) -> None:
    one, two, three = (build.memory(agent, text) for text in ("one", "two", "three"))
    merge = build.merging(agent, one, two)
    forget = build.forgetting(agent, two, three)
    build.approve(build.revising(one, "one, revised"))
    build.approve(build.forgetting(agent, three))

    for proposal in (merge, forget):
        services.rebase(proposal.pk, reviewer=reviewer, seen=build.seen(proposal))
        proposal.refresh_from_db()

    assert merge.summary == "one, revised two"
    assert build.merging(agent, one, two) == merge
    assert build.forgetting(agent, two) == forget
    build.reject(merge, reviewer)
    assert build.held(agent, "one two").text_fold != merge.text_fold
    assert build.held(agent, "One, revised  two").text_fold == merge.text_fold


def test_a_merge_with_its_own_text_keeps_it_through_a_rebase(
    agent: Agent, reviewer: User
) -> None:
    one, two = build.memory(agent, "one"), build.memory(agent, "two")
    proposal = build.merging(agent, one, two, content="both")
    build.approve(build.revising(one, "one, revised"))

    services.rebase(proposal.pk, reviewer=reviewer, seen=build.seen(proposal))
    build.approve(proposal, reviewer)

    assert Memory.objects.live().get().content == "both"


@pytest.mark.case("G28")
def test_a_card_shown_before_a_rebase_is_not_approved(agent: Agent, reviewer: User) -> None:
    memory = build.memory(agent, "first")
    proposal = build.revising(memory, "slow")
    build.approve(build.revising(memory, "fast"))
    shown = build.seen(proposal)
    services.rebase(proposal.pk, reviewer=build.person(), seen=shown)

    with pytest.raises(ChangedSinceShown):
        services.approve(proposal.pk, reviewer=reviewer, seen=shown)

    assert Memory.objects.get().content == "fast"


def test_what_is_not_stale_is_not_rebased(agent: Agent, reviewer: User) -> None:
    proposal = build.held(agent)

    with pytest.raises(ChangedSinceShown):
        services.rebase(proposal.pk, reviewer=reviewer, seen=build.seen(proposal))

    proposal.refresh_from_db()
    assert proposal.revision == 1


def forgotten(agent: Agent, memory: Memory) -> None:
    build.approve(build.forgetting(agent, memory))


def expired(agent: Agent, memory: Memory) -> None:
    build.approve(build.expiring(agent, memory))


def retired(agent: Agent, memory: Memory) -> None:
    build.memory(agent, "its successor", supersedes=[memory.pk])


GONE = [forgotten, expired, retired]


@pytest.mark.case("G29")
@pytest.mark.parametrize("end", GONE)
def test_without_a_target_a_forget_expire_or_revise_closes_itself(
    agent: Agent, end: Callable[[Agent, Memory], None]
) -> None:
    memory = build.memory(agent)
    proposals = [
        build.revising(memory, "other"),
        build.expiring(agent, memory, ttl_seconds=9_999),
        build.forgetting(agent, memory),
    ]
    if end is forgotten:
        proposals.pop()  # it is the one that is approved
    end(agent, memory)

    services.close_overtaken()

    for proposal in proposals:
        proposal.refresh_from_db()
        assert (proposal.status, proposal.closed_reason) == ("expired", "target_gone")


@pytest.mark.case("G29")
@pytest.mark.parametrize("end", GONE)
def test_a_merge_closes_itself_below_two_sources(
    agent: Agent, end: Callable[[Agent, Memory], None]
) -> None:
    one, two, three = (build.memory(agent, text) for text in ("one", "two", "three"))
    pair = build.merging(agent, one, two)
    trio = build.merging(agent, one, two, three)
    end(agent, one)

    services.close_overtaken()

    pair.refresh_from_db()
    trio.refresh_from_db()
    assert (pair.status, pair.closed_reason) == ("expired", "target_gone")
    assert trio.is_pending
    assert is_stale(trio)


@pytest.mark.case("G29")
@pytest.mark.parametrize("end", GONE)
def test_a_remember_whose_superseded_memory_is_gone_stays_stale(
    agent: Agent, end: Callable[[Agent, Memory], None]
) -> None:
    memory = build.memory(agent)
    proposal = build.held(agent, "new", supersedes=[memory.pk])
    end(agent, memory)

    services.close_overtaken()

    proposal.refresh_from_db()
    assert proposal.is_pending
    assert is_stale(proposal)


@pytest.mark.case("G29")
def test_a_target_that_only_the_clock_expired_counts_as_gone(agent: Agent) -> None:
    memory = build.memory(agent, ttl_seconds=3600)
    proposal = build.forgetting(agent, memory)
    Memory.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    assert is_stale(proposal)
    with pytest.raises(AlreadyDecided):
        build.approve(proposal)

    proposal.refresh_from_db()
    assert (proposal.status, proposal.closed_reason) == ("expired", "target_gone")


def test_what_would_be_over_before_it_began_closes_itself(agent: Agent) -> None:
    proposal = build.held(agent, ttl_seconds=60)
    Proposal.objects.update(ends_at=timezone.now() - timedelta(seconds=1))

    services.close_overtaken()

    proposal.refresh_from_db()
    assert (proposal.status, proposal.closed_reason) == ("expired", "ttl_passed")


def test_a_proposal_lapses(agent: Agent, settings: Settings) -> None:
    proposal = build.held(agent)
    assert proposal.lapses_at is not None
    assert timedelta(days=29) < proposal.lapses_at - timezone.now() <= timedelta(days=30)
    Proposal.objects.update(lapses_at=timezone.now())

    services.close_overtaken()

    proposal.refresh_from_db()
    assert (proposal.status, proposal.closed_reason) == ("expired", "lapsed")
    settings.PROPOSAL_TTL_DAYS = 0
    assert build.held(agent, "for good").lapses_at is None
