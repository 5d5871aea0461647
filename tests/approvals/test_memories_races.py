"""What people do about one memory at the same moment, on PostgreSQL: one goes first, the
others hear that it moved on."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection

from approvals import services
from approvals.models import Decision
from memories.changes import Forget, Revise
from memories.models import Agent, Memory, User
from tests import build
from tests.approvals.test_races import Together, _bounded, approving, sam, two

__all__ = ["_bounded", "sam", "two"]  # fixtures

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.postgres,
    pytest.mark.skipif(connection.vendor != "postgresql", reason="needs row locks"),
]

ROUNDS = 15


def proposing(change: Revise | Forget | None, who: User) -> Callable[[], object]:
    assert change is not None
    version = Memory.objects.get(pk=change.target_ids[0]).version
    return lambda: services.propose(change, author=who, seen_version=version, approve=True)


def typing(memory: Memory, text: str) -> Revise | None:
    return services.revision_by_hand(memory, content=text, tags=(), expires_at=None)


def forgetting(memory: Memory) -> Forget:
    ids = (memory.pk,)
    return Forget(agent=memory.agent_id, memory_type="semantic", memory_ids=ids)


def test_a_change_and_a_restore_at_once_are_one_new_version(
    agent: Agent, reviewer: User, sam: User, two: Together
) -> None:
    memory = build.memory(agent, "one")
    build.approve(build.revising(memory, "two"))
    first = memory.revisions.get(version=1)
    for _ in range(ROUNDS):
        memory.refresh_from_db()
        version = memory.version
        back = services.revision_back_to(first, memory)
        outcomes = two.run(
            proposing(back, reviewer), proposing(typing(memory, f"{version}"), sam)
        )
        memory.refresh_from_db()
        assert outcomes == ["done", "stale"]
        assert memory.version == version + 1
        if memory.content == "one":
            build.approve(build.revising(memory, "two"))


def test_a_change_and_a_forget_at_once_never_both_happen_unseen(
    agent: Agent, reviewer: User, sam: User, two: Together
) -> None:
    for number in range(ROUNDS):
        memory = build.memory(agent, f"text {number}")
        outcomes = two.run(
            proposing(typing(memory, f"other {number}"), reviewer),
            proposing(forgetting(memory), sam),
        )
        memory.refresh_from_db()
        assert outcomes in (["done", "memory_not_found"], ["done", "stale"])
        assert memory.version == 2


def test_a_change_by_hand_and_the_approval_of_an_agents_change_do_not_lock_each_other(
    agent: Agent, reviewer: User, sam: User, two: Together
) -> None:
    for number in range(ROUNDS):
        memory = build.memory(agent, f"text {number}")
        waiting = build.revising(memory, f"the agent's {number}")
        outcomes = two.run(
            proposing(typing(memory, f"by hand {number}"), reviewer),
            approving(waiting, sam),
        )
        memory.refresh_from_db()
        assert outcomes == ["done", "stale"]
        assert memory.version == 2


def test_the_same_forget_by_two_people_at_once_has_one_effect(
    agent: Agent, reviewer: User, sam: User, two: Together
) -> None:
    for number in range(ROUNDS):
        memory = build.memory(agent, f"text {number}")
        decisions = Decision.objects.count()
        outcomes = two.run(
            proposing(forgetting(memory), reviewer), proposing(forgetting(memory), sam)
        )
        memory.refresh_from_db()
        assert outcomes == ["done", "memory_not_found"]
        assert (memory.state, memory.version) == ("forgotten", 2)
        assert Decision.objects.count() == decisions + 1
