"""Whether a change is held for a person. Pure: facts in, verdict out; in doubt, hold."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from memories.models import MemoryType

logger = logging.getLogger(__name__)

SHORT_TERM = frozenset(kind for kind in MemoryType if not kind.is_long_term)


class Verdict(Enum):
    APPLY = "apply"
    HOLD = "hold"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known of a change before anything is written.

    ``types`` are the memory types of what is touched and of what results;
    ``decides_alone`` where who asks needs nobody's approval to take a memory away.
    """

    op: str
    types: frozenset[str]
    agent_paused: bool = False
    echoes_rejected: bool = False
    decides_alone: bool = False


@dataclass(frozen=True, slots=True)
class Ruling:
    """``why`` is a clause for people: why it is held ("held for review: ") or refused, or
    why it happens at once."""

    verdict: Verdict
    why: str = ""

    @property
    def waits(self) -> bool:
        """Whether a person has to let it in."""
        return self.verdict is not Verdict.APPLY


Policy = Callable[[Facts], Ruling]


def default_policy(facts: Facts) -> Ruling:
    """Hold every change that touches or results in long-term memory; but an admin takes a
    bad memory away in one step."""
    if facts.op == "forget" and facts.decides_alone:
        return Ruling(Verdict.APPLY, "an admin forgets in one step")
    if facts.agent_paused:
        return Ruling(Verdict.HOLD, "every change of this agent waits for a person")
    if facts.echoes_rejected:
        return Ruling(Verdict.HOLD, "a person rejected this text before")
    if not facts.types or not facts.types <= SHORT_TERM:
        return Ruling(Verdict.HOLD, "it changes long-term memory")
    return Ruling(Verdict.APPLY, "short-term memory changes at once")


def judge(facts: Facts, policy: Policy = default_policy) -> Ruling:
    """The policy's ruling; a policy that fails lets a person look."""
    try:
        return policy(facts)
    except Exception:
        logger.exception("the policy failed on a %s", facts.op)
        return Ruling(Verdict.HOLD, "the policy could not judge it")
