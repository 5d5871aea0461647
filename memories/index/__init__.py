"""The search index: a copy of what the database holds, and never the only one."""

from __future__ import annotations

from threading import Lock

from django.conf import settings

from memories.embedding import get_embedder
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

_lock = Lock()
_index: MemoryIndex | None = None


def collection_name() -> str:
    """Carries the embedder: vectors of two embedders never meet in one collection."""
    embedder = get_embedder()
    return f"memories-{embedder.name}-{embedder.dimension}"


def get_index() -> MemoryIndex:
    """This process's index, opened on first use. Raises ``IndexUnavailable`` while it
    cannot be opened; the next call tries again."""
    global _index
    with _lock:
        if _index is None:
            index = _adapter()
            index.ensure()
            _index = index
        return _index


def close_index() -> None:
    """Release the index; the next ``get_index`` opens it again."""
    global _index
    with _lock:
        index, _index = _index, None
    if index is not None:
        index.close()


def _adapter() -> MemoryIndex:
    dimension = get_embedder().dimension
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
