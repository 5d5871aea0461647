"""The way of claimed entries into the index, a batch at a time."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import groupby

from django.conf import settings
from django.db.models import F, Value
from django.db.models.functions import Least
from django.utils import timezone

from memories import collections
from memories.embedding import (
    EmbedderUnavailable,
    EmbeddingFailed,
    Vector,
    configured_kind,
    load_embedder,
)
from memories.index import IndexUnavailable, MemoryIndex, Point, get_index, serving
from memories.models import Collection, IndexEntry, Memory
from memories.writing import writing

logger = logging.getLogger(__name__)

LONGEST_PAUSE = timedelta(hours=1)
SAY_SECONDS = 30.0  # between two lines about a collection that is being built

_said_at = -math.inf


def drain(seconds: float = math.inf) -> tuple[int, bool]:
    """Write what is due until nothing is, or until that time is over; return the entries
    written, and whether more was due.

    Batch by batch, what answers recall comes first; then the collection that is built
    beside it, if there is one, which takes its place once it is complete.
    """
    building, ends = collections.settle(), time.monotonic() + seconds
    lacking = collections.catching_up(building) if building else iter(())
    written = 0
    try:
        while (sent := _step(building, lacking)) is not None:
            written += sent
            if time.monotonic() > ends:
                return written, True
    except (IndexUnavailable, EmbedderUnavailable) as error:
        logger.warning("the index cannot be written: %s", error)
        return written, False
    _tidy_up(written)
    return written, False


def _step(building: Collection | None, lacking: Iterator[int]) -> int | None:
    """Write a batch, or do a bit of what building takes; return the entries written, None
    when there is nothing left to do."""
    for collection in filter(None, (serving(), building)):
        if entries := _claim(collection):
            return _send(entries, collection)
    if building is None or collections.is_rejected(building):
        return None
    if next(lacking, 0):
        _say(building)
        return 0
    collections.finish(building)
    return None


def _claim(collection: Collection) -> list[IndexEntry]:
    if not IndexEntry.objects.due(collection.name).exists():
        return []  # without this every idle look would take SQLite's write lock
    with writing():
        return IndexEntry.objects.claim(
            settings.INDEX_BATCH,
            collection=collection.name,
            lease=timedelta(seconds=settings.INDEX_LEASE_SECONDS),
        )


def _send(entries: Sequence[IndexEntry], collection: Collection) -> int:
    try:
        sent = _Batch(entries, collection, get_index(collection)).run()
    except (IndexUnavailable, EmbedderUnavailable):
        _release(entries)
        raise
    if collection.state == Collection.State.BUILDING:
        collections.reconsider()
        _say(collection)
    return sent


def _say(building: Collection) -> None:
    global _said_at
    if time.monotonic() > _said_at + SAY_SECONDS:
        _said_at = time.monotonic()
        logger.info("building %s: %s", building, collections.building_progress())


def _release(entries: Sequence[IndexEntry]) -> None:
    """Give a batch back after the index failed: soon again, not after the whole lease."""
    pause = min(2 ** min(entries[0].attempts, 6), settings.INDEX_LEASE_SECONDS)
    with writing():
        IndexEntry.objects.hold(entry.pk for entry in entries).update(
            due_at=timezone.now() + timedelta(seconds=pause)
        )


def _tidy_up(written: int) -> None:
    try:
        if written:
            get_index().flush()
        collections.drop_retired()
    except IndexUnavailable as error:
        logger.warning("the index could not be tidied up: %s", error)


class _Batch:
    """Some claimed entries on their way into a collection."""

    def __init__(
        self, entries: Sequence[IndexEntry], collection: Collection, index: MemoryIndex
    ) -> None:
        self.entries, self.kind, self.index = entries, collection.kind, index
        self.is_configured = self.kind == configured_kind()
        self.now = timezone.now()
        self.memories = Memory.objects.in_bulk([entry.memory_id for entry in entries])

    def run(self) -> int:
        """Entries written. Raises ``IndexUnavailable`` or ``EmbedderUnavailable``; then none
        is recorded as written, and those that were are only written again."""
        alive = [e for e in self.entries if self._memory(e).is_live(self.now)]
        gone = [e for e in self.entries if not self._memory(e).is_live(self.now)]
        embedded = self._embed([self._memory(entry) for entry in alive])
        failed = {
            entry.pk: reason
            for entry, (_, reason) in zip(alive, embedded, strict=True)
            if reason
        }
        put = self._put(
            [
                (entry, _point(self._memory(entry), vector))
                for entry, (vector, _) in zip(alive, embedded, strict=True)
            ]
        )
        if gone:
            self.index.drop([entry.memory_id for entry in gone])
        done = [entry for entry in put if entry.pk not in failed]
        self._record([*done, *gone])
        for entry in alive:
            if entry.pk in failed:
                self._postpone(entry, failed[entry.pk])
        return len(done) + len(gone)

    def _memory(self, entry: IndexEntry) -> Memory:
        return self.memories[entry.memory_id]

    def _embed(self, memories: list[Memory]) -> list[tuple[Vector | None, str]]:
        """For each memory its vector and "", or None and why it has none. One text that
        cannot be embedded does not hold up the others."""
        if not memories:
            return []
        try:
            embedder = load_embedder(self.kind, fetch=self.is_configured)
            vectors = embedder.embed_passages([memory.content for memory in memories])
        except EmbedderUnavailable:
            if self.is_configured:
                raise
            # Of a collection that is about to be replaced: until then the words find it.
            return [(None, "")] * len(memories)
        except EmbeddingFailed as error:
            reason = str(error)
        except Exception as error:
            if len(memories) == 1:
                logger.exception("cannot embed memory %s", memories[0].pk)
            reason = f"the embedder failed: {type(error).__name__}"
        else:
            return [(vector, "") for vector in vectors]
        if len(memories) == 1:
            return [(None, reason)]
        return [pair for memory in memories for pair in self._embed([memory])]

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
            for version, entries in groupby(sorted(sent, key=self._version), self._version):
                IndexEntry.objects.filter(pk__in=[entry.pk for entry in entries]).update(
                    # Never ahead of what is wanted, which the row's constraint holds.
                    indexed_version=Least(Value(version), F("wanted_version")),
                    due_at=self.now,
                    attempts=0,
                    last_error="",
                )

    def _version(self, entry: IndexEntry) -> int:
        return self._memory(entry).version

    def _postpone(self, entry: IndexEntry, reason: str) -> None:
        pause = min(timedelta(seconds=10 * 2 ** min(entry.attempts, 10)), LONGEST_PAUSE)
        with writing():
            IndexEntry.objects.filter(pk=entry.pk).update(
                due_at=self.now + pause, last_error=reason
            )


def _point(memory: Memory, vector: Vector | None) -> Point:
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
