"""The search index: a copy of what the database holds, and never the only one."""

from __future__ import annotations

import time
from threading import Lock

from django.conf import settings

from memories.embedding import embedder_kind
from memories.index.base import (
    IndexInUse,
    IndexUnavailable,
    Leg,
    MemoryIndex,
    Point,
    Query,
)

__all__ = [
    "IndexInUse",
    "IndexUnavailable",
    "Leg",
    "MemoryIndex",
    "Point",
    "Query",
    "close_index",
    "collection_name",
    "get_index",
]

PAUSE_SECONDS = (
    1.0  # after the index could not be opened; a dead server takes five to say so
)

_lock = Lock()
_index: MemoryIndex | None = None
_failure: tuple[float, IndexUnavailable] | None = None  # with its monotonic time


def collection_name() -> str:
    """Carries the embedder: vectors of two embedders never meet in one collection."""
    kind = embedder_kind()
    return f"memories-{kind.name}-{kind.dimension}"


def get_index() -> MemoryIndex:
    """This process's index, opened on first use. Raises ``IndexUnavailable`` while it
    cannot be opened; it is tried again, but not by each of those who wait meanwhile."""
    global _index, _failure
    with _lock:
        if _index is None:
            if _failure and time.monotonic() < _failure[0] + PAUSE_SECONDS:
                raise IndexUnavailable(str(_failure[1])) from _failure[1]
            index = _adapter()
            try:
                index.ensure()
            except IndexUnavailable as error:
                _failure = (time.monotonic(), error)
                raise
            _index, _failure = index, None
        return _index


def close_index() -> None:
    """Release the index; the next ``get_index`` opens it again."""
    global _index, _failure
    with _lock:
        index, _index, _failure = _index, None, None
    if index is not None:
        index.close()


def _adapter() -> MemoryIndex:
    dimension = embedder_kind().dimension
    if settings.QDRANT_URL:
        from memories.index.server import ServerIndex

        return ServerIndex(
            settings.QDRANT_URL,
            collection=collection_name(),
            dimension=dimension,
            api_key=settings.QDRANT_API_KEY,
            timeout_seconds=settings.QDRANT_TIMEOUT_SECONDS,
        )
    from memories.index.edge import EdgeIndex

    return EdgeIndex(settings.DATA_DIR / "index" / collection_name(), dimension=dimension)
