"""The process-wide index."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest
from pytest_django import Settings

from memories.embedding import Kind
from memories.index import (
    PAUSE_SECONDS,
    IndexUnavailable,
    close_index,
    collection_name,
    discard,
    edge,
    get_index,
    serving,
)
from memories.index.edge import EdgeIndex
from memories.index.server import ServerIndex
from memories.models import Collection
from tests.memories.adapters import numbers, point, query

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def own_index(settings: Settings, tmp_path: Path) -> Iterator[None]:
    close_index()
    settings.DATA_DIR = tmp_path
    settings.QDRANT_URL = ""
    settings.AMPSITE_EMBEDDER = "hash"
    yield
    close_index()


def test_it_lies_in_the_data_folder_under_the_embedder_s_name(tmp_path: Path) -> None:
    get_index().put([point(1, "tea")])

    assert collection_name() == "memories-hash-256"
    assert (tmp_path / "index" / "memories-hash-256" / "segments").is_dir()


def test_threads_that_come_first_together_share_one_index() -> None:
    collection = serving()
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: id(get_index(collection)), range(16)))

    assert len(found) == 1


def test_a_closed_index_opens_again_with_its_points() -> None:
    get_index().put([point(1, "tea")])
    close_index()
    close_index()

    assert [numbers(leg) for leg in get_index().search(query("tea"))] == [[1], [1]]


def test_while_it_cannot_be_opened_it_is_tried_again_after_a_pause(tmp_path: Path) -> None:
    owner = EdgeIndex(tmp_path / "index" / "memories-hash-256", dimension=256)
    owner.ensure()
    with pytest.raises(IndexUnavailable):
        get_index()
    owner.close()
    with pytest.raises(IndexUnavailable):
        get_index()

    time.sleep(PAUSE_SECONDS)
    assert get_index().count() == 0


def test_the_url_chooses_the_client(settings: Settings, tmp_path: Path) -> None:
    settings.QDRANT_URL = f"local:{tmp_path / 'qdrant'}"

    index = get_index()
    index.put([point(1, "tea")])

    assert isinstance(index, ServerIndex)
    assert [numbers(leg) for leg in index.search(query("tea"))] == [[1], [1]]


def test_a_server_that_is_away_makes_it_unavailable(settings: Settings) -> None:
    settings.QDRANT_URL = "http://127.0.0.1:9"  # nothing listens on the discard port

    with pytest.raises(IndexUnavailable):
        get_index()


def other() -> Collection:
    return Collection.of(Kind("hash", "", 256), Collection.State.BUILDING, again=True)


@pytest.mark.parametrize("call", ["ensure", "destroy"])
def test_while_one_collection_is_opened_or_deleted_another_can_be_had(
    monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    collection = serving()
    get_index(collection)
    begun, may_go_on = Event(), Event()
    real = getattr(EdgeIndex, call)

    def slowly(index: EdgeIndex) -> None:
        begun.set()
        assert may_go_on.wait(60)
        real(index)

    monkeypatch.setattr(EdgeIndex, call, slowly)
    with ThreadPoolExecutor(2) as pool:
        slow = pool.submit(get_index if call == "ensure" else discard, other())
        assert begun.wait(60)
        had = pool.submit(get_index, collection)
        try:
            assert had.result(20).count() == 0
        finally:
            may_go_on.set()
        slow.result(60)


def test_a_query_that_the_encoder_cannot_take_makes_it_unavailable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Encoder:
        def embed_query(self, _: str) -> None:
            raise Exception("a panic of the engine")

    index = get_index()
    monkeypatch.setattr(edge, "_BM25", Encoder())

    with pytest.raises(IndexUnavailable, match="panic"):
        index.search(query("tea"))
