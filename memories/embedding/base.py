"""What an embedder promises."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]


class EmbeddingFailed(Exception):
    """No vector for this text now; the embedder is down or answered with nonsense."""


class Embedder(Protocol):
    """Texts to unit vectors of ``dimension`` float32. Raises ``EmbeddingFailed``.

    ``floor`` and ``ceiling`` are the median cosines of unrelated and of near-identical
    pairs, as ``bench/relevance.py`` measures them.
    """

    @property
    def name(self) -> str: ...
    @property
    def dimension(self) -> int: ...
    @property
    def floor(self) -> float: ...
    @property
    def ceiling(self) -> float: ...

    def embed_passages(self, texts: list[str]) -> list[Vector]:
        """One vector for each text to be found, in order."""

    def embed_query(self, text: str) -> Vector:
        """The vector to search with."""


def checked(vector: Vector) -> Vector:
    """The vector at exactly unit length. Raises ``EmbeddingFailed`` if it is far from it
    or not finite: the index would take such a vector without a word."""
    norm = float(np.linalg.norm(vector))
    if not abs(norm - 1) < 1e-2:  # also true for NaN
        raise EmbeddingFailed(f"The embedder answered with a vector of length {norm}.")
    unit: Vector = vector / np.float32(norm)
    return unit
