"""A mix of settings that cannot work is refused, and the refusal names the setting."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.checks import run_checks
from pytest_django.fixtures import Settings

from ampsite.checks import beyond_loopback, is_loopback

EVERYWHERE = "0.0.0.0"  # noqa: S104  (only judged, never listened on)


# Django's own test set-up adds the name of its test client's host, which is not loopback.
@pytest.fixture(autouse=True)
def _as_installed(settings: Settings) -> None:
    settings.SECRET_KEY_GIVEN = False
    settings.ALLOWED_HOSTS = list(settings.LOOPBACK_HOSTS)


SEVERAL = {"EMBEDDED": False, "CELERY_BROKER_URL": "redis://127.0.0.1:6379/0"}
PUBLIC = {
    "PUBLIC_URL": "https://desk.example.org",
    "ALLOWED_HOSTS": ["localhost", "desk.example.org"],
}


OPENAI = {
    "AMPSITE_EMBEDDER": "openai",
    "EMBEDDER_URL": "http://localhost:11434/v1",
    "EMBEDDER_MODEL": "nomic-embed-text",
    "EMBEDDER_DIMENSION": 768,
}


def complaints() -> dict[str, str]:
    """What the product's own checks say, by id."""
    return {
        message.id or "": f"{message.msg} {message.hint}"
        for message in run_checks()
        if (message.id or "").startswith("ampsite.")
    }


def test_the_defaults_are_sound() -> None:
    assert complaints() == {}


@pytest.mark.case("F12")
@pytest.mark.parametrize(
    ("changed", "number", "named"),
    [
        (SEVERAL, "E001", "QDRANT_URL"),
        (SEVERAL | {"QDRANT_URL": "local:/tmp/x"}, "E002", "QDRANT_URL"),
        (SEVERAL | {"SECRET_KEY_GIVEN": False}, "E003", "SECRET_KEY"),
        (PUBLIC | {"SECRET_KEY_GIVEN": False}, "E004", "SECRET_KEY"),
        (PUBLIC | {"DEBUG": True}, "E005", "DEBUG"),
        ({"PUBLIC_URL": "desk.example.org"}, "E006", "PUBLIC_URL"),
        ({"PUBLIC_URL": "https://localhost/desk"}, "E006", "PUBLIC_URL"),
        (PUBLIC | {"ALLOWED_HOSTS": ["localhost"]}, "E007", "ALLOWED_HOSTS"),
        ({"QDRANT_URL": "qdrant:6333"}, "E008", "QDRANT_URL"),
        ({"QDRANT_URL": "local:"}, "E008", "QDRANT_URL"),
        ({"INDEX_LEASE_SECONDS": 80}, "E009", "INDEX_LEASE_SECONDS"),
        ({"AMPSITE_EMBEDDER": "word2vec"}, "E010", "AMPSITE_EMBEDDER"),
        (OPENAI | {"EMBEDDER_MODEL": ""}, "E010", "EMBEDDER_MODEL"),
        (OPENAI | {"EMBEDDER_DIMENSION": 0}, "E010", "EMBEDDER_DIMENSION"),
        (OPENAI | {"EMBEDDER_FLOOR": 0.5}, "E015", "EMBEDDER_CEILING"),
        (
            OPENAI | {"EMBEDDER_FLOOR": 0.5, "EMBEDDER_CEILING": 0.5},
            "E015",
            "EMBEDDER_FLOOR",
        ),
        (OPENAI | {"EMBEDDER_URL": "localhost:11434"}, "E016", "EMBEDDER_URL"),
        (
            OPENAI | {"EMBEDDER_URL": "https://api.openai.com/v1"},
            "E017",
            "EMBEDDER_API_KEY",
        ),
        (OPENAI | {"EMBEDDER_TIMEOUT_SECONDS": 20}, "E009", "EMBEDDER_TIMEOUT_SECONDS"),
        ({"INDEX_DRAIN_SECONDS": 0}, "E011", "INDEX_DRAIN_SECONDS"),
        ({"PROPOSAL_TTL_DAYS": 10**11}, "E011", "PROPOSAL_TTL_DAYS"),
        ({"IDEMPOTENCY_HOURS": 10**8}, "E011", "IDEMPOTENCY_HOURS"),
        ({"MAX_TAGS": 2**31}, "E011", "MAX_TAGS"),
        ({"INDEX_BATCH": 251, "INDEX_LEASE_SECONDS": 9_999}, "E012", "INDEX_BATCH"),
        ({"MAX_WAITING_REQUESTS": 8}, "E013", "MAX_WAITING_REQUESTS"),
        ({"SQLITE_SYNCHRONOUS": "OFF"}, "E014", "SQLITE_SYNCHRONOUS"),
    ],
)
def test_what_cannot_work_is_refused_by_name(
    settings: Settings, changed: dict[str, Any], number: str, named: str
) -> None:
    for name, value in changed.items():
        setattr(settings, name, value)
    found = complaints()
    assert named in found[f"ampsite.{number}"]


@pytest.mark.parametrize(
    "changed",
    [
        {"QDRANT_URL": "http://qdrant:6333"},
        {"QDRANT_URL": "local:/srv/index"},
        SEVERAL | {"QDRANT_URL": "http://qdrant:6333"},
        PUBLIC,
        OPENAI,
        {"PUBLIC_URL": "http://127.0.0.1:9000"},
    ],
)
def test_what_works_is_let_through(settings: Settings, changed: dict[str, Any]) -> None:
    settings.SECRET_KEY_GIVEN = True
    for name, value in changed.items():
        setattr(settings, name, value)
    assert complaints() == {}


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "[::1]", "localhost"])
def test_these_hosts_are_this_machine_alone(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", [EVERYWHERE, "::", "", "192.168.1.5", "desk.example.org"])
def test_these_hosts_are_reached_by_others(host: str) -> None:
    assert not is_loopback(host)


@pytest.mark.case("F12")
def test_serving_others_needs_a_key_and_a_name_and_no_debug(settings: Settings) -> None:
    settings.SECRET_KEY_GIVEN, settings.DEBUG = False, True
    settings.ALLOWED_HOSTS = ["localhost"]
    missing = " ".join(beyond_loopback(EVERYWHERE))
    for name in ("SECRET_KEY", "ALLOWED_HOSTS", "DEBUG"):
        assert name in missing

    settings.SECRET_KEY_GIVEN, settings.DEBUG = True, False
    settings.ALLOWED_HOSTS = ["desk.example.org"]
    assert beyond_loopback(EVERYWHERE) == []
