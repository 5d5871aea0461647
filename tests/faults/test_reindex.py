"""Building the index again while it is in use: another embedder, a kill, many writes."""

from __future__ import annotations

import math
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from itertools import cycle
from pathlib import Path

import pytest

from tests.faults.embedding import embedding
from tests.faults.server import (
    Agent,
    Reviewer,
    Server,
    free_port,
    installed,
    manage,
    serving,
)
from tests.faults.test_kill import wait_until_indexed

WORDS = ["amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron"]
FILL = """
from django.utils import timezone
from memories.models import Agent, Memory
agent, now = Agent.objects.get(), timezone.now()
Memory.objects.bulk_create(
    (
        Memory(agent=agent, memory_type="episodic", content=f"Note {n} of page {n // 7}.",
               created_at=now, updated_at=now)
        for n in range(%d)
    ),
    batch_size=1_000,
)
"""


def collections(data: Path) -> dict[str, str]:
    """The embedder of each collection, by state."""
    path = f"file:{data / 'ampsite.sqlite3'}?mode=ro"
    with closing(sqlite3.connect(path, uri=True, timeout=20)) as database:
        return dict(database.execute("SELECT state, embedder FROM memories_collection"))


def wait_for(is_so: Callable[[], bool], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def fact(number: int) -> str:
    return f"The {WORDS[number % 8]} {WORDS[number // 8 % 8]} box holds item {number}."


def found(agent: Agent, number: int) -> bool:
    answer = agent.amp("recall", "episodic", query=fact(number))
    assert "degraded" not in answer
    return fact(number) in [hit["content"] for hit in answer["hits"]]


@pytest.mark.case("F7")
def test_a_switch_of_the_embedder_survives_a_kill_and_nobody_misses_a_memory(
    tmp_path: Path,
) -> None:
    data, log, count = tmp_path / "data", tmp_path / "log", 200
    key = installed(data)
    with serving(data, log) as server:
        for number in range(count):
            Agent(server, key).amp("remember", "episodic", content=fact(number))
        wait_until_indexed(server, 120)
        server.stop()

    with embedding() as embedder:
        embedder.left = 3
        with serving(data, log, **embedder.settings) as server:
            agent = Agent(server, key)
            assert all(found(agent, number) for number in range(0, count, 29))
            wait_for(lambda: done(server) > 0)
            assert collections(data) == {"serving": "hash", "building": "openai"}
            server.kill()

        with serving(data, log, **embedder.settings) as server:
            agent = Agent(server, key)
            assert collections(data) == {"serving": "hash", "building": "openai"}
            agent.amp("remember", "episodic", content=fact(count))
            embedder.left = math.inf
            numbers = cycle(range(0, count, 29))
            deadline = time.monotonic() + 120
            while not has_switched(data):
                assert found(agent, next(numbers))
                assert time.monotonic() < deadline
            assert all(found(agent, number) for number in range(count + 1))
            assert server.stop()[0] == 0
    assert "hash-256, which answers meanwhile" in log.read_text()


def has_switched(data: Path) -> bool:
    return collections(data) == {"serving": "openai", "retired": "hash"}


def done(server: Server) -> float:
    return server.numbers().get('ampsite_index_building{state="done"}', 0)


@pytest.mark.case("F8")
def test_beside_a_server_only_the_server_builds_the_index_again(tmp_path: Path) -> None:
    data = tmp_path / "data"
    key = installed(data)
    with serving(data, tmp_path / "log") as server:
        Agent(server, key).amp("remember", "episodic", content=fact(1))
        wait_until_indexed(server, 120)
        for words in (["reindex"], ["reindex", "--check"]):
            refused = manage(data, *words)
            assert refused.returncode == 1
            assert len(refused.stderr.strip().splitlines()) == 1
            assert "reindex --ask" in refused.stderr

        asked = manage(data, "reindex", "--ask")
        assert asked.returncode == 0, asked.stderr
        assert "of 1" in asked.stdout

        wait_for(lambda: "retired" in collections(data))
        told = manage(data, "reindex", "--progress")
        assert told.stdout.startswith("No index is being built, and nothing waits")
        assert found(Agent(server, key), 1)


@pytest.mark.case("F11")
def test_what_is_decided_during_a_rebuild_of_ten_thousand_holds(tmp_path: Path) -> None:
    data, more = tmp_path / "data", {"INDEX_BATCH": "100", "INDEX_LEASE_SECONDS": "1000"}
    key = installed(data)
    assert manage(data, "shell", "-c", FILL % 10_000).returncode == 0
    with (
        embedding() as embedder,
        serving(data, tmp_path / "log", **more, **embedder.settings) as server,
    ):
        agent, reviewer = Agent(server, key), Reviewer(server)
        doomed = [
            agent.amp("remember", "episodic", content=f"Doomed heron {number}.")["ids"][0]
            for number in range(20)
        ]
        wait_until_indexed(server, 120)

        embedder.left = 50  # of the hundred batches
        assert manage(data, "reindex", "--ask", **embedder.settings).returncode == 0
        for number in range(50):
            assert reviewer.approve(agent.propose(fact(number)))
            if number == 10:
                agent.amp("forget", "episodic", memory_ids=doomed)
                assert "building" in collections(data)
                embedder.left = math.inf
        wait_for(lambda: "building" not in collections(data))
        wait_until_indexed(server, 120)

        for number in range(50):
            answer = agent.amp("recall", query=fact(number))
            assert fact(number) in [hit["content"] for hit in answer["hits"]]
        answer = agent.amp("recall", "episodic", query="Doomed heron", top_k=100)
        assert not [hit for hit in answer["hits"] if "Doomed" in hit["content"]]
        server.stop()
    check = manage(data, "reindex", "--check", **embedder.settings)
    assert check.returncode == 0, check.stderr


def test_a_rebuild_without_a_server_says_how_far_it_is(tmp_path: Path) -> None:
    data = tmp_path / "data"
    installed(data)
    assert manage(data, "shell", "-c", FILL % 2_000).returncode == 0

    rebuilt = manage(data, "reindex")

    assert rebuilt.returncode == 0, rebuilt.stderr
    assert " of 2,000" in rebuilt.stderr
    assert "exactly" in rebuilt.stdout


def test_an_embedder_that_is_not_there_is_one_sentence_at_the_start(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    installed(data)
    more = {"AMPSITE_EMBEDDER": "openai", "EMBEDDER_MODEL": "m"}
    done = manage(data, "serve", "--port", str(free_port()), **more)
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    assert "EMBEDDER_DIMENSION" in done.stderr
