"""What the tests share: an index that starts empty, people and agents made through the
services."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from memories.index import close_index
from memories.models import Agent, ApiKey, User
from tests import build


@pytest.fixture(autouse=True)
def _own_index(settings: Settings, tmp_path: Path) -> Iterator[None]:
    """Each test has an index of its own, opened only by those that use it."""
    settings.DATA_DIR = tmp_path
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
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
