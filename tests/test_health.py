"""What a machine learns about the process, and what it does not."""

from __future__ import annotations

import re
import socket
import time
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django.fixtures import Settings

from ampsite import __version__
from memories.models import Agent
from tests import build


def parts(answer: Any) -> dict[str, str]:
    return dict(answer.json()["parts"])


def test_the_process_says_that_it_lives_without_asking_anything(client: Client) -> None:
    answer = client.get("/healthz")
    assert answer.status_code == 200
    assert answer.json() == {"status": "ok", "version": __version__}


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
@pytest.mark.parametrize("method", ["post", "put", "delete"])
def test_only_reading_is_offered(client: Client, path: str, method: str) -> None:
    assert getattr(client, method)(path).status_code == 405


@pytest.mark.django_db(transaction=True)
def test_readiness_names_each_part(client: Client) -> None:
    answer = client.get("/readyz")
    # The tests run no worker and no beat, so this process is not ready.
    assert answer.status_code == 503
    assert parts(answer) == {
        "database": "ok",
        "migrations": "ok",
        "index": "ok",
        "embedder": "ok",
        "worker": "down",
        "beat": "down",
    }


@pytest.mark.django_db(transaction=True)
def test_where_others_do_the_work_this_process_is_ready_without(
    client: Client, settings: Settings
) -> None:
    settings.EMBEDDED = False
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["status"]) == (200, "ready")
    assert "worker" not in parts(answer)


@pytest.mark.case("F13")
@pytest.mark.django_db(transaction=True)
def test_an_index_that_does_not_answer_holds_nobody(
    client: Client, settings: Settings
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings.QDRANT_URL = f"http://127.0.0.1:{silent.getsockname()[1]}"
        settings.QDRANT_API_KEY = "a secret of the index"
        began = time.monotonic()
        answer = client.get("/readyz")
        took = time.monotonic() - began
        alive = client.get("/healthz")

    assert answer.status_code == 503
    assert parts(answer)["index"] == "down"
    assert parts(answer)["database"] == "ok"
    assert took < 4
    assert alive.status_code == 200
    assert "secret" not in answer.content.decode()
    assert "127.0.0.1" not in answer.content.decode()


@pytest.mark.case("F13")
@pytest.mark.django_db(transaction=True)
def test_an_embedder_that_cannot_be_loaded_is_named(
    client: Client, settings: Settings
) -> None:
    settings.AMPSITE_EMBEDDER = "word2vec"
    assert parts(client.get("/readyz"))["embedder"] == "down"


def test_a_signed_in_person_costs_these_pages_no_query(desk: Client) -> None:
    with CaptureQueriesContext(connection) as queries:
        assert desk.get("/healthz").status_code == 200
    assert len(queries) == 0


@pytest.mark.django_db
@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Bearer wrong", "sesame"])
def test_numbers_are_only_for_who_has_the_token(
    client: Client, settings: Settings, header: str
) -> None:
    settings.METRICS_TOKEN = "sesame"
    assert client.get("/metrics", headers={"Authorization": header}).status_code == 404


@pytest.mark.django_db
def test_without_a_token_nobody_gets_numbers(client: Client) -> None:
    assert client.get("/metrics").status_code == 404
    answer = client.get("/metrics", headers={"Authorization": "Bearer "})
    assert answer.status_code == 404


def test_the_numbers_follow_what_happens(
    client: Client, settings: Settings, agent: Agent
) -> None:
    settings.METRICS_TOKEN = "sesame"
    build.memory(agent)
    build.reject(build.held(agent, "The moon is a cheese."))
    build.held(agent, "It waits.")

    numbers = scraped(client)
    assert numbers["ampsite_proposals_pending"] == 1
    assert numbers['ampsite_decisions_total{outcome="approved"}'] == 1
    assert numbers['ampsite_decisions_total{outcome="rejected"}'] == 1
    assert numbers["ampsite_memories_live"] == 1
    assert numbers["ampsite_index_entries_behind"] == 1
    assert numbers["ampsite_index_oldest_behind_seconds"] > 0

    build.drain()
    numbers = scraped(client)
    assert numbers["ampsite_index_entries_behind"] == 0
    assert numbers["ampsite_index_oldest_behind_seconds"] == 0


def scraped(client: Client) -> dict[str, float]:
    answer = client.get("/metrics", headers={"Authorization": "Bearer sesame"})
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    text = answer.content.decode()
    assert "The moon" not in text
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    found = [re.fullmatch(r"(\w+(?:\{.*\})?) (\S+)", line) for line in lines]
    return {match[1]: float(match[2]) for match in found if match}
