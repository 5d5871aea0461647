"""Two at once, on PostgreSQL, with a barrier: one wins, the other learns who."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier

import pytest
from django.db import connection, connections

from approvals import services
from approvals.models import Decision, Proposal
from memories.changes import Remember
from memories.errors import DomainError
from memories.models import Agent, AuditEntry, IndexEntry, Memory, User
from tests import build

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.postgres,
    pytest.mark.skipif(connection.vendor != "postgresql", reason="needs row locks"),
]

ROUNDS = 200


@pytest.fixture(autouse=True)
def _bounded() -> Iterator[None]:
    """A deadlock or a lost lock fails the test instead of holding it up."""
    with connection.cursor() as cursor:
        cursor.execute("ALTER ROLE CURRENT_USER SET lock_timeout = '20s'")
    yield
    with connection.cursor() as cursor:
        cursor.execute("ALTER ROLE CURRENT_USER RESET lock_timeout")


class Together:
    """Runs calls that all begin at the same moment; their results, or error codes."""

    def __init__(self, people: int) -> None:
        self.barrier = Barrier(people)
        self.pool = ThreadPoolExecutor(people)

    def run(self, *calls: Callable[[], object]) -> list[str]:
        assert len(calls) == self.barrier.parties
        return sorted(self.pool.map(self._one, calls))

    def _one(self, call: Callable[[], object]) -> str:
        connection.ensure_connection()
        self.barrier.wait(timeout=30)
        try:
            call()
        except DomainError as error:
            return error.code
        return "done"

    def close(self) -> None:
        waiting = Barrier(self.barrier.parties)

        def leave() -> None:
            waiting.wait(timeout=30)
            connections.close_all()

        list(self.pool.map(lambda _: leave(), range(self.barrier.parties)))
        self.pool.shutdown()


@pytest.fixture
def two() -> Iterator[Together]:
    together = Together(2)
    yield together
    together.close()


@pytest.fixture
def ten() -> Iterator[Together]:
    together = Together(10)
    yield together
    together.close()


@pytest.fixture
def sam() -> User:
    return build.person("sam")


def approving(proposal: Proposal, who: User) -> Callable[[], object]:
    seen = build.seen(proposal)
    return lambda: services.approve(proposal.pk, reviewer=who, seen=seen)


def rejecting(proposal: Proposal, who: User) -> Callable[[], object]:
    seen = build.seen(proposal)
    return lambda: services.reject(proposal.pk, reviewer=who, seen=seen, reason="other")


@pytest.mark.case("G7")
def test_ten_approvals_at_once_are_one_decision(
    agent: Agent, reviewer: User, sam: User, ten: Together
) -> None:
    proposal = build.held(agent)

    outcomes = ten.run(*[approving(proposal, who) for who in [reviewer, sam] * 5])

    assert outcomes == ["already_decided"] * 9 + ["done"]
    assert Decision.objects.count() == Memory.objects.count() == 1
    assert AuditEntry.objects.filter(action="proposal.approved").count() == 1
    assert IndexEntry.objects.count() == 1


@pytest.mark.case("G7")
def test_approve_and_reject_at_once_are_one_decision(
    agent: Agent, reviewer: User, sam: User, two: Together
) -> None:
    for round_number in range(20):
        proposal = build.held(agent, f"fact {round_number}")

        outcomes = two.run(approving(proposal, reviewer), rejecting(proposal, sam))

        assert outcomes == ["already_decided", "done"]
        proposal.refresh_from_db()
        made = Memory.objects.filter(pk__in=[proposal.memory_id]).exists()
        assert made == (proposal.status == "approved")
        assert proposal.decisions.get().outcome == proposal.status


@pytest.mark.case("G33")
def test_two_replacements_approved_at_the_same_moment_leave_one_successor(
    agent: Agent, reviewer: User, sam: User, two: Together
) -> None:
    for round_number in range(ROUNDS):
        old = build.memory(agent, f"old {round_number}")
        rivals = [
            build.held(agent, f"{name} {round_number}", supersedes=[old.pk])
            for name in ("left", "right")
        ]

        outcomes = two.run(approving(rivals[0], reviewer), approving(rivals[1], sam))

        assert outcomes == ["done", "stale"]
        assert Memory.objects.filter(pk__in=[r.memory_id for r in rivals]).count() == 1


@pytest.mark.case("G33")
def test_merges_that_share_sources_in_opposite_order_do_not_deadlock(
    agent: Agent, reviewer: User, sam: User, two: Together
) -> None:
    for round_number in range(ROUNDS // 4):
        one, other = (build.memory(agent, f"{n} {round_number}") for n in ("a", "b"))
        forth = build.merging(agent, one, other, content="forth")
        back = build.merging(agent, other, one, content="back")

        outcomes = two.run(approving(forth, reviewer), approving(back, sam))

        assert outcomes in (["already_decided", "done"], ["done", "stale"])
        assert Memory.objects.live().filter(content__in=["forth", "back"]).count() == 1
        Memory.objects.live().filter(content__in=["forth", "back"]).update(content="done")


@pytest.mark.case("G8")
def test_the_same_remember_twenty_times_at_once_is_one_proposal(agent: Agent) -> None:
    key = build.key(agent)
    change = Remember(agent=agent.pk, memory_type="semantic", content="the same")
    answers: list[object] = []
    twenty = Together(20)
    try:
        outcomes = twenty.run(
            *[lambda: answers.append(services.submit(change, by=key).ids)] * 20
        )
    finally:
        twenty.close()

    assert outcomes == ["done"] * 20
    assert answers == [(Proposal.objects.get().memory_id,)] * 20


@pytest.mark.case("G18")
def test_withdraw_and_approve_at_once_exclude_each_other(
    agent: Agent, reviewer: User, two: Together
) -> None:
    key = build.key(agent)
    for round_number in range(20):
        proposal = build.held(agent, f"fact {round_number}")
        withdrawing = partial(services.withdraw, proposal.pk, by=key)

        outcomes = two.run(approving(proposal, reviewer), withdrawing)

        assert outcomes == ["already_decided", "done"]
        proposal.refresh_from_db()
        made = Memory.objects.filter(pk__in=[proposal.memory_id]).exists()
        assert made == (proposal.status == "approved")


def test_the_same_replacement_of_what_waits_sent_twice_at_once_is_one_proposal(
    agent: Agent, two: Together
) -> None:
    key = build.key(agent)
    for round_number in range(20):
        first = build.held(agent, f"first {round_number}")
        assert first.memory_id is not None
        change = Remember(
            agent=agent.pk,
            memory_type="semantic",
            content=f"second {round_number}",
            supersedes=(first.memory_id,),
        )
        submitting = partial(services.submit, change, by=key)

        assert two.run(submitting, submitting) == ["done", "done"]

        first.refresh_from_db()
        assert first.closed_reason == "replaced"
    assert Proposal.objects.pending().count() == 20


def test_deciding_and_indexing_at_once_do_not_wait_in_a_ring(
    agent: Agent, reviewer: User, two: Together
) -> None:
    """A batch and a forget that hold the same entries, in opposite order of priority."""
    for round_number in range(30):
        older = build.short_term(agent, f"a {round_number}")
        newer = build.memory(agent, f"b {round_number}")
        forget = build.forgetting(agent, older, newer)

        assert two.run(approving(forget, reviewer), build.drain) == ["done", "done"]

        build.drain()
        assert not IndexEntry.objects.behind().exists()


def test_the_audit_chain_does_not_fork_under_writers(agent: Agent, ten: Together) -> None:
    from memories import audit

    key = build.key(agent)

    def remembering(number: int) -> Callable[[], object]:
        change = Remember(agent=agent.pk, memory_type="episodic", content=f"e {number}")
        return lambda: [services.submit(change, by=key) for _ in range(10)]

    assert ten.run(*[remembering(number) for number in range(10)]) == ["done"] * 10

    assert all(isinstance(found, audit.Head) for found in audit.verify())
    assert AuditEntry.objects.filter(action="remember.applied").count() == 100
