"""Many at once on the default shape: one process, threads, SQLite on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from tests.faults.server import Agent, Reviewer, Server, installed, manage, serving


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[Server, Agent]]:
    data = tmp_path / "data"
    key = installed(data)
    with serving(data, tmp_path / "log") as server:
        yield server, Agent(server, key)
        done = manage(data, "audit_verify")
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in server.printed()


def together(calls: list[Callable[[], Any]]) -> list[Any]:
    barrier = Barrier(len(calls))

    def one(call: Callable[[], Any]) -> Any:
        barrier.wait(timeout=30)
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(one, calls))


@pytest.mark.case("G7")
def test_ten_approvals_at_once_are_one_decision(server: tuple[Server, Agent]) -> None:
    at, agent = server
    reviewers = [Reviewer(at) for _ in range(10)]
    for number in range(5):
        proposal = agent.propose(f"Fact {number}.")
        cards = [reviewer.open(proposal) for reviewer in reviewers]

        said = together([card.approve for card in cards])

        assert sorted(said) == [False] * 9 + [True]
        assert agent.proposal(proposal)["status"] == "approved"


@pytest.mark.case("G8")
def test_the_same_remember_at_once_is_one_proposal(server: tuple[Server, Agent]) -> None:
    _, agent = server

    ids = together([lambda: agent.propose("Refunds take five days.")] * 20)

    assert len(set(ids)) == 1


@pytest.mark.case("G24")
def test_remembering_and_recalling_at_once_loses_nothing(
    server: tuple[Server, Agent],
) -> None:
    _, agent = server

    def remember(number: int) -> Callable[[], Any]:
        return lambda: agent.amp(
            "remember", "episodic", content=f"item{number}x of the list", prefer="wait=20"
        )

    def recall(number: int) -> Callable[[], Any]:
        return lambda: agent.amp("recall", "episodic", query=f"item{number}x")

    together([ask(n) for n in range(20) for ask in (remember, recall)])

    for number in range(20):
        hits = agent.amp("recall", "episodic", query=f"item{number}x", top_k=1)["hits"]
        assert hits[0]["content"] == f"item{number}x of the list"
