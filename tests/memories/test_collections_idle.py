"""What collections cost while nothing happens, and how their entries are changed."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memories import collections, reindex
from memories.collections import settle
from memories.index import serving
from memories.models import Agent, Collection, IndexEntry
from tests import build
from tests.memories.test_collections import CROOKED, Crooked, some, world

__all__ = ["world"]  # a fixture

pytestmark = pytest.mark.django_db


@pytest.fixture
def refused(agent: Agent, world: SimpleNamespace) -> None:
    """A collection that is complete and not good enough."""
    some(agent)
    build.drain()
    world.embedders["crooked"] = Crooked("fact")
    world.switch()
    build.drain()


@pytest.mark.usefixtures("refused")
def test_what_is_not_good_enough_is_not_looked_at_in_every_idle_moment() -> None:
    assert read_by_an_idle_drain() == []

    failed = IndexEntry.objects.behind().first()
    assert failed is not None
    IndexEntry.objects.filter(pk=failed.pk).retry()
    build.drain()  # what is written to it is a reason to look again
    assert read_by_an_idle_drain() == []


@pytest.mark.usefixtures("refused")
def test_what_is_not_good_enough_is_looked_at_again_later_and_said_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.clear()
    monkeypatch.setattr(collections, "LOOK_SECONDS", -1.0)
    collections.reconsider()
    assert read_by_an_idle_drain()
    assert read_by_an_idle_drain()
    assert caplog.messages == []

    IndexEntry.objects.behind().update(indexed_version=F("wanted_version"), last_error="")
    build.drain()
    assert serving().kind == CROOKED


def read_by_an_idle_drain() -> list[str]:
    """What it asks the database about memories."""
    with CaptureQueriesContext(connection) as asked:
        assert build.drain() == 0
    return [q["sql"] for q in asked if '"memories_memory"' in q["sql"]]


def test_a_retired_one_costs_an_idle_moment_nothing(
    agent: Agent, world: SimpleNamespace
) -> None:
    some(agent)
    build.drain()
    world.switch()
    build.drain()
    assert Collection.objects.retired().exists()

    assert read_by_an_idle_drain() == []


def test_each_step_of_asking_begins_where_the_last_one_ended(
    agent: Agent, world: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collections, "STEP", 2)
    some(agent)
    building = collections.begin(world.kind)
    assert building is not None
    asked = IndexEntry.objects.filter(collection=building.name)

    steps = collections.catching_up(building)
    assert next(steps) == 2
    asked.delete()

    assert list(steps) == [2, 2]
    assert collections.catch_up(building) == 2
    assert collections.catch_up(building) == 0


@pytest.mark.postgres
@pytest.mark.skipif(connection.vendor != "postgresql", reason="needs row locks")
@pytest.mark.parametrize("way", ["send again", "release claims", "give up", "forget"])
def test_who_changes_several_entries_takes_them_in_order_first(
    agent: Agent, world: SimpleNamespace, way: str
) -> None:
    memories = some(agent)
    settle()
    building = collections.begin(world.kind)
    assert building is not None
    ways: dict[str, Callable[[], object]] = {
        "send again": lambda: reindex._send_again([m.pk for m in memories], serving()),
        "release claims": reindex.release_claims,
        "give up": lambda: collections._give_up(building, serving()),
        "forget": lambda: collections._forget(serving()),
    }
    if way == "give up":
        IndexEntry.objects.update(
            indexed_version=F("wanted_version"), due_at=timezone.now()
        )

    with CaptureQueriesContext(connection) as asked:
        ways[way]()

    written = [q["sql"] for q in asked if '"memories_indexentry"' in q["sql"]]
    change = next(n for n, sql in enumerate(written) if sql[:6] in {"UPDATE", "DELETE"})
    assert (
        'ORDER BY "memories_indexentry"."memory_id" ASC FOR UPDATE' in written[change - 1]
    )
