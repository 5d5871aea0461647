"""What an approval let in, and how far the index is with it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from approvals.models import Proposal
from memories.changes import JSON, Change
from memories.index import collection_name
from memories.models import IndexEntry, Memory

ORDER = ("failed", "queued", "indexed")  # the least advanced first


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexState:
    """``name`` is ``queued``, ``indexed`` or ``failed``; ``error`` says why one failed."""

    name: str
    error: str = ""


def with_edits(change: Change, edits: Mapping[str, JSON]) -> Change:
    """The change as it was let in."""
    return replace(change, **{name: _value(name, edits[name]) for name in edits})


def touched_ids(proposal: Proposal, landed: Change) -> tuple[UUID, ...]:
    """The memories that the decision made or changed; none of what is not approved.

    ``landed`` is the proposal's change ``with_edits``.
    """
    if proposal.status != Proposal.Status.APPROVED:
        return ()
    made = [proposal.memory_id] if proposal.memory_id else []
    return tuple(dict.fromkeys([*made, *landed.target_ids]))


def index_states(touched: Mapping[UUID, Collection[UUID]]) -> dict[UUID, IndexState]:
    """For each proposal that touched memories the least advanced of their states.

    A live memory that the current collection has not heard of is queued; of one that is no
    longer live nothing is wanted there. Two queries at most.
    """
    ids = {memory_id for some in touched.values() for memory_id in some}
    if not ids:
        return {}
    entries = IndexEntry.objects.filter(memory__in=ids, collection=collection_name())
    states = {e.memory_id: IndexState(name=e.state, error=e.last_error) for e in entries}
    missing = ids - states.keys()
    if missing:
        live = Memory.objects.live().filter(pk__in=missing).values_list("pk", flat=True)
        states |= {memory_id: IndexState(name="queued") for memory_id in live}
    nothing_wanted = IndexState(name="indexed")
    return {
        proposal_id: min(
            (states.get(memory_id, nothing_wanted) for memory_id in some),
            key=lambda state: ORDER.index(state.name),
        )
        for proposal_id, some in touched.items()
        if some
    }


def _value(name: str, value: Any) -> Any:
    match name:
        case "tags":
            return tuple(value)
        case "memory_ids":
            return tuple(UUID(item) for item in value)
        case "expires_at":
            return datetime.fromisoformat(value) if value else None
        case _:
            return value
