"""The database server goes away under a running server, and comes back."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

import pytest
from django.db import connection

from tests.faults.relay import Relay
from tests.faults.server import (
    Agent,
    free_port,
    installed,
    manage,
    opened,
    serving,
)

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.skipif(connection.vendor != "postgresql", reason="needs a database server"),
    pytest.mark.django_db(transaction=True),
]


@pytest.fixture
def database(transactional_db: None) -> Iterator[str]:
    """The name of a new database beside that of the tests."""
    name = f"ampsite_{uuid4().hex}"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name}")
    yield name
    with connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.case("F13")
def test_a_database_that_is_gone_is_named_and_found_again(
    tmp_path: Path, database: str
) -> None:
    told = connection.settings_dict
    with Relay((told["HOST"], int(told["PORT"] or 5432))) as relay:
        who = quote(told["USER"]) + (
            f":{quote(told['PASSWORD'])}" if told["PASSWORD"] else ""
        )
        url = f"postgres://{who}@127.0.0.1:{relay.port}/{database}"
        key = installed(tmp_path / "data", DATABASE_URL=url)
        with serving(tmp_path / "data", tmp_path / "log", DATABASE_URL=url) as server:
            agent = Agent(server, key)
            assert agent.amp("remember", "episodic", content="Before.")["ok"]

            relay.cut()
            began = time.monotonic()
            status, parts = server.readiness()
            assert (status, parts["database"]) == (503, "down")
            assert (parts["index"], parts["worker"]) == ("ok", "ok")
            assert time.monotonic() - began < 4
            with opened(f"{server.url}/healthz") as answer:
                assert answer.status == 200

            relay.mend()
            server.wait_until_ready()
            assert agent.amp("remember", "episodic", content="After.")["ok"]
            assert server.stop()[0] == 0


@pytest.mark.case("F12")
def test_a_second_server_with_an_index_of_its_own_is_refused(
    tmp_path: Path, database: str
) -> None:
    told = connection.settings_dict
    who = quote(told["USER"]) + (f":{quote(told['PASSWORD'])}" if told["PASSWORD"] else "")
    url = f"postgres://{who}@{told['HOST']}:{told['PORT'] or 5432}/{database}"
    installed(tmp_path / "one", DATABASE_URL=url)
    (tmp_path / "two").mkdir()
    with serving(tmp_path / "one", tmp_path / "log", DATABASE_URL=url) as server:
        done = manage(
            tmp_path / "two", "serve", "--port", str(free_port()), DATABASE_URL=url
        )
        assert done.returncode == 1
        assert "CELERY_BROKER_URL" in done.stderr
        assert "Traceback" not in done.stderr
        server.kill()
    with serving(tmp_path / "two", tmp_path / "log", DATABASE_URL=url) as server:
        assert server.stop()[0] == 0
