"""How the index catches up with the database."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from memories import reindex
from memories.errors import RecallUnavailable
from memories.index import (
    MemoryIndex,
    Point,
    close_index,
    collection_name,
    get_index,
)
from memories.models import Agent, IndexEntry, Memory
from memories.recall import Question, recall
from tests import build

pytestmark = pytest.mark.django_db


def entry_of(memory: Memory) -> IndexEntry:
    return IndexEntry.objects.get(memory=memory)


def found(agent: Agent, query: str, memory_type: str = "semantic") -> list[str]:
    question = Question(agent=agent.pk, memory_types=(memory_type,), query=query)
    return [hit.memory.content for hit in recall(question).hits]


@pytest.fixture
def closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


@pytest.mark.case("G19")
def test_a_decision_stands_while_the_index_is_down_and_is_indexed_when_it_is_back(
    agent: Agent, settings: Settings, closed_port: int
) -> None:
    settings.QDRANT_URL = f"http://127.0.0.1:{closed_port}"
    memory = build.memory(agent, "ZQX-7781 is the code.")

    assert build.drain() == 0

    assert entry_of(memory).state == "queued"
    with pytest.raises(RecallUnavailable):
        found(agent, "ZQX-7781")

    settings.QDRANT_URL = ""
    close_index()
    IndexEntry.objects.update(due_at=timezone.now())  # the pause after a failure is over
    assert build.drain() == 1
    assert entry_of(memory).state == "indexed"
    assert found(agent, "ZQX-7781") == ["ZQX-7781 is the code."]


def test_after_a_failure_of_the_index_the_batch_comes_back_soon(
    agent: Agent, settings: Settings, closed_port: int
) -> None:
    settings.QDRANT_URL = f"http://127.0.0.1:{closed_port}"
    memory = build.memory(agent)

    build.drain()

    pause = entry_of(memory).due_at - timezone.now()
    assert pause < timedelta(seconds=settings.INDEX_LEASE_SECONDS / 2)


class Picky:
    """An embedder of the tests: it cannot take one text."""

    name, dimension, floor, ceiling = "picky", 256, 0.0, 1.0

    def embed_passages(self, texts: list[str]) -> list[object]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> object:
        import numpy as np

        if "poison" in text:
            raise ValueError("no such token")
        return np.eye(1, 256, dtype=np.float32)[0]


@pytest.fixture
def picky(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = Picky()

    def load(*_: object, **__: object) -> Picky:
        return embedder

    for module in ("memories.drain", "memories.recall"):
        monkeypatch.setattr(f"{module}.load_embedder", load)


@pytest.mark.case("G20")
@pytest.mark.usefixtures("picky")
def test_a_text_that_cannot_be_embedded_fails_alone_and_says_why(agent: Agent) -> None:
    before, bad, after = (
        build.memory(agent, text) for text in ("one apple", "poison", "two pears")
    )

    assert build.drain() == 2

    assert [entry_of(m).state for m in (before, bad, after)] == [
        "indexed",
        "failed",
        "indexed",
    ]
    assert "ValueError" in entry_of(bad).last_error
    assert entry_of(bad).due_at > timezone.now()


@pytest.mark.case("G20")
def test_a_failed_text_is_tried_again_when_somebody_asks(
    agent: Agent, request: pytest.FixtureRequest
) -> None:
    request.getfixturevalue("picky")
    bad = build.memory(agent, "poison")
    build.drain()

    assert IndexEntry.objects.filter(memory=bad).retry() == 1

    assert entry_of(bad).state == "queued"
    assert entry_of(bad).due_at <= timezone.now()


@pytest.mark.usefixtures("picky")
def test_a_new_text_in_the_place_of_one_that_failed_does_not_wait(agent: Agent) -> None:
    bad = build.memory(agent, "poison")
    build.drain()

    build.approve(build.revising(bad, "an antidote"))

    assert build.drain() == 1
    assert entry_of(bad).state == "indexed"


def test_a_point_is_written_once_however_often_the_task_runs(agent: Agent) -> None:
    build.memory(agent)
    assert [build.drain() for _ in range(3)] == [1, 0, 0]
    assert get_index().count() == 1


def test_decisions_are_indexed_before_a_backlog(agent: Agent, settings: Settings) -> None:
    settings.INDEX_BATCH = 1
    for number in range(3):
        build.short_term(agent, f"chatter {number}")
    decided = build.memory(agent, "The decision.")

    first, *_ = IndexEntry.objects.claim(
        1, collection=collection_name(), lease=timedelta(seconds=60)
    )

    assert first.memory_id == decided.pk


def test_a_change_while_an_older_version_is_on_its_way_is_sent_after_it(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = build.memory(agent, "Tea at four.")
    put = type(get_index()).put

    def put_while_somebody_revises(index: MemoryIndex, points: Sequence[Point]) -> None:
        monkeypatch.undo()
        build.approve(build.revising(memory, "Tea at five."))
        assert build.drain() == 0  # a second worker leaves what the first one holds
        put(index, points)

    monkeypatch.setattr(type(get_index()), "put", put_while_somebody_revises)
    assert build.drain() == 2

    assert entry_of(memory).state == "indexed"
    assert found(agent, "Tea at five.") == ["Tea at five."]


def test_a_claim_of_a_worker_that_died_comes_due_again(agent: Agent) -> None:
    memory = build.memory(agent)
    IndexEntry.objects.claim(16, collection=collection_name(), lease=timedelta(0))
    assert build.drain() == 1
    assert entry_of(memory).state == "indexed"


@pytest.mark.parametrize("way", ["forget", "expire"])
def test_what_is_no_longer_live_leaves_the_index(agent: Agent, way: str) -> None:
    memory = build.memory(agent)
    build.drain()
    assert get_index().count() == 1

    change: dict[str, Callable[[], object]] = {
        "forget": lambda: build.approve(build.forgetting(agent, memory)),
        "expire": lambda: build.approve(build.expiring(agent, memory)),
    }
    change[way]()
    build.drain()

    assert get_index().count() == 0


def test_an_index_that_was_deleted_is_filled_again(agent: Agent, tmp_path: Path) -> None:
    build.memory(agent, "Kept in the database.")
    build.drain()
    close_index()
    shutil.rmtree(tmp_path / "index")
    assert found(agent, "database") == []

    reindex.heal()

    assert build.drain() == 1
    assert found(agent, "database") == ["Kept in the database."]


def test_a_text_that_the_index_refuses_fails_alone(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    def encode(text: str) -> tuple[list[int], list[float]]:
        if "poison" in text:
            raise ValueError("no lexical vector")
        return [1], [1.0]

    monkeypatch.setattr("memories.index.edge.encode_document", encode)
    memories = [build.memory(agent, text) for text in ("one apple", "poison", "two pears")]

    assert build.drain() == 2

    assert [entry_of(m).state for m in memories] == ["indexed", "failed", "indexed"]
    assert "no lexical vector" in entry_of(memories[1]).last_error


def test_a_long_backlog_lets_other_tasks_in_between(
    agent: Agent, settings: Settings
) -> None:
    settings.INDEX_BATCH, settings.INDEX_DRAIN_SECONDS = 1, 0
    for number in range(3):
        build.short_term(agent, f"chatter {number}")

    assert [build.drain() for _ in range(4)] == [1, 1, 1, 0]
