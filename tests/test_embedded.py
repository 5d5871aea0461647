"""Celery inside the serving process: it works, it ends fast, and it does not stay down."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from ampsite import embedded
from ampsite.celery import app
from ampsite.embedded import Embedded, start_embedded
from memories.index import get_index
from memories.models import Agent
from tests import build

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> Iterator[Embedded]:
    monkeypatch.setattr(embedded, "_running", None)  # put back at the end
    started = start_embedded()
    yield started
    assert started.stop(10)


def wait_for(true: Callable[[], bool], seconds: float = 15) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.02)


def test_what_is_approved_is_indexed_by_itself(agent: Agent, running: Embedded) -> None:
    build.memory(agent)
    wait_for(lambda: get_index().count() == 1)
    assert running.down() == []


def test_this_process_is_ready(client: Client, running: Embedded) -> None:
    assert client.get("/readyz").status_code == 200


def test_it_stops_at_once(agent: Agent) -> None:
    started = Embedded()
    started.start()
    began = time.monotonic()
    assert started.stop(2)
    assert time.monotonic() - began < 1


def test_a_worker_that_ended_is_started_again(agent: Agent, running: Embedded) -> None:
    send_what_no_consumer_survives()
    wait_for(lambda: running.restarts == 1)
    wait_for(lambda: running.down() == [])
    build.memory(agent)
    wait_for(lambda: get_index().count() == 1)


def test_a_beat_that_ended_is_started_again(running: Embedded) -> None:
    service = running._beat
    assert service is not None
    service.stop()
    wait_for(lambda: running.restarts == 1)
    wait_for(lambda: running.down() == [])
    assert running._beat is not service


def send_what_no_consumer_survives() -> None:
    """A message without properties: the consumer fails before any task is looked up."""
    channel: Any
    with app.connection_for_write() as connection, connection.channel() as channel:
        channel._put(app.conf.task_default_queue, {"body": ""})
