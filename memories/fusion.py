"""Reciprocal rank fusion, done here because the engine breaks its ties by chance."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from memories.index.base import DENSE, Leg

K = 4  # 1 / (K + rank), rank from 0
DIGITS = 4  # scores that differ less are ties: adapters sum floats in different orders


@dataclass(frozen=True, slots=True)
class Fused:
    """``score`` in (0, 1]; ``cosine`` is None where no leg and no caller knew it."""

    id: UUID
    score: float
    cosine: float | None


def fuse(
    legs: Sequence[Leg], *, cosines: Mapping[UUID, float] | None = None
) -> list[Fused]:
    """Every id of any leg once, best first, in an order that never varies.

    The score is the sum of ``1 / (K + rank)`` divided by its greatest possible value over
    the legs that were asked: first in all of them scores 1, also when a leg was left out.
    Ties go to the higher cosine, then to the newer memory (ids are UUIDv7). ``cosines``
    adds similarities that the dense leg did not return.
    """
    sums: defaultdict[UUID, float] = defaultdict(float)
    known = dict(cosines or {})
    for leg in legs:
        if leg.name == DENSE:
            known.update(leg.hits)
        for rank, (memory_id, _) in enumerate(ranked(leg.hits)):
            sums[memory_id] += 1 / (K + rank)
    greatest = len(legs) / K
    fused = [Fused(id, total / greatest, known.get(id)) for id, total in sums.items()]
    return sorted(fused, key=_best_first)


def ranked(hits: Sequence[tuple[UUID, float]]) -> list[tuple[UUID, float]]:
    """The hits of one leg in the order that counts: equal ones by age, the newest first."""
    return sorted(hits, key=lambda hit: (-round(hit[1], DIGITS), -hit[0].int))


def _best_first(hit: Fused) -> tuple[float, float, int]:
    cosine = -math.inf if hit.cosine is None else round(hit.cosine, DIGITS)
    return (-hit.score, -cosine, -hit.id.int)
