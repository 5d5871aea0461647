"""Recent query vectors, so that a repeated question costs no embedding."""

from __future__ import annotations

from functools import lru_cache

from memories.embedding.base import Embedder, Vector

QUERIES = 1_024
# Longer texts are rarely asked twice, and as keys they would hold megabytes.
CHARACTERS = 1_000


class CachedEmbedder:
    """An embedder that remembers its last queries; threads may share it."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.name, self.dimension = embedder.name, embedder.dimension
        self.floor, self.ceiling = embedder.floor, embedder.ceiling
        # A failure raises and so is never remembered.
        self._recent = lru_cache(maxsize=QUERIES)(self._read_only_query)

    def embed_passages(self, texts: list[str]) -> list[Vector]:
        return self._embedder.embed_passages(texts)

    def embed_query(self, text: str) -> Vector:
        """Read-only, because the next caller gets the same array."""
        if len(text) > CHARACTERS:
            return self._read_only_query(text)
        return self._recent(text)

    def _read_only_query(self, text: str) -> Vector:
        vector = self._embedder.embed_query(text)
        vector.setflags(write=False)
        return vector
