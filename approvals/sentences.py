"""What a proposal would do, and what became of it, said in one sentence."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from typing import assert_never

from approvals.models import Decision, Proposal
from memories.changes import Change, Expire, Forget, Merge, Remember, Revise

ENDINGS = {
    Proposal.ClosedReason.BY_AGENT: "The agent withdrew it.",
    Proposal.ClosedReason.REPLACED: "The agent replaced it with a newer proposal.",
    Proposal.ClosedReason.LAPSED: "It lapsed: nobody decided in time.",
    Proposal.ClosedReason.TTL_PASSED: "It closed itself: what it proposed is over by now.",
    Proposal.ClosedReason.TARGET_GONE: (
        "It closed itself: the memories it would touch are gone."
    ),
}


def sentence(
    change: Change, agent_id: str, now: datetime, *, touched: Collection[str]
) -> str:
    """What approving does, without a full stop: "Forget 2 memories of billing-bot".

    ``touched`` are the types of the change's targets; one alone is named.
    """
    number = len(change.target_ids)
    many = f"{_memories(number, touched)} of {agent_id}"
    match change:
        case Remember() if change.supersedes:
            text = f"Replace {many}{_by_another_type(change, touched)}" + _until(
                change.expires_at
            )
        case Remember():
            text = f"Remember 1 new {change.memory_type} memory for {agent_id}" + _until(
                change.expires_at
            )
        case Revise():
            text = f"Revise {many}"
        case Merge():
            text = (
                f"Merge {many} into 1 {change.memory_type} memory; "
                f"the {number} retire" + _until(change.expires_at)
            )
        case Forget():
            text = f"Forget {many}"
        case Expire():
            text = _expire(change, many, now)
        case _:
            assert_never(change)
    return text


def outcome(decision: Decision) -> str:
    """What was decided, for the line that announces it: "Rejected as duplicate"."""
    if decision.outcome == Decision.Outcome.REJECTED:
        reason = Decision.Reason(decision.reason)
        plain = reason == Decision.Reason.OTHER
        return "Rejected" if plain else f"Rejected as {reason.label.lower()}"
    return "Approved with changes" if decision.edited else "Approved"


def instant(at: datetime) -> str:
    """An instant as people read it: "3 May 2026, 14:00 UTC"."""
    at = at.astimezone(UTC)
    return f"{at.day} {at:%B} {at.year:04}, {at:%H:%M} UTC"


def _expire(change: Expire, many: str, now: datetime) -> str:
    if change.expires_at is None or change.expires_at <= now:
        return f"Expire {many} now"
    return f"Let {many} expire on {instant(change.expires_at)}"


def _memories(number: int, types: Collection[str]) -> str:
    named = types if len(types) == 1 else ()
    return " ".join([str(number), *named, "memory" if number == 1 else "memories"])


def _by_another_type(change: Remember, touched: Collection[str]) -> str:
    return "" if set(touched) == {change.memory_type} else f" by 1 {change.memory_type} one"


def _until(at: datetime | None) -> str:
    return f", until {instant(at)}" if at else ""
