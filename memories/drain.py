"""The way of claimed entries into the index, a batch at a time."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Sequence
from datetime import timedelta

from django.conf import settings
from django.db.models import F
from django.db.models.functions import Least
from django.utils import timezone

from memories.embedding import EmbeddingFailed, Vector, get_embedder
from memories.index import IndexUnavailable, MemoryIndex, Point, collection_name, get_index
from memories.models import IndexEntry, Memory
from memories.writing import writing

logger = logging.getLogger(__name__)

LONGEST_PAUSE = timedelta(hours=1)


def drain(seconds: float = math.inf) -> tuple[int, bool]:
    """Write what is due until nothing is, or until that time is over; return the entries
    written, and whether more was due."""
    lease = timedelta(seconds=settings.INDEX_LEASE_SECONDS)
    collection, ends = collection_name(), time.monotonic() + seconds
    written = 0
    while entries := _claim(collection, lease):
        try:
            written += _Batch(entries, get_index()).run()
        except IndexUnavailable as error:
            logger.warning("the index cannot be written: %s", error)
            _release(entries)
            return written, False
        if time.monotonic() > ends:
            return written, True
    if written:
        _flush()
    return written, False


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
        IndexEntry.objects.hold(entry.pk for entry in entries).update(
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
        alive = [e for e in self.entries if self._memory(e).is_live(self.now)]
        gone = [e for e in self.entries if not self._memory(e).is_live(self.now)]
        put = self._put([pair for entry in alive if (pair := self._embedded(entry))])
        if gone:
            self.index.drop([entry.memory_id for entry in gone])
        self._record([*put, *gone])
        return len(put) + len(gone)

    def _memory(self, entry: IndexEntry) -> Memory:
        return self.memories[entry.memory_id]

    def _embedded(self, entry: IndexEntry) -> tuple[IndexEntry, Point] | None:
        """None when this memory's own text cannot be embedded: the others go on."""
        memory = self._memory(entry)
        try:
            (vector,) = get_embedder().embed_passages([memory.content])
        except EmbeddingFailed as error:
            reason = str(error)
        except Exception as error:
            logger.exception("cannot embed memory %s", memory.pk)
            reason = f"the embedder failed: {type(error).__name__}"
        else:
            return entry, _point(memory, vector)
        self._postpone(entry, reason)
        return None

    def _put(self, pairs: Sequence[tuple[IndexEntry, Point]]) -> list[IndexEntry]:
        """The entries whose points were taken. One that the index refuses for itself does
        not hold up the others."""
        try:
            if pairs:
                self.index.put([point for _, point in pairs])
        except ValueError as error:
            if len(pairs) > 1:
                return [entry for pair in pairs for entry in self._put([pair])]
            self._postpone(pairs[0][0], f"the index refused it: {error}")
            return []
        return [entry for entry, _ in pairs]

    def _record(self, sent: Sequence[IndexEntry]) -> None:
        """Note the versions that were sent. A memory that changed meanwhile is still
        behind its wanted version, and due again at once."""
        with writing():
            IndexEntry.objects.hold(entry.pk for entry in sent)
            for entry in sent:
                IndexEntry.objects.filter(pk=entry.pk).update(
                    # Never ahead of what is wanted, which the row's constraint holds.
                    indexed_version=Least(self._memory(entry).version, F("wanted_version")),
                    due_at=self.now,
                    attempts=0,
                    last_error="",
                )

    def _postpone(self, entry: IndexEntry, reason: str) -> None:
        pause = min(timedelta(seconds=10 * 2 ** min(entry.attempts, 10)), LONGEST_PAUSE)
        with writing():
            IndexEntry.objects.filter(pk=entry.pk).update(
                due_at=self.now + pause, last_error=reason
            )


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
