"""The ``detail`` of a result: first what became of it, then what else is to know."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import datetime

from approvals.services import Outcome, Standing
from memories.api.door import instant
from memories.changes import Change, Expire, Forget

HELD = "held for review"


@dataclass(frozen=True, slots=True)
class Detail:
    """``first`` is what became of the change, "" where there is nothing to say."""

    first: str = ""
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "; ".join(clause for clause in (self.first, *self.notes) if clause)

    def to_text(self) -> str:
        """For the record of a request that may be repeated; ``from_text`` reads it."""
        return json.dumps([self.first, *self.notes]) if str(self) else ""

    @classmethod
    def from_text(cls, text: str) -> Detail:
        first, *notes = json.loads(text) if text else [""]
        return cls(first, tuple(notes))


def detail_of(change: Change, outcome: Outcome) -> Detail:
    """What is said when the change is stored, held or refused."""
    notes = tuple(_notes(change, outcome))
    if outcome.proposal:
        return Detail(f"{HELD}: {outcome.why or 'the same is waiting already'}", notes)
    return Detail(outcome.why if not outcome.ok else "", notes)


def detail_after(held: Detail, standing: Standing) -> Detail:
    """What is said after a wait that ended in a decision, or in a withdrawal."""
    if standing.status != "approved":
        return Detail(_why_not(standing))
    edits = standing.decision.edits if standing.decision else {}
    after = replace(held, first="approved with changes" if edits else "")
    if edits.get("expires_at"):
        at = datetime.fromisoformat(str(edits["expires_at"]))
        return replace(after, notes=(f"expires at {instant(at)}",))
    return after


def _why_not(standing: Standing) -> str:
    if standing.decision is None:
        return f"the proposal is {standing.status} ({standing.closed_reason})"
    parts = [standing.decision.reason, standing.decision.comment]
    return ": ".join(part for part in parts if part)


def _notes(change: Change, outcome: Outcome) -> list[str]:
    if isinstance(change, Expire) and change.ttl_seconds:
        drafted = outcome.proposal.change if outcome.proposal else outcome
        at = getattr(drafted, "expires_at", None)
        return [f"expires at {instant(at)}"] if at else []
    if not isinstance(change, Forget):
        return []
    repeated = len(change.memory_ids) - len(set(change.memory_ids))
    return [
        f"{count} {one if count == 1 else many}"
        for count, one, many in (
            (
                outcome.withdrawn,
                "pending proposal withdrawn",
                "pending proposals withdrawn",
            ),
            (outcome.unknown, "id is unknown", "ids are unknown"),
            (repeated, "id was repeated", "ids were repeated"),
        )
        if count
    ]
