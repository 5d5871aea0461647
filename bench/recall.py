"""Measure recall in process and over HTTP, and where its time goes.

``python -m bench.recall [SIZE ...]`` (1000 10000 100000 by default). Half of the memories
belong to one agent and the rest to 49, so that both a large and a small tenant are asked.
Rows and points are made in bulk; the vectors are those of 400 real sentences with noise, as
embedding 100,000 would take an hour and the index does not care. A *new* question is
embedded; a *repeated* one comes from the embedder's memory, which shows the rest alone.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bench import running

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memories.models import Agent, Memory

SIZES = (1_000, 10_000, 100_000)
SMALL_TENANTS = 49
QUESTIONS = 150
SUBJECTS = [
    "invoice",
    "refund",
    "parcel",
    "contract",
    "server",
    "backup",
    "meeting",
    "key",
    "garden",
    "engine",
]
VERBS = ["needs", "follows", "replaces", "blocks", "opens", "closes", "precedes", "covers"]
PLACES = ["Bremen", "Lisbon", "Oslo", "Kyoto", "Quito"]


def sentences(count: int) -> Iterator[str]:
    """Different short facts; the first 400 differ in more than their number."""
    for n in range(count):
        one, verb = SUBJECTS[n % 10], VERBS[n // 10 % 8]
        two, place = SUBJECTS[(n // 80 + n % 7) % 10], PLACES[n // 80 % 5]
        yield f"In {place} the {one} number {n} {verb} the {two} of week {n * 7 % 53}."


def questions(salt: str) -> list[str]:
    texts = list(sentences(QUESTIONS))
    return [f"what about {salt}{n}: {text[:40]}" for n, text in enumerate(texts)]


def fill(size: int) -> None:
    """Make agents, rows and points in this process's data folder."""
    from django.utils import timezone

    from memories.actors import SYSTEM
    from memories.embedding import get_embedder
    from memories.index import Point, collection_name, get_index
    from memories.models import Agent, IndexEntry, Memory, MemoryType
    from memories.services import create_agent

    big = Agent.objects.get(agent_id="big")
    small = Agent.objects.get(agent_id="small")
    others = [create_agent(f"tenant-{n}", actor=SYSTEM) for n in range(SMALL_TENANTS - 1)]
    tenants = [small, *others]
    now, rng = timezone.now(), np.random.default_rng(1)
    real = np.array(get_embedder().embed_passages(list(sentences(400))))
    noise = 0.3 / np.sqrt(real.shape[1])

    def owner(n: int) -> Agent:
        return big if n % 2 else tenants[n // 2 % SMALL_TENANTS]

    def point(n: int, memory: Memory) -> Point:
        vector = real[n % 400] + rng.normal(0, noise, real.shape[1])
        return Point(
            id=memory.pk,
            agent_id=str(memory.agent_id),
            memory_type=memory.memory_type,
            user_id=None,
            tags=tuple(memory.tags),
            expires_at=None,
            version=1,
            text=memory.content,
            dense=(vector / np.linalg.norm(vector)).astype(np.float32),
        )

    memories = [
        Memory(
            agent=owner(n),
            memory_type=MemoryType.SEMANTIC,
            content=text,
            tags=[f"t{n % 20}"],
            created_at=now,
            updated_at=now,
        )
        for n, text in enumerate(sentences(size))
    ]
    collection = collection_name()
    entries = [
        IndexEntry(
            memory=memory, collection=collection, wanted_version=1, indexed_version=1
        )
        for memory in memories
    ]
    Memory.objects.bulk_create(memories, batch_size=2_000)
    IndexEntry.objects.bulk_create(entries, batch_size=2_000)
    for start in range(0, size, 250):
        chunk = enumerate(memories[start : start + 250], start)
        get_index().put([point(n, memory) for n, memory in chunk])
    get_index().flush()


def in_process() -> list[tuple[str, list[list[float]]]]:
    """For each kind of question: per question total, embedding, index, database seconds."""
    from memories.models import Agent
    from memories.recall import Question, recall

    rows: list[tuple[str, list[list[float]]]] = []
    for agent_id in ("big", "small"):
        agent = Agent.objects.get(agent_id=agent_id)
        for kind, texts in (
            ("new", questions(agent_id)),
            ("repeated", questions(agent_id)),
        ):
            taken = []
            for text in texts:
                question = Question(agent=agent.pk, memory_types=("semantic",), query=text)
                began = time.perf_counter()
                answer = recall(question)
                total = time.perf_counter() - began
                if len(answer.hits) != question.top_k:
                    raise RuntimeError(f"{len(answer.hits)} hits for {text!r}")
                taken.append([total, *astuple(answer.timing)])
            rows.append((f"{agent_id}, {kind}", taken))
    return rows


def over_http(port: int, keys: dict[str, str]) -> Iterator[tuple[str, list[float]]]:
    client = running.Client(port)
    for agent_id, key in keys.items():
        for kind in ("new", "repeated"):
            taken = []
            for text in questions(f"http {agent_id}"):
                began = time.perf_counter()
                status, answer = client.amp(
                    key, op="recall", memory_type="semantic", query=text
                )
                taken.append(time.perf_counter() - began)
                if status != 200 or len(answer["hits"]) != 5:
                    raise RuntimeError(f"{status}: {answer}")
            yield f"{agent_id}, {kind}", taken


def bench(size: int) -> None:
    with running.folder() as data:
        keys = {name: running.new_key(data, name) for name in ("big", "small")}
        child = subprocess.run(
            [sys.executable, "-m", "bench.recall", "--child", str(size)],
            cwd=running.ROOT,
            env=running.environment(data),
            stdout=subprocess.PIPE,
            check=True,
        )
        print(f"\n{size:,} memories")
        for name, taken in json.loads(child.stdout):
            total, *parts = (list(column) for column in zip(*taken, strict=True))
            medians = [running.percentile(part, 50) * 1_000 for part in parts]
            medians.append(running.percentile(total, 50) * 1_000 - sum(medians))
            split = " + ".join(
                f"{label} {value:.2f}"
                for label, value in zip(
                    ("embedding", "index", "database", "rest"), medians, strict=True
                )
            )
            print(f"  in process  {name:16}{running.summary(total)}  = {split}")
        _print_http(data, keys)


def _print_http(data: Path, keys: dict[str, str]) -> None:
    with running.serving(data) as port:
        for name, taken in over_http(port, keys):
            print(f"  over HTTP   {name:16}{running.summary(taken)}", flush=True)


def child(size: int) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ampsite.settings")
    import django

    django.setup()
    fill(size)
    json.dump(in_process(), sys.stdout)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(int(sys.argv[2]))
    else:
        for size in [int(word) for word in sys.argv[1:]] or SIZES:
            bench(size)
