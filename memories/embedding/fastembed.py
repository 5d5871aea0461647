"""Qdrant's fastembed: a model of your choice in this process, downloaded once.

Not among the requirements: it brings 300 MB of onnxruntime and the like.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from django.core.exceptions import ImproperlyConfigured

from memories.embedding.base import (
    EmbedderUnavailable,
    EmbeddingFailed,
    Kind,
    Vector,
    scaled,
)

if TYPE_CHECKING:
    from fastembed import TextEmbedding

INSTALL = "pip install fastembed==0.9.1"


@cache
def dimension_of(model: str) -> int:
    """Known without loading the model. Raises ``ImproperlyConfigured``."""
    for known in _library().list_supported_models():
        if known["model"].casefold() == model.casefold():
            return int(known["dim"])
    raise ImproperlyConfigured(
        f"EMBEDDER_MODEL is {model!r}, which is none of fastembed's models; "
        "BAAI/bge-small-en-v1.5 is one."
    )


class FastEmbed:
    """Threads may share it. The model is read from ``folder``; ``fetch`` lets it be
    downloaded there, which takes minutes, or half of one where there is no network."""

    name = "fastembed"

    def __init__(
        self,
        kind: Kind,
        *,
        folder: Path,
        fetch: bool,
        characters: int,
        floor: float | None,
        ceiling: float | None,
    ) -> None:
        self.dimension = kind.dimension
        self.floor, self.ceiling = floor, ceiling
        self._characters = characters
        self._model = _loaded(kind.model, folder, fetch=fetch)

    def embed_passages(self, texts: list[str]) -> list[Vector]:
        cut = [text[: self._characters] for text in texts]
        return self._vectors(cut, is_query=False)

    def embed_query(self, text: str) -> Vector:
        (vector,) = self._vectors([text[: self._characters]], is_query=True)
        return vector

    def _vectors(self, texts: list[str], *, is_query: bool) -> list[Vector]:
        # Some models put another instruction before a question than before a passage.
        ask = self._model.query_embed if is_query else self._model.passage_embed
        try:
            found = list(ask(texts))
        except Exception as error:  # onnxruntime's own errors share no other base
            raise EmbeddingFailed(
                f"The embedder fastembed failed: {type(error).__name__}."
            ) from error
        return [scaled(vector, self.dimension) for vector in found]


def _library() -> type[TextEmbedding]:
    try:
        from fastembed import TextEmbedding
    except ImportError as error:
        raise ImproperlyConfigured(
            f"AMPSITE_EMBEDDER=fastembed needs a package that is not installed: {INSTALL}"
        ) from error
    library: type[TextEmbedding] = TextEmbedding
    return library


def _loaded(model: str, folder: Path, *, fetch: bool) -> TextEmbedding:
    try:
        make = _library()
    except ImproperlyConfigured as error:
        raise EmbedderUnavailable(str(error)) from error
    for local in (True, False) if fetch else (True,):
        try:
            return make(model, cache_dir=str(folder), threads=1, local_files_only=local)
        except (ValueError, OSError, RuntimeError) as error:
            failure = error
    raise EmbedderUnavailable(
        f"The model {model} of fastembed is not in {folder} and cannot be fetched: start "
        "once with a network, or copy that folder from a machine that has one."
    ) from failure
