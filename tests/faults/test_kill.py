"""The process is killed in the middle of its work: what was said stays true."""

from __future__ import annotations

import http.client
import json
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from tests.faults.server import Agent, Reviewer, Server, installed, manage, serving

PROPOSALS = 100
REVIEWERS = 4
KILLED_AFTER = 30  # approvals that were acknowledged


@pytest.mark.case("F3")
def test_a_kill_during_approvals_loses_and_doubles_nothing(tmp_path: Path) -> None:
    data, log = tmp_path / "data", tmp_path / "log"
    key = installed(data)
    with serving(data, log) as server:
        agent = Agent(server, key)
        waiting = {agent.propose(f"Fact {i}: {i * i}."): i for i in range(PROPOSALS)}
        acknowledged = approve_until_killed(server, list(waiting))
    assert KILLED_AFTER <= len(acknowledged) < PROPOSALS

    with serving(data, log) as server:
        wait_until_indexed(server)
        agent = Agent(server, key)
        states = {proposal: agent.proposal(proposal) for proposal in waiting}
        approved = {p for p, state in states.items() if state["status"] == "approved"}
        assert acknowledged <= approved
        assert {state["status"] for state in states.values()} <= {"approved", "pending"}
        for proposal, state in states.items():
            assert (state["decision"] is not None) == (proposal in approved)
            hits = agent.amp("recall", query=f"Fact {waiting[proposal]}", top_k=100)
            found = state["memory_id"] in {hit["id"] for hit in hits.get("hits", [])}
            assert found == (proposal in approved)
        assert server.stop()[0] == 0

    assert live_memories(data) == len(approved)
    for command in ("audit_verify", "reindex --check"):
        done = manage(data, *command.split())
        assert done.returncode == 0, done.stderr


def approve_until_killed(server: Server, proposals: list[str]) -> set[str]:
    """Approve from several browsers at once, kill the server on the way; what it said was
    approved before that."""
    acknowledged: set[str] = set()
    enough = Event()

    def review(mine: list[str]) -> None:
        try:
            reviewer = Reviewer(server)
            for proposal in mine:
                if reviewer.approve(proposal):
                    acknowledged.add(proposal)
                if len(acknowledged) >= KILLED_AFTER:
                    enough.set()
        except (OSError, http.client.HTTPException):
            return  # it was killed

    with ThreadPoolExecutor(REVIEWERS) as pool:
        runs = [
            pool.submit(review, proposals[start::REVIEWERS]) for start in range(REVIEWERS)
        ]
        assert enough.wait(60), "too few approvals"
        server.kill()
        for run in runs:
            run.result(60)
    return acknowledged


def wait_until_indexed(server: Server, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while server.numbers()["ampsite_index_entries_behind"]:
        assert time.monotonic() < deadline, json.dumps(server.numbers())
        time.sleep(0.1)


def live_memories(data: Path) -> int:
    with sqlite3.connect(data / "ampsite.sqlite3") as database:
        (count,) = database.execute(
            "SELECT count(*) FROM memories_memory WHERE state = 'live'"
        ).fetchone()
    return int(count)
