"""What became of a proposal: the decision, what landed, and whether it can be found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from approvals.models import Decision
from memories.changes import JSON, Change
from memories.index import collection_name
from memories.models import IndexEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexState:
    """``name`` is ``queued``, ``indexed`` or ``failed``: the worst of all memories that
    the decision touched. ``error`` says why one failed."""

    name: str
    error: str = ""


def with_edits(change: Change, decision: Decision | None) -> Change:
    """The change as it was let in."""
    edits: dict[str, JSON] = decision.edits if decision else {}
    return replace(change, **{name: _value(name, edits[name]) for name in edits})


def index_state(memory_ids: Iterable[UUID]) -> IndexState | None:
    """None when no memory of these has anything to do with the index."""
    entries = IndexEntry.objects.filter(
        memory__in=set(memory_ids), collection=collection_name()
    )
    by_state = {entry.state: entry for entry in entries}
    for name in ("failed", "queued", "indexed"):
        if name in by_state:
            return IndexState(name=name, error=by_state[name].last_error)
    return None


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
