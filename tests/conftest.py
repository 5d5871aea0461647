"""What the tests share: an index that starts empty, people and agents made through the
services."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from pytest_django.fixtures import Settings

from memories.index import close_index
from memories.models import Agent, ApiKey, User
from tests import build


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What asks this run's database nothing says the same on each: SQLite's run has it."""
    if connection.vendor == "sqlite":
        return
    asking = [item for item in items if _asks_the_database(item)]
    config.hook.pytest_deselected(items=[item for item in items if item not in asking])
    items[:] = asking


def _asks_the_database(item: pytest.Item) -> bool:
    if item.get_closest_marker("once"):
        return False
    fixtures = getattr(item, "fixturenames", ())
    is_marked = item.get_closest_marker("django_db") is not None
    return is_marked or not {"db", "transactional_db"}.isdisjoint(fixtures)


@pytest.fixture(autouse=True)
def _own_index(settings: Settings, tmp_path: Path) -> Iterator[None]:
    """Each test has an index of its own, opened only by those that use it."""
    settings.DATA_DIR = tmp_path
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    # Otherwise each new test client looks up every static file before its first request.
    settings.WHITENOISE_AUTOREFRESH = True
    yield
    close_index()


@pytest.fixture
def agent(db: None) -> Agent:
    return build.agent()


@pytest.fixture
def key(agent: Agent) -> ApiKey:
    return build.key(agent)


@pytest.fixture
def reviewer(db: None) -> User:
    return build.person("rosa")


@pytest.fixture
def desk(reviewer: User) -> Client:
    """A browser in which the reviewer is signed in."""
    client = Client()
    client.force_login(reviewer)
    return client


@pytest.fixture
def api(agent: Agent) -> build.Api:
    """The REST API as seen with a key of ``agent``."""
    return build.Api(agent)
