"""Web, worker and beat as processes of their own, over a Redis that comes and goes."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.conf import settings

from tests.faults.relay import Relay
from tests.faults.server import (
    Agent,
    Reviewer,
    Server,
    background,
    installed,
    manage,
)

pytestmark = pytest.mark.redis

CELERY = [sys.executable, "-m", "celery", "-A", "ampsite"]
WORKER = [*CELERY, "worker", "--pool", "solo", "--loglevel", "WARNING"]
BEAT = [*CELERY, "beat", "--loglevel", "WARNING"]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def relay() -> Iterator[Relay]:
    url = urlsplit(settings.CELERY_BROKER_URL)
    assert url.hostname is not None, "CELERY_BROKER_URL names the Redis of this lane"
    with Relay((url.hostname, url.port or 6379)) as relay:
        yield relay


@contextmanager
def deployed(data: Path, relay: Relay, *, beat: bool) -> Iterator[tuple[Server, str]]:
    """Web and worker, with beat or without; the server and a key."""
    url = urlsplit(settings.CELERY_BROKER_URL)
    password = f":{url.password}@" if url.password else ""
    more = {
        "DJANGO_SETTINGS_MODULE": "tests.faults.several",
        "CELERY_BROKER_URL": f"redis://{password}127.0.0.1:{relay.port}{url.path}",
        "QDRANT_URL": f"local:{data / 'qdrant'}",
        "INDEX_DRAIN_SECONDS": "2",
    }
    key = installed(data, **more)
    server = Server(data, data.parent / "web.log", more)
    server.start()
    others = [background(WORKER, data, data.parent / "worker.log", **more)]
    if beat:
        others.append(background(BEAT, data, data.parent / "beat.log", **more))
    try:
        server.wait_until_alive()  # ready it would be with the index, which is the worker's
        yield server, key
    finally:
        for process in (server.process, *others):
            process.kill()
            process.wait(30)
    # With the worker gone the index is free to be looked at.
    done = manage(data, "reindex", "--check", **more)
    assert done.returncode == 0, done.stderr


def wait_until_indexed(agent: Agent, proposal: str, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while agent.proposal(proposal)["index"] != "indexed":
        assert time.monotonic() < deadline, agent.proposal(proposal)
        time.sleep(0.1)


def test_the_hint_after_an_approval_reaches_the_worker(data: Path, relay: Relay) -> None:
    with deployed(data, relay, beat=False) as (server, key):
        agent = Agent(server, key)
        proposal = agent.propose("The hint travels through Redis.")
        assert Reviewer(server).approve(proposal)
        wait_until_indexed(agent, proposal, 30)


@pytest.mark.case("F1")
@pytest.mark.case("F2")
def test_without_the_broker_decisions_are_made_and_indexed_later(
    data: Path, relay: Relay
) -> None:
    with deployed(data, relay, beat=True) as (server, key):
        agent, reviewer = Agent(server, key), Reviewer(server)
        first = agent.propose("Said while Redis is there.")
        assert reviewer.approve(first)
        wait_until_indexed(agent, first, 30)

        relay.cut()
        began = time.monotonic()
        second = agent.propose("Said while Redis is gone.")
        assert reviewer.approve(second)
        assert time.monotonic() - began < 2
        state = agent.proposal(second)
        assert (state["status"], state["index"]) == ("approved", "queued")

        relay.mend()
        wait_until_indexed(agent, second, 60)
