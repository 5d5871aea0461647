"""Periodic work on memories: no arguments, no open transaction on the network, safe to
run twice, late, or in two workers."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from datetime import datetime, timedelta

from celery import shared_task
from django.conf import settings
from django.db.models import F
from django.db.models.functions import Least
from django.utils import timezone

from memories import idempotency, services
from memories.embedding import EmbeddingFailed, Vector, get_embedder
from memories.index import IndexUnavailable, MemoryIndex, Point, collection_name, get_index
from memories.models import IndexEntry, Memory
from memories.writing import writing

logger = logging.getLogger(__name__)

LONGEST_PAUSE = timedelta(hours=1)


@shared_task(ignore_result=True)
def drain_index() -> int:
    """Bring the index up to date with the database; return entries written.

    The work is in the table, not in the message.
    """
    lease = timedelta(seconds=settings.INDEX_LEASE_SECONDS)
    collection = collection_name()
    written = 0
    while entries := _claim(collection, lease):
        try:
            written += _Batch(entries, get_index()).run()
        except IndexUnavailable as error:
            logger.warning("the index cannot be written: %s", error)
            _release(entries)
            return written
    if written:
        _flush()
    return written


@shared_task(ignore_result=True)
def expire_memories() -> int:
    """Write down the expiries that the clock already made true; return how many."""
    return services.expire_due()


@shared_task(ignore_result=True)
def reconcile_index() -> int:
    """Repair what differs between database and index, compared id by id; return how many
    points were missing or had no live memory."""
    from memories import reindex  # it drains, so it imports this module

    try:
        difference = reindex.compare()
        reindex.repair(difference)
    except IndexUnavailable as error:
        logger.warning("the index cannot be compared: %s", error)
        return 0
    found = len(difference.missing) + len(difference.orphans)
    if found:
        logger.warning(
            "the index lacked %d points and had %d too many; repaired",
            len(difference.missing),
            len(difference.orphans),
        )
    return found


@shared_task(ignore_result=True)
def forget_idempotency_keys() -> int:
    """Let go of answers kept for retries that can no longer come; return how many."""
    return idempotency.forget_expired()


def _claim(collection: str, lease: timedelta) -> list[IndexEntry]:
    if not IndexEntry.objects.due(collection).exists():
        return []  # without this every idle look would take SQLite's write lock
    with writing():
        return IndexEntry.objects.claim(
            settings.INDEX_BATCH, collection=collection, lease=lease
        )


def _release(entries: Sequence[IndexEntry]) -> None:
    """Give a batch back after the index failed: soon again, not after the whole lease."""
    pause = min(2 ** min(entries[0].attempts, 6), settings.INDEX_LEASE_SECONDS)
    with writing():
        IndexEntry.objects.filter(pk__in=[entry.pk for entry in entries]).update(
            due_at=timezone.now() + timedelta(seconds=pause)
        )


def _flush() -> None:
    try:
        get_index().flush()
    except IndexUnavailable as error:
        logger.warning("the index could not be flushed: %s", error)


class _Batch:
    """Some claimed entries on their way into the index."""

    def __init__(self, entries: Sequence[IndexEntry], index: MemoryIndex) -> None:
        self.entries, self.index = entries, index
        self.now = timezone.now()
        self.memories = Memory.objects.in_bulk([entry.memory_id for entry in entries])

    def run(self) -> int:
        """Entries written. Raises ``IndexUnavailable``; then none is recorded as written,
        and those that were are only written again."""
        sent: list[tuple[IndexEntry, int]] = []
        points: list[Point] = []
        gone = []
        for entry in self.entries:
            memory = self.memories[entry.memory_id]
            if not memory.is_live(self.now):
                gone.append(memory.pk)
            elif (vector := self._embedded(entry, memory)) is not None:
                points.append(_point(memory, vector))
            else:
                continue
            sent.append((entry, memory.version))
        if points:
            self.index.put(points)
        if gone:
            self.index.drop(gone)
        self._record(sent)
        return len(sent)

    def _embedded(self, entry: IndexEntry, memory: Memory) -> Vector | None:
        """None when this memory's own text cannot be embedded: the others go on."""
        try:
            (vector,) = get_embedder().embed_passages([memory.content])
        except EmbeddingFailed as error:
            reason = str(error)
        except Exception as error:
            logger.exception("cannot embed memory %s", memory.pk)
            reason = f"the embedder failed: {type(error).__name__}"
        else:
            return vector
        _postpone(entry, reason, self.now)
        return None

    def _record(self, sent: Sequence[tuple[IndexEntry, int]]) -> None:
        """Note the versions that were sent. A memory that changed meanwhile is still
        behind its wanted version, and due again at once."""
        with writing():
            for entry, version in sent:
                IndexEntry.objects.filter(pk=entry.pk).update(
                    # Never ahead of what is wanted, which the row's constraint holds.
                    indexed_version=Least(version, F("wanted_version")),
                    due_at=self.now,
                    attempts=0,
                    last_error="",
                )


def _postpone(entry: IndexEntry, reason: str, now: datetime) -> None:
    pause = min(timedelta(seconds=10 * 2 ** min(entry.attempts, 10)), LONGEST_PAUSE)
    with writing():
        IndexEntry.objects.filter(pk=entry.pk).update(due_at=now + pause, last_error=reason)


def _point(memory: Memory, vector: Vector) -> Point:
    ends = memory.expires_at
    return Point(
        id=memory.pk,
        agent_id=str(memory.agent_id),
        memory_type=memory.memory_type,
        user_id=memory.user_id or None,
        tags=tuple(memory.tags),
        expires_at=math.ceil(ends.timestamp()) if ends else None,
        version=memory.version,
        text=memory.content,
        dense=vector,
    )
