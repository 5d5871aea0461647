"""The search index: a copy of what the database holds, and never the only one."""

from __future__ import annotations

import time
from threading import Lock

from django.conf import settings

from memories.embedding import configured_kind
from memories.index.base import (
    IndexInUse,
    IndexUnavailable,
    Leg,
    MemoryIndex,
    Point,
    Query,
)
from memories.models.collections import Collection

__all__ = [
    "IndexInUse",
    "IndexUnavailable",
    "Leg",
    "MemoryIndex",
    "Point",
    "Query",
    "close_index",
    "collection_name",
    "discard",
    "get_index",
    "look_again",
    "serving",
]

PAUSE_SECONDS = (
    1.0  # after the index could not be opened; a dead server takes five to say so
)
# For which a process takes for granted which collection answers. What it writes meanwhile
# for one that was retired is caught up with before that one is dropped.
SERVING_SECONDS = 2.0

_lock = Lock()  # never held while an index is opened or deleted: that may take seconds
_turns: dict[str, Lock] = {}  # of those who open or delete one collection
_open: dict[str, MemoryIndex] = {}
_failures: dict[str, tuple[float, IndexUnavailable]] = {}  # with their monotonic time
_serving: tuple[float, Collection] | None = None  # with the time of the look


def serving() -> Collection:
    """The collection that answers recall, which need not be of the embedder that the
    settings name: that one's may still be built beside it."""
    global _serving
    known, now = _serving, time.monotonic()
    if known and (_is_alone() or now < known[0] + SERVING_SECONDS):
        return known[1]
    found = Collection.objects.serving() or Collection.of(
        configured_kind(), Collection.State.SERVING
    )
    _serving = (now, found)
    return found


def look_again() -> None:
    """Forget which collection answered: another one may have taken its place."""
    global _serving
    _serving = None


def collection_name() -> str:
    """The name of the collection that answers recall."""
    return serving().name


def get_index(collection: Collection | None = None) -> MemoryIndex:
    """This process's index of a collection, by default of the one that answers, opened on
    first use. Raises ``IndexUnavailable`` while it cannot be opened; it is tried again, but
    not by each of those who wait meanwhile."""
    collection = collection or serving()
    name = collection.name
    if index := _open.get(name):
        return index
    with _turn(name):
        if index := _open.get(name):
            return index
        failure = _failures.get(name)
        if failure and time.monotonic() < failure[0] + PAUSE_SECONDS:
            raise IndexUnavailable(str(failure[1])) from failure[1]
        index = _adapter(collection)
        try:
            index.ensure()
        except IndexUnavailable as error:
            _failures[name] = (time.monotonic(), error)
            raise
        with _lock:
            _open[name] = index
            _failures.pop(name, None)
        return index


def discard(collection: Collection) -> None:
    """Delete a collection that nobody asks any more, with all its points; safe to repeat.
    Raises ``IndexUnavailable``."""
    with _turn(collection.name):
        with _lock:
            index = _open.pop(collection.name, None)
        (index or _adapter(collection)).destroy()


def close_index() -> None:
    """Release every collection; the next ``get_index`` opens its own again."""
    with _lock:
        indexes = list(_open.values())
        _open.clear()
        _failures.clear()
        look_again()
    for index in indexes:
        index.close()


def _turn(name: str) -> Lock:
    with _lock:
        return _turns.setdefault(name, Lock())


def _is_alone() -> bool:
    """Whether only this process can put another collection in the place of the one that
    answers: it owns the index."""
    return not settings.QDRANT_URL or settings.QDRANT_URL.startswith("local:")


def _adapter(collection: Collection) -> MemoryIndex:
    if settings.QDRANT_URL:
        from memories.index.server import ServerIndex

        return ServerIndex(
            settings.QDRANT_URL,
            collection=collection.name,
            dimension=collection.dimension,
            api_key=settings.QDRANT_API_KEY,
            timeout_seconds=settings.QDRANT_TIMEOUT_SECONDS,
        )
    from memories.index.edge import EdgeIndex

    return EdgeIndex(
        settings.DATA_DIR / "index" / collection.name, dimension=collection.dimension
    )
