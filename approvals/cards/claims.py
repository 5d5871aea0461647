"""What the agent says about its text: shown as claims, believed by no rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from memories.changes import SOURCES
from memories.models import Memory

MOST_SHOWN = 20
MOST_CHARACTERS = 100  # of a claimed id


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedFrom:
    """``memory`` is set where the id names one of the agent's own; other agents' ids are
    text and stay unresolved."""

    name: str
    memory: Memory | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """``source`` is "" where none, or none that is known, was named."""

    source: str
    derived_from: tuple[DerivedFrom, ...]


def claims_in(metadata: Mapping[str, Any], agent_id: UUID) -> Claims:
    source = metadata.get("source")
    known = isinstance(source, str) and source in SOURCES
    return Claims(
        source=str(source) if known else "",
        derived_from=_derived_from(metadata.get("derived_from"), agent_id),
    )


def _derived_from(claimed: Any, agent_id: UUID) -> tuple[DerivedFrom, ...]:
    items = claimed if isinstance(claimed, list) else [claimed] if claimed else []
    names = [str(item)[:MOST_CHARACTERS] for item in items[:MOST_SHOWN]]
    ids = {name: found for name in names if (found := _uuid(name))}
    own = (
        Memory.objects.filter(agent=agent_id, pk__in=ids.values()).in_bulk() if ids else {}
    )
    return tuple(
        DerivedFrom(name=name, memory=own.get(ids[name]) if name in ids else None)
        for name in names
    )


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
