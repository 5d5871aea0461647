"""Carrying out a change: memory, revision, index work and audit entry in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from django.utils import timezone

from memories import audit
from memories.changes import SOURCES, Change, Expire, Forget, Merge, Remember, Revise
from memories.errors import MemoryNotFound
from memories.ids import new_id
from memories.index import collection_name
from memories.models import IndexEntry, Memory, MemoryRevision
from memories.nudge import nudge_after_commit
from memories.writing import writing


def lock_targets(agent: UUID, ids: Iterable[UUID]) -> dict[UUID, Memory]:
    """The agent's memories among ``ids``, whatever their state, locked in order of id.

    Call it inside ``writing()``; unknown and foreign ids are absent from the answer.
    """
    rows = Memory.objects.filter(agent_id=agent, pk__in=set(ids)).order_by("pk")
    return {memory.pk: memory for memory in rows.select_for_update(of=("self",))}


def apply_change(
    change: Change,
    *,
    targets: Mapping[UUID, Memory],
    event: audit.Event,
    memory_id: UUID | None = None,
    priority: IndexEntry.Priority = IndexEntry.Priority.SHORT_TERM,
) -> Memory | None:
    """Carry out a change that was let in, and leave the index work and ``event`` behind;
    return the memory that a remember or merge made.

    ``targets`` are the memories the change names, locked in this transaction by
    ``lock_targets``, as is the reserved id of what is made, ``memory_id``: a memory that
    an undo took back lives again under it. Raises ``MemoryNotFound`` when a target is no
    longer live; then nothing is written.
    """
    with writing():
        now = timezone.now()
        _require_live(change, targets, now)
        scribe = Scribe(event=event, now=now)
        earlier = Memory.objects.filter(pk=memory_id).first() if memory_id else None
        made = _carry_out(change, targets, scribe, memory_id or new_id(), earlier)
        scribe.finish(priority)
    return made


def _require_live(change: Change, targets: Mapping[UUID, Memory], now: datetime) -> None:
    for target_id in change.target_ids:
        memory = targets.get(target_id)
        if memory is None or not memory.is_live(now):
            raise MemoryNotFound(f"There is no live memory {target_id}.")


def _carry_out(
    change: Change,
    targets: Mapping[UUID, Memory],
    scribe: Scribe,
    new: UUID,
    earlier: Memory | None,
) -> Memory | None:
    named = [targets[target_id] for target_id in sorted(set(change.target_ids))]
    match change:
        case Remember():
            made = _remembered(change, new, scribe.now)
            scribe.make(made, "remembered", earlier)
            scribe.retire(named, made)
            return made
        case Merge():
            made = _merged(change, new, scribe.now)
            scribe.make(made, "merged", earlier)
            scribe.retire(named, made)
            return made
        case Revise():
            (memory,) = named
            memory.content, memory.tags = change.content, list(change.tags)
            memory.metadata, memory.expires_at = dict(change.metadata), change.expires_at
            memory.source = source_of(change.metadata)
            scribe.save(memory, "revised")
        case Forget():
            for memory in named:
                memory.state = Memory.State.FORGOTTEN
                scribe.save(memory, "forgotten")
        case Expire():
            instant = change.expires_at or scribe.now
            for memory in named:
                memory.expires_at = instant
                if instant <= scribe.now:
                    memory.state = Memory.State.EXPIRED
                scribe.save(memory, "expiry set")
    return None


class Scribe:
    """Writes memories and their revisions, and remembers what the index must learn."""

    def __init__(self, *, event: audit.Event, now: datetime) -> None:
        self.event, self.now = event, now
        self.touched: list[Memory] = []
        self._revisions: list[MemoryRevision] = []

    def make(self, memory: Memory, action: str, earlier: Memory | None) -> None:
        if earlier is None:
            memory.save(force_insert=True)
            self._note(memory, action)
        else:
            memory.version, memory.created_at = earlier.version, earlier.created_at
            self.save(memory, action)

    def retire(self, memories: Iterable[Memory], successor: Memory) -> None:
        for memory in memories:
            memory.state, memory.superseded_by = Memory.State.RETIRED, successor
            self.save(memory, "retired")

    def save(self, memory: Memory, action: str) -> None:
        memory.version += 1
        memory.updated_at = self.now
        memory.save(force_update=True)
        self._note(memory, action)

    def _note(self, memory: Memory, action: str) -> None:
        self.touched.append(memory)
        self._revisions.append(revision_of(memory, action, self.event, self.now))

    def finish(self, priority: IndexEntry.Priority) -> None:
        MemoryRevision.objects.bulk_create(self._revisions)
        IndexEntry.objects.want(
            self.touched, collection=collection_name(), priority=priority
        )
        objects = audit.memory_objects(memory.pk for memory in self.touched)
        audit.append([replace(self.event, objects=(*self.event.objects, *objects))])
        nudge_after_commit()


def revision_of(
    memory: Memory, action: str, event: audit.Event, now: datetime
) -> MemoryRevision:
    """The memory as it is now, with who let it become so."""
    return MemoryRevision(
        memory=memory,
        version=memory.version,
        action=action,
        state=memory.state,
        content=memory.content,
        tags=memory.tags,
        metadata=memory.metadata,
        expires_at=memory.expires_at,
        proposal_id=event.proposal_id,
        actor_kind=event.actor.kind,
        actor_id=event.actor.id,
        actor_label=event.actor.label,
        at=now,
    )


def _remembered(change: Remember, new: UUID, now: datetime) -> Memory:
    return Memory(
        pk=new,
        agent_id=change.agent,
        memory_type=change.memory_type,
        content=change.content,
        tags=list(change.tags),
        metadata=dict(change.metadata),
        source=source_of(change.metadata),
        user_id=change.user_id,
        expires_at=change.expires_at,
        created_at=now,
        updated_at=now,
    )


def _merged(change: Merge, new: UUID, now: datetime) -> Memory:
    if change.content is None:
        raise ValueError("A merge is drafted, with its content, before it is applied.")
    sources = [str(memory_id) for memory_id in change.memory_ids]
    metadata = {**change.metadata, "amp_merged_from": sources}
    return Memory(
        pk=new,
        agent_id=change.agent,
        memory_type=change.memory_type,
        content=change.content,
        tags=list(change.tags),
        metadata=metadata,
        source=source_of(metadata),
        expires_at=change.expires_at,
        created_at=now,
        updated_at=now,
    )


def source_of(metadata: Mapping[str, object]) -> str:
    """The source that the agent claims, where it is one of those that are known, or ""."""
    source = metadata.get("source")
    return source if isinstance(source, str) and source in SOURCES else ""
