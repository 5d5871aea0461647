"""Taking back what one proposal did to memories, in the transaction that undoes it."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from django.db.models import F
from django.utils import timezone

from memories import audit
from memories.errors import CannotUndo
from memories.models import IndexEntry, Memory, MemoryRevision
from memories.services.apply import Scribe, lock_targets, source_of
from memories.writing import writing


def reverse_change(
    memory_ids: Iterable[UUID], *, made: UUID | None, event: audit.Event
) -> None:
    """Give each memory the text and state it had before ``event.proposal_id`` touched it,
    at a new version; the one it ``made`` retires. Leaves index work and ``event`` behind.

    Raises ``CannotUndo`` when one of them changed since; then nothing is written.
    """
    if event.agent is None or event.proposal_id is None:
        raise ValueError("What is taken back was done by a proposal of an agent.")
    with writing():
        memories = lock_targets(event.agent, memory_ids)
        _require_unchanged(memories.values(), event.proposal_id)
        earlier = _earlier(memories)
        scribe = Scribe(event=event, now=timezone.now())
        for pk, memory in memories.items():
            if pk == made:
                memory.state, memory.superseded_by = Memory.State.RETIRED, None
                scribe.save(memory, "taken back")
            else:
                _bring_back(memory, earlier[pk])
                scribe.save(memory, "brought back")
        scribe.finish(IndexEntry.Priority.DECISION)


def _require_unchanged(memories: Iterable[Memory], proposal_id: UUID) -> None:
    current = MemoryRevision.objects.filter(
        memory__in=[memory.pk for memory in memories], version=F("memory__version")
    )
    for revision in current.exclude(proposal_id=proposal_id):
        raise CannotUndo(
            f"A memory that this touched was changed since ({revision.action} by "
            f"{revision.actor_label}), so it cannot be taken back."
        )


def _earlier(memories: dict[UUID, Memory]) -> dict[UUID, MemoryRevision]:
    before = MemoryRevision.objects.filter(
        memory__in=memories, version=F("memory__version") - 1
    )
    return {revision.memory_id: revision for revision in before}


def _bring_back(memory: Memory, earlier: MemoryRevision) -> None:
    memory.state, memory.superseded_by = Memory.State(earlier.state), None
    memory.content, memory.tags = earlier.content, earlier.tags
    memory.metadata, memory.expires_at = earlier.metadata, earlier.expires_at
    memory.source = source_of(earlier.metadata)
