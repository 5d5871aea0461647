"""What ``bench.quality`` tries beside the settings that the product has."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch
from uuid import UUID

import qdrant_edge as qdrant

from bench.quality import Asked, Filled, legs_of, line
from memories import text as words_of
from memories.embedding import get_embedder
from memories.fusion import K, ranked
from memories.index import Leg, edge
from memories.index.base import BM25, DENSE
from memories.recall import LEAST

Legs = Mapping[Asked, Sequence[Leg]]
Scores = Mapping[UUID, float]

CUTOFFS = (18, 50, 100, 400)  # hits taken of each leg


def fusions(questions: Sequence[Asked], legs: Legs) -> Iterator[str]:
    """Other ways to make one order of two, from the same legs."""
    for k in (1, 2, 4, 6, 10, 20, 60):
        yield _line(f"1 / ({k} + rank)", questions, legs, k=k)
    for depth in CUTOFFS:
        yield _line(f"{depth} hits of each leg", questions, legs, depth=depth)
    for dense, bm25 in ((0.5, 1), (0.8, 1), (1, 0.8), (1, 0.5)):
        weights = {DENSE: dense, BM25: bm25}
        yield _line(f"weights {dense} : {bm25}", questions, legs, weights=weights)
    for share in (0.3, 0.4, 0.5, 0.6, 0.7):
        orders = {
            asked: _best(_sum_of_scores(found, share)) for asked, found in legs.items()
        }
        yield line(f"scores, dense {share}", questions, orders.__getitem__)


def words(filled: Filled) -> Iterator[str]:
    """Other lexical vectors, in an index of their own."""
    trials: list[tuple[str, dict[str, Any]]] = [
        ("as it is", {}),
        *(
            (f"k {k}, b {b}", {"k": k, "b": b})
            for k in (0.6, 0.9, 1.5)
            for b in (0.4, 0.75)
        ),
        *((f"average length {n}", {"avg_len": n}) for n in (20, 50, 100, 500)),
        ("no ASCII folding", {"ascii_folding": False}),
        (
            "no stop words",
            {"stopwords": qdrant.StopwordsSet(languages=set(), custom=set())},
        ),
        ("words instead of code", {"tokenizer": qdrant.TokenizerType.Word}),
    ]
    for label, changed in trials:
        with patch.object(edge, "_BM25", _bm25(changed)):
            yield from _tried(label, filled)
    with patch.object(words_of, "regular", lambda text: text):
        yield from _tried("irregular forms left", filled)


def _tried(label: str, filled: Filled) -> Iterator[str]:
    dimension = get_embedder().dimension
    with tempfile.TemporaryDirectory(prefix="ampsite-quality-") as folder:
        index = edge.EdgeIndex(Path(folder), dimension=dimension)
        index.ensure()
        index.put(filled.points)
        legs = legs_of(filled.questions, index)
        index.close()
    alone = {
        asked: [leg for leg in found if leg.name == BM25] for asked, found in legs.items()
    }
    yield _line(f"bm25, {label}", filled.questions, alone)
    yield _line(f"hybrid, {label}", filled.questions, legs)


def _bm25(changed: Mapping[str, Any]) -> qdrant.Bm25:
    settings: dict[str, Any] = {
        "tokenizer": qdrant.TokenizerType.Code,
        "avg_len": 256,
        "ascii_folding": True,
        "stemmer": qdrant.SnowballParams(qdrant.SnowballLanguage.English),
        "stopwords": qdrant.StopwordsSet(languages={qdrant.Language.English}, custom=set()),
    }
    return qdrant.Bm25(qdrant.Bm25Config(**{**settings, **changed}))


def _line(
    label: str,
    questions: Sequence[Asked],
    legs: Legs,
    *,
    k: float = K,
    depth: int = LEAST,
    weights: Mapping[str, float] | None = None,
) -> str:
    orders = {
        asked: _best(_reciprocal_ranks(found, k, depth, weights or {}))
        for asked, found in legs.items()
    }
    return line(label, questions, orders.__getitem__)


def _reciprocal_ranks(
    legs: Sequence[Leg], k: float, depth: int, weights: Mapping[str, float]
) -> Scores:
    sums: defaultdict[UUID, float] = defaultdict(float)
    for leg in legs:
        for rank, (memory, cosine) in enumerate(ranked(leg.hits)[:depth]):
            sums[memory] += weights.get(leg.name, 1) / (k + rank)
            sums[memory] += cosine * 1e-6 if leg.name == DENSE else 0  # breaks ties
    return sums


def _sum_of_scores(legs: Sequence[Leg], dense: float) -> Scores:
    """Each leg's scores from 0 at the end of its first hundred to 1 at its best."""
    sums: defaultdict[UUID, float] = defaultdict(float)
    for leg in legs:
        hits = ranked(leg.hits)[:100]
        worst = hits[-1][1] if hits and leg.name == DENSE else 0.0
        share = dense if leg.name == DENSE else 1 - dense
        for memory, value in hits:
            sums[memory] += share * (value - worst) / (hits[0][1] - worst or 1)
    return sums


def _best(scores: Scores) -> list[UUID]:
    return sorted(scores, key=lambda memory: (-scores[memory], -memory.int))
