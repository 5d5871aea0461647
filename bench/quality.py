"""Measure what recall finds: on conversations with questions, or on pairs of sentences.

``python -m bench.quality [FILE] [--sweep]``. FILE is JSON: ``{"conversations": [{"id",
"turns": [{"id", "speaker", "text"}], "questions": [{"question", "evidence": [turn ids]}]}]}``.
One agent per conversation, one memory ``speaker: text`` per turn, in order. Without FILE the
pairs of ``bench.relevance`` are asked for each other. Recall@k is the share of a question's
evidence among the first k hits, averaged over the questions. What was chosen by looking at
half A, a hash of the question, has to hold on half B.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from bench import running
from bench.relevance import PAIRS

if TYPE_CHECKING:
    from memories.index import Leg, MemoryIndex, Point, Query

CUTS = (1, 5, 10)
DEEP = 400  # hits of each leg that a sweep may look at

Ranking = Sequence[UUID]


@dataclass(frozen=True, slots=True)
class Asked:
    """One question; ``evidence`` are memories of ``agent``."""

    agent: UUID
    text: str
    evidence: frozenset[UUID]

    @property
    def is_half_a(self) -> bool:
        return not hashlib.sha256(self.text.encode()).digest()[0] & 1


@dataclass(frozen=True, slots=True)
class Filled:
    questions: list[Asked]
    points: list[Point]


def read(path: Path | None) -> list[dict[str, Any]]:
    """The conversations. Raises ``SystemExit`` naming what does not fit."""
    if path is None:
        turns = [{"id": str(n), "text": text} for n, (_, text) in enumerate(PAIRS)]
        asked = [
            {"question": text, "evidence": [str(n)]} for n, (text, _) in enumerate(PAIRS)
        ]
        return [{"id": "pairs", "turns": turns, "questions": asked}]
    conversations: list[dict[str, Any]] = json.loads(path.read_text())["conversations"]
    for conversation in conversations:
        known = {turn["id"] for turn in conversation["turns"]}
        for asked in conversation["questions"]:
            if not asked["evidence"] or not known.issuperset(asked["evidence"]):
                raise SystemExit(f"{path}: {asked} names no turn of {conversation['id']}.")
    return conversations


def fill(conversations: list[dict[str, Any]]) -> Filled:
    """Make agents, rows and points, in bulk; what is embedded is kept between runs."""
    from django.utils import timezone

    from memories.actors import SYSTEM
    from memories.index import Point, get_index
    from memories.models import Memory
    from memories.services import create_agent

    now = timezone.now()
    questions: list[Asked] = []
    rows: list[Memory] = []
    for conversation in conversations:
        agent, memories = create_agent(conversation["id"], actor=SYSTEM), {}
        for turn in conversation["turns"]:
            speaker = f"{turn['speaker']}: " if "speaker" in turn else ""
            memories[turn["id"]] = Memory(
                agent=agent,
                memory_type="episodic",
                content=speaker + turn["text"],
                created_at=now,
                updated_at=now,
            )
        rows += memories.values()
        questions += [
            Asked(
                agent.pk,
                asked["question"],
                frozenset(memories[turn].pk for turn in asked["evidence"]),
            )
            for asked in conversation["questions"]
        ]
    Memory.objects.bulk_create(rows, batch_size=2_000)
    points = [
        Point(
            id=row.pk,
            agent_id=str(row.agent_id),
            memory_type=row.memory_type,
            user_id=None,
            tags=(),
            expires_at=None,
            version=1,
            text=row.content,
            dense=vector,
        )
        for row, vector in zip(rows, _embedded([r.content for r in rows]), strict=True)
    ]
    get_index().put(points)
    return Filled(questions, points)


def _embedded(texts: list[str]) -> list[list[float]]:
    """Vectors of passages, those of an earlier run from AMPSITE_QUALITY_CACHE."""
    from memories.embedding import get_embedder

    embedder = get_embedder()
    cache = os.environ.get("AMPSITE_QUALITY_CACHE")
    path = Path(cache, f"{embedder.name}-{embedder.dimension}.json") if cache else None
    known: dict[str, list[float]] = {}
    if path and path.exists():
        known = json.loads(path.read_text())
    lacking = [text for text in dict.fromkeys(texts) if text not in known]
    known |= zip(
        lacking, (v.tolist() for v in embedder.embed_passages(lacking)), strict=True
    )
    if path and lacking:
        path.write_text(json.dumps(known))
    return [known[text] for text in texts]


def recalled(asked: Asked) -> Ranking:
    """What the product answers."""
    from memories.recall import Question, recall

    question = Question(
        agent=asked.agent,
        memory_types=("episodic",),
        query=asked.text,
        top_k=max(CUTS),
    )
    return [hit.memory.pk for hit in recall(question).hits]


def score(
    questions: Sequence[Asked], rankings: Sequence[Ranking], cut: int, half: str = ""
) -> float:
    """Recall@cut over all questions or over ``half`` "A" or "B"; 0 where there are none."""
    shares = [
        len(asked.evidence.intersection(ranking[:cut])) / len(asked.evidence)
        for asked, ranking in zip(questions, rankings, strict=True)
        if not half or asked.is_half_a == (half == "A")
    ]
    return sum(shares) / max(1, len(shares))


def line(
    label: str,
    questions: Sequence[Asked],
    answer: Callable[[Asked], Ranking],
) -> str:
    """A row of the table: recall@1, @5 and @10 of all, half A and half B, and time."""
    rankings, seconds = [], []
    for asked in questions:
        began = time.perf_counter()
        rankings.append(answer(asked))
        seconds.append(time.perf_counter() - began)
    cells = "  ".join(
        " ".join(f"{score(questions, rankings, cut, half):.3f}" for cut in CUTS)
        for half in ("", "A", "B")
    )
    p50, p95 = (running.percentile(seconds, p) * 1_000 for p in (50, 95))
    return f"{label:32}  {cells}  {p50:6.2f} {p95:6.2f}"


def query(asked: Asked) -> Query:
    from memories.embedding import get_embedder
    from memories.index import Query

    return Query(
        agent_id=str(asked.agent),
        memory_types=("episodic",),
        text=asked.text,
        dense=get_embedder().embed_query(asked.text),
        now=0,
        limit=DEEP,
    )


def table(filled: Filled, *, sweep: bool = False) -> Iterator[str]:
    """The lines to print: the product's answer, its legs alone and, on demand, sweeps."""
    from bench import quality_sweeps as sweeps
    from memories.fusion import fuse
    from memories.index import get_index

    questions = filled.questions
    yield f"{'recall@1, @5 and @10':32}  {'all':19}{'half A':19}{'half B':19}ms: p50    p95"
    yield line("hybrid, as the product answers", questions, recalled)
    found = legs_of(questions, get_index())
    for name in sorted({leg.name for legs in found.values() for leg in legs}):
        alone = {
            asked: fuse([leg for leg in legs if leg.name == name])
            for asked, legs in found.items()
        }
        rankings = {asked: [hit.id for hit in hits] for asked, hits in alone.items()}
        yield line(f"{name} alone", questions, rankings.__getitem__)
    if sweep:
        yield from sweeps.fusions(questions, found)
        yield from sweeps.words(filled)


def legs_of(questions: Sequence[Asked], index: MemoryIndex) -> dict[Asked, tuple[Leg, ...]]:
    return {asked: index.search(query(asked)) for asked in questions}


def child(path: Path | None, *, sweep: bool) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ampsite.settings")
    import django

    django.setup()
    for text in table(fill(read(path)), sweep=sweep):
        print(text, flush=True)


def main(words: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.quality")
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--sweep", action="store_true", help="try other settings as well")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(words)
    if options.child:
        child(options.file, sweep=options.sweep)
        return
    cache = Path(tempfile.gettempdir(), "ampsite-quality")
    cache.mkdir(exist_ok=True)
    with running.folder() as data:
        command = [sys.executable, "-m", "bench.quality", "--child"]
        command += [str(options.file.resolve())] if options.file else []
        subprocess.run(
            command + ["--sweep"] * options.sweep,
            cwd=running.ROOT,
            env=running.environment(data) | {"AMPSITE_QUALITY_CACHE": str(cache)},
            check=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
