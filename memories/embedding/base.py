"""What an embedder promises."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]

# Of a server that is busy or away, before it counts as unavailable.
PASSAGE_ATTEMPTS = 3
QUERY_ATTEMPTS = 2  # someone waits


class EmbeddingFailed(Exception):
    """No vector for this text; the embedder refuses it or answered with nonsense."""


class EmbedderUnavailable(EmbeddingFailed):
    """No vector for any text now: the embedder cannot be loaded or reached. The texts are
    not to blame and can be sent again."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What made a vector. Two vectors compare only where their kinds are equal."""

    embedder: str  # as AMPSITE_EMBEDDER names it
    model: str  # "" where the embedder is its one model
    dimension: int

    def __str__(self) -> str:
        return " ".join(filter(None, (self.embedder, self.model, str(self.dimension))))


class Embedder(Protocol):
    """Texts to unit vectors of ``dimension`` float32. Raises ``EmbeddingFailed``, of which
    ``EmbedderUnavailable`` says that no text would fare better.

    ``floor`` and ``ceiling`` are the median cosines of unrelated and of near-identical
    pairs, as ``bench/relevance.py`` measures them; None where nobody did.
    """

    @property
    def name(self) -> str: ...
    @property
    def dimension(self) -> int: ...
    @property
    def floor(self) -> float | None: ...
    @property
    def ceiling(self) -> float | None: ...

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


def scaled(values: Sequence[float] | NDArray[np.floating], dimension: int) -> Vector:
    """The values of a vector of any length, at unit length. Raises ``EmbeddingFailed``
    for another dimension, for zero and for what is not finite."""
    try:
        vector = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise EmbeddingFailed("The embedder answered with something else.") from error
    if vector.shape != (dimension,):
        raise EmbeddingFailed(
            f"The embedder answered with a vector of shape {vector.shape}; "
            f"the index holds ({dimension},). Is EMBEDDER_DIMENSION that of EMBEDDER_MODEL?"
        )
    largest = float(np.abs(vector).max())
    if not 0 < largest < np.inf:  # also true for NaN
        raise EmbeddingFailed(f"The embedder answered with a vector of {largest}.")
    vector = vector / largest  # or the square of a large number would be infinite
    return checked((vector / np.linalg.norm(vector)).astype(np.float32))
