"""What a proposal would do, and what became of it, said in one sentence."""

from __future__ import annotations

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


def sentence(change: Change, agent_id: str, now: datetime) -> str:
    """What approving does, without a full stop: "Forget 2 memories of billing-bot"."""
    match change:
        case Remember() if change.supersedes:
            many = _memories(len(change.supersedes), change.memory_type)
            text = f"Replace {many} of {agent_id}" + _until(change.expires_at)
        case Remember():
            text = f"Remember 1 new {change.memory_type} memory for {agent_id}" + _until(
                change.expires_at
            )
        case Revise():
            text = f"Revise {_memories(1, change.memory_type)} of {agent_id}"
        case Merge():
            number = len(change.memory_ids)
            text = (
                f"Merge {number} memories of {agent_id} into 1 {change.memory_type} memory; "
                f"the {number} retire" + _until(change.expires_at)
            )
        case Forget():
            text = f"Forget {_memories(len(change.memory_ids))} of {agent_id}"
        case Expire():
            text = _expire(change, agent_id, now)
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


def _expire(change: Expire, agent_id: str, now: datetime) -> str:
    many = _memories(len(change.memory_ids))
    if change.expires_at is None or change.expires_at <= now:
        return f"Expire {many} of {agent_id} now"
    return f"Let {many} of {agent_id} expire on {instant(change.expires_at)}"


def _memories(number: int, memory_type: str = "") -> str:
    words = [str(number), memory_type, "memory" if number == 1 else "memories"]
    return " ".join(word for word in words if word)


def _until(at: datetime | None) -> str:
    return f", until {instant(at)}" if at else ""
