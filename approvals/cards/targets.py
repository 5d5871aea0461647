"""The memories a proposal touches: as drafted against, and as they are now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from approvals.cards.room import Room
from approvals.models import Proposal, ProposalTarget
from memories.models import Memory, MemoryRevision


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A memory's words at one version."""

    content: str = ""
    tags: Sequence[str] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    expires_at: datetime | None = None

    @classmethod
    def of(cls, source: Memory | MemoryRevision) -> Version:
        return cls(
            content=source.content,
            tags=source.tags,
            metadata=source.metadata,
            expires_at=source.expires_at,
        )


NOTHING = Version()


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """``shown`` is the memory as it is now, once the proposal is closed as it was then;
    ``state`` is always that of now.
    ``excerpt`` is its text, or the beginning of it; ``hidden`` counts the characters
    that are left out. ``is_kept`` is False where the reviewer left the target out."""

    memory: Memory
    drafted_version: int
    drafted: Version
    shown: Version
    shown_version: int
    state: str
    has_moved: bool
    is_kept: bool
    excerpt: str
    hidden: int


def targets_of(proposal: Proposal, *, kept: set[UUID], now: datetime) -> list[Target]:
    """In the order the proposal names them; two queries, however many there are."""
    rows = list(proposal.targets.select_related("memory"))
    revisions = _drafted_against(rows)
    room = Room()
    return [_target(row, revisions, proposal, kept, now, room) for row in rows]


def _target(
    row: ProposalTarget,
    revisions: Mapping[tuple[UUID, int], MemoryRevision],
    proposal: Proposal,
    kept: set[UUID],
    now: datetime,
    room: Room,
) -> Target:
    memory = row.memory
    drafted = Version.of(revisions.get((memory.pk, row.version), memory))
    shown = Version.of(memory) if proposal.is_pending else drafted
    excerpt = room.shown(shown.content)
    return Target(
        memory=memory,
        drafted_version=row.version,
        drafted=drafted,
        shown=shown,
        shown_version=memory.version if proposal.is_pending else row.version,
        state=memory.state_at(now),
        has_moved=memory.version != row.version or not memory.is_live(now),
        is_kept=memory.pk in kept,
        excerpt=excerpt,
        hidden=len(shown.content) - len(excerpt),
    )


def _drafted_against(
    rows: Sequence[ProposalTarget],
) -> dict[tuple[UUID, int], MemoryRevision]:
    return {(one.memory_id, one.version): one for one in _revisions(rows)}


def _revisions(rows: Sequence[ProposalTarget]) -> Iterator[MemoryRevision]:
    wanted = {(row.memory_id, row.version) for row in rows}
    if not wanted:
        return
    found = MemoryRevision.objects.filter(
        memory__in={memory for memory, _ in wanted},
        version__in={version for _, version in wanted},
    )
    for revision in found:
        if (revision.memory_id, revision.version) in wanted:
            yield revision
