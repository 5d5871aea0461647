"""Recall: the only reader of the index. The index may be late; an answer is never wrong."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from uuid import UUID

from django.utils import timezone

from memories.embedding import Embedder, EmbeddingFailed, Kind, Vector, load_embedder
from memories.errors import RecallUnavailable, RelevanceUnknown
from memories.fusion import Fused, fuse
from memories.index import IndexUnavailable, Leg, MemoryIndex, Query, get_index, serving
from memories.models import Memory

logger = logging.getLogger(__name__)

MAX_HITS = 100
SPARE = 8  # hits asked beyond top_k, for those that turn out to be history
# Hits of each leg at least: what both know is found though neither puts it among its first.
LEAST = 50
DEEPEST = 4_096  # hits of each leg; more than this many dead ones in front is an outage


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """``memory_types`` is any of these; ``tags`` at least one of these; ``user_id`` ""
    means any. ``min_relevance`` drops hits below it."""

    agent: UUID
    memory_types: tuple[str, ...]
    query: str
    top_k: int = 5
    tags: tuple[str, ...] = ()
    user_id: str = ""
    min_relevance: float | None = None
    with_relevance: bool = False


@dataclass(frozen=True, slots=True)
class Hit:
    """``score`` in (0, 1] ranks within one answer; ``relevance`` in [0, 1] compares between
    queries, and is None while the embedder is down, where nobody measured what is relevant
    to it, or where nobody asked for it."""

    memory: Memory
    score: float
    relevance: float | None


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds spent embedding, in the index and in the database."""

    embedding: float = 0.0
    index: float = 0.0
    database: float = 0.0


@dataclass(frozen=True, slots=True)
class Answer:
    """``hits`` best first; ``degraded`` names the legs that could not answer; ``dropped``
    counts the hits below ``min_relevance``; ``legs`` are what the index gave, for people."""

    hits: tuple[Hit, ...]
    degraded: tuple[str, ...] = ()
    dropped: int = 0
    timing: Timing = Timing()
    legs: tuple[Leg, ...] = ()


def recall(question: Question) -> Answer:
    """The live memories that fit best.

    Raises ``RecallUnavailable`` when the index cannot answer, and when a least relevance
    is asked for while the embedder is down; ``RelevanceUnknown`` when one is asked for of an
    embedder that nobody measured. A blank query gives the newest first, from
    the database; nothing is relevant to it, so it has no relevance and no least one.
    """
    if not question.query.strip():
        return _newest(question)
    return _Search(question).run()


def _newest(question: Question) -> Answer:
    live = Memory.objects.live().filter(
        agent_id=question.agent, memory_type__in=question.memory_types
    )
    if question.user_id:
        live = live.filter(user_id=question.user_id)
    newest = live.order_by("-created_at", "-pk")
    limit = min(question.top_k, MAX_HITS)
    if question.tags:
        # Matched here, without the texts: a JSON list has no portable "any of" in SQL.
        tagged = newest.values_list("pk", "tags").iterator(chunk_size=1_000)
        wanted = set(question.tags)
        fitting = (pk for pk, tags in tagged if wanted & set(tags))
        newest = newest.filter(pk__in=list(islice(fitting, limit)))
    return Answer(tuple(Hit(memory, 1.0, None) for memory in newest[:limit]))


class _Search:
    """One question put to both legs, again and deeper while too few hits are live."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.limit = min(question.top_k, MAX_HITS)
        self.now = timezone.now()
        self.embedding = self.index = self.database = 0.0
        self.legs: tuple[Leg, ...] = ()
        self.embedder: Embedder | None = None
        self.vector: Vector | None = None

    def run(self) -> Answer:
        collection = serving()  # once: its vectors compare with those of no other
        self._embed(collection.kind)
        self._require_relevance()
        try:
            hits, dropped = self._search(get_index(collection))
        except IndexUnavailable as error:
            logger.warning("the index cannot answer: %s", error)
            raise RecallUnavailable("The index cannot answer right now.") from error
        degraded = ("dense",) if self.vector is None else ()
        timing = Timing(self.embedding, self.index, self.database)
        return Answer(tuple(hits), degraded, dropped, timing, self.legs)

    def _require_relevance(self) -> None:
        if self.question.min_relevance is None:
            return
        if self.vector is None or self.embedder is None:
            raise RecallUnavailable("Relevance cannot be judged: the embedder is down.")
        if self.embedder.floor is None or self.embedder.ceiling is None:
            raise RelevanceUnknown(
                "Nobody measured what is relevant to this embedder, so min_relevance has "
                "no meaning here: leave it out."
            )

    def _embed(self, kind: Kind) -> None:
        begin = time.perf_counter()
        try:
            self.embedder = load_embedder(kind)
            self.vector = self.embedder.embed_query(self.question.query)
        except EmbeddingFailed as error:
            logger.warning("recalling by words alone: %s", error)
        self.embedding = time.perf_counter() - begin

    def _search(self, index: MemoryIndex) -> tuple[list[Hit], int]:
        depth = max(self.limit + SPARE, LEAST)
        while True:
            fused, exhausted = self._ask(index, depth)
            live = self._live(fused)
            if len(live) >= self.limit or exhausted or depth >= DEEPEST:
                return self._judged(index, live)
            depth = min(depth * 4, DEEPEST)

    def _ask(self, index: MemoryIndex, depth: int) -> tuple[list[Fused], bool]:
        """The fused legs, and whether neither holds anything beyond them."""
        question = self.question
        begin = time.perf_counter()
        self.legs = index.search(
            Query(
                agent_id=str(question.agent),
                memory_types=question.memory_types,
                text=question.query,
                dense=self.vector,
                tags=question.tags,
                user_id=question.user_id or None,
                now=int(self.now.timestamp()),
                limit=depth,
            )
        )
        self.index += time.perf_counter() - begin
        return fuse(self.legs), all(len(leg.hits) < depth for leg in self.legs)

    def _live(self, fused: Sequence[Fused]) -> list[tuple[Fused, Memory]]:
        """The first that are still true, in order, as many as are asked for.

        By primary key alone: with agent and type in the SQL too, SQLite walks their
        index instead and takes four hundred times as long. Only so many at a time as
        will do if all of them live, which is the rule: a row costs more than its place
        in the index.
        """
        begin = time.perf_counter()
        live: list[tuple[Fused, Memory]] = []
        step = max(self.limit, 4)
        for start in range(0, len(fused), step):
            some = fused[start : start + step]
            rows = Memory.objects.in_bulk([hit.id for hit in some])
            found = ((hit, rows[hit.id]) for hit in some if hit.id in rows)
            live += (pair for pair in found if _fits(pair[1], self.question, self.now))
            if len(live) >= self.limit:
                break
        self.database += time.perf_counter() - begin
        return live[: self.limit]

    def _judged(
        self, index: MemoryIndex, live: list[tuple[Fused, Memory]]
    ) -> tuple[list[Hit], int]:
        question = self.question
        judged = question.with_relevance or question.min_relevance is not None
        if not judged or self.vector is None:
            return [Hit(memory, hit.score, None) for hit, memory in live], 0
        unknown = [hit.id for hit, _ in live if hit.cosine is None]
        begin = time.perf_counter()
        cosines = index.similarities(unknown, self.vector) if unknown else {}
        self.index += time.perf_counter() - begin
        hits = [
            Hit(
                memory,
                hit.score,
                self._relevance(memory, cosines.get(hit.id, hit.cosine)),
            )
            for hit, memory in live
        ]
        least = question.min_relevance
        if least is None:
            return hits, 0
        kept = [hit for hit in hits if hit.relevance is not None and hit.relevance >= least]
        return kept, len(hits) - len(kept)

    def _relevance(self, memory: Memory, cosine: float | None) -> float | None:
        """The cosine mapped from the embedder's floor and ceiling onto [0, 1]."""
        if memory.content == self.question.query:
            return 1.0
        if cosine is None or self.embedder is None:
            return None
        floor, ceiling = self.embedder.floor, self.embedder.ceiling
        if floor is None or ceiling is None:
            return None
        return min(1.0, max(0.0, (cosine - floor) / (ceiling - floor)))


def _fits(memory: Memory, question: Question, now: datetime) -> bool:
    return (
        memory.agent_id == question.agent
        and memory.memory_type in question.memory_types
        and memory.is_live(now)
        and (not question.tags or bool(set(question.tags) & set(memory.tags)))
        and (not question.user_id or memory.user_id == question.user_id)
    )
