"""The index's door: a Protocol and a few values, no Qdrant type in sight."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol, TypeVar
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

DENSE, BM25 = "dense", "bm25"  # names of the two vectors, and of the two legs

# One engine call holds the GIL until it returns; more points would stall every request.
BATCH = 250

T = TypeVar("T")
Vector = NDArray[np.float32] | Sequence[float]


class IndexUnavailable(Exception):
    """The index cannot answer or be written now; nothing is known to have changed."""


class IndexInUse(IndexUnavailable):
    """Another process owns the index on this disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One memory as the index stores it. ``id`` is the memory's own id, so a repeated
    write replaces the point instead of adding a second one."""

    id: UUID
    agent_id: str
    memory_type: str
    user_id: str | None
    tags: tuple[str, ...]
    expires_at: int | None  # Unix seconds; None: never
    version: int
    text: str
    dense: Vector | None  # unit length; None: found by its words alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A question to both legs. ``dense=None`` leaves the dense leg out; ``tags`` asks for
    points that carry at least one of them; ``now`` is Unix seconds."""

    agent_id: str
    memory_types: tuple[str, ...]
    text: str
    dense: Vector | None
    tags: tuple[str, ...] = ()
    user_id: str | None = None
    now: int
    limit: int  # hits of each leg

    def __post_init__(self) -> None:
        if not self.memory_types or self.limit < 1:
            raise ValueError("a query names at least one memory type and asks for a hit")


@dataclass(frozen=True, slots=True)
class Leg:
    """What one leg found, best first. ``dense`` scores are cosines, ``bm25`` scores are
    positive and compare only within this leg."""

    name: str
    hits: tuple[tuple[UUID, float], ...]


class MemoryIndex(Protocol):
    """Every method raises ``IndexUnavailable`` when the engine fails or is closed."""

    def ensure(self) -> None:
        """Open or create the collection and its payload indexes; safe to repeat."""

    def put(self, points: Sequence[Point]) -> None:
        """Write or replace. ``ValueError`` for a vector that is not finite, not of unit
        length or not of the index's dimension; then none of the points is written."""

    def drop(self, ids: Iterable[UUID]) -> None:
        """Remove; an unknown id is no error."""

    def search(self, query: Query) -> tuple[Leg, ...]:
        """Both legs under the same filter. The dense leg is missing only when the query
        has no vector; a leg that was asked and found nothing is there, empty."""

    def similarities(self, ids: Iterable[UUID], dense: Vector) -> dict[UUID, float]:
        """Cosine of each stored vector with ``dense``; ids that are unknown, or stored
        without a vector, are left out."""

    def count(self) -> int: ...

    def ids(self) -> Iterator[UUID]:
        """Every id once, page by page."""

    def flush(self) -> None:
        """Bring everything written so far to disk."""

    def close(self) -> None:
        """Release the index; safe to repeat."""

    def destroy(self) -> None:
        """Delete the collection with all its points, open or not; safe to repeat."""


def unit_floats(vector: Vector, dimension: int) -> list[float]:
    """The vector as plain floats. ``ValueError`` where an engine would store nonsense
    without a word: NaN, infinity, zero, another length or dimension."""
    array = np.asarray(vector, dtype=np.float32)
    if array.shape != (dimension,):
        raise ValueError(f"a vector of shape {array.shape} for an index of ({dimension},)")
    norm = float(np.linalg.norm(array))
    if not abs(norm - 1) < 1e-3:  # also true for NaN
        raise ValueError(f"a vector of length {norm}, not 1")
    floats: list[float] = array.tolist()
    return floats


def scope(agent_id: str, memory_type: str) -> str:
    """Agent and type in one keyword: one condition in place of two halves exact search."""
    return f"{agent_id}\x1f{memory_type}"


def payload(point: Point) -> dict[str, str | int | list[str]]:
    """What is stored beside the vectors; a member that is None is absent."""
    stored: dict[str, str | int | list[str]] = {
        "agent_id": point.agent_id,
        "memory_type": point.memory_type,
        "scope": scope(point.agent_id, point.memory_type),
        "tags": list(point.tags),
        "version": point.version,
    }
    if point.user_id is not None:
        stored["user_id"] = point.user_id
    if point.expires_at is not None:
        stored["expires_at"] = point.expires_at
    return stored


def batches(items: Iterable[T]) -> Iterator[list[T]]:
    rest = iter(items)
    while batch := list(islice(rest, BATCH)):
        yield batch
