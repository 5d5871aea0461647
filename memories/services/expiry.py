"""Writing down what the clock already made true."""

from __future__ import annotations

from collections import defaultdict
from uuid import UUID

from django.utils import timezone

from memories import audit
from memories.actors import SYSTEM
from memories.index import collection_name
from memories.models import IndexEntry, Memory, MemoryRevision
from memories.nudge import nudge_after_commit
from memories.services.apply import revision_of
from memories.writing import writing


def expire_due(limit: int = 500) -> int:
    """Mark up to ``limit`` memories whose instant has passed; return how many.

    Nothing waits for this: every read checks the clock. It frees the index.
    """
    now = timezone.now()
    due = Memory.objects.filter(state=Memory.State.LIVE, expires_at__lte=now)
    if not due.exists():
        return 0  # without taking SQLite's write lock
    with writing():
        locked = due.order_by("pk").select_for_update(skip_locked=True, of=("self",))
        by_agent: dict[UUID, list[Memory]] = defaultdict(list)
        for memory in locked[:limit]:
            by_agent[memory.agent_id].append(memory)
        events, revisions = [], []
        for agent, memories in by_agent.items():
            event = audit.Event(
                action="memories.expired",
                actor=SYSTEM,
                agent=agent,
                objects=audit.memory_objects(memory.pk for memory in memories),
            )
            events.append(event)
            for memory in memories:
                memory.state, memory.version = Memory.State.EXPIRED, memory.version + 1
                memory.updated_at = now
                revisions.append(revision_of(memory, "expired", event, now))
        expired = [memory for memories in by_agent.values() for memory in memories]
        if not expired:
            return 0
        Memory.objects.bulk_update(expired, ["state", "version", "updated_at"])
        MemoryRevision.objects.bulk_create(revisions)
        IndexEntry.objects.want(
            expired, collection=collection_name(), priority=IndexEntry.Priority.REBUILD
        )
        audit.append(events)
        nudge_after_commit()
    return len(expired)
