"""How a collection is opened, owned, closed and deleted, on both adapters."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from qdrant_client import QdrantClient

from memories.index import edge, server
from memories.index.base import IndexInUse, IndexUnavailable, MemoryIndex
from tests.memories.adapters import (
    NOW,
    embedder,
    make,
    numbers,
    opened,
    point,
    query,
    words_only,
)

ROOT = Path(__file__).resolve().parents[2]


def test_a_second_process_gets_one_clear_sentence(
    index: MemoryIndex, kind: str, tmp_path: Path
) -> None:
    index.put([point(1, "tea")])

    second = in_another_process(
        f"""
        try:
            make({kind!r}, Path({str(tmp_path)!r})).ensure()
        except IndexInUse as error:
            print(error)
        """
    )

    assert second.returncode == 0, second.stderr
    assert second.stdout.startswith("Another process already uses the index")
    assert "QDRANT_URL" in second.stdout
    assert second.stdout.count("\n") == 1
    assert index.count() == 1


def test_what_was_written_survives_kill_9_without_a_flush(
    kind: str, tmp_path: Path
) -> None:
    killed = in_another_process(
        f"""
        import os, signal
        index = opened({kind!r}, Path({str(tmp_path)!r}))
        index.put([point(number, "tea") for number in range(1, 301)])
        index.drop([point(1, "tea").id])
        os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    assert killed.returncode == -9, killed.stderr

    index = opened(kind, tmp_path)

    assert sorted(id.int for id in index.ids()) == list(range(2, 301))
    assert len(index.search(words_only("tea"))[0].hits) == 3
    index.close()


def test_the_points_are_there_when_it_is_opened_again(kind: str, tmp_path: Path) -> None:
    first = opened(kind, tmp_path)
    first.put([point(1, "tea", tags=("x",), expires_at=NOW + 9)])
    first.flush()
    first.close()
    first.close()  # safe to repeat

    second = opened(kind, tmp_path)
    second.ensure()

    assert [numbers(leg) for leg in second.search(query("tea", tags=("x",)))] == [[1], [1]]
    second.close()


def test_a_closed_index_is_unavailable_to_every_call(index: MemoryIndex) -> None:
    index.put([point(1, "tea")])
    index.close()

    calls: list[Callable[[], object]] = [
        lambda: index.put([point(2, "tea")]),
        lambda: index.drop([UUID(int=1)]),
        lambda: index.search(query("tea")),
        lambda: index.similarities([UUID(int=1)], embedder.embed_query("tea")),
        index.count,
        lambda: list(index.ids()),
        index.flush,
    ]
    for call in calls:
        with pytest.raises(IndexUnavailable, match="closed"):
            call()


def test_an_index_that_was_never_opened_is_unavailable(kind: str, tmp_path: Path) -> None:
    with pytest.raises(IndexUnavailable):
        make(kind, tmp_path).count()


def test_a_collection_of_another_dimension_is_unavailable(
    kind: str, tmp_path: Path
) -> None:
    opened(kind, tmp_path, dimension=8).close()

    with pytest.raises(IndexUnavailable, match="vector size") as failure:
        opened(kind, tmp_path, dimension=16)
    assert not isinstance(failure.value, IndexInUse)
    opened(kind, tmp_path, dimension=8).close()  # and is left as it was


def test_a_collection_is_deleted_with_its_points_and_no_other(
    kind: str, tmp_path: Path
) -> None:
    old, new = (opened(kind, tmp_path, name=name) for name in ("old", "new"))
    for index in (old, new):
        index.put([point(1, "tea")])

    old.destroy()
    old.destroy()  # safe to repeat

    assert new.count() == 1
    with pytest.raises(IndexUnavailable, match="closed"):
        old.count()
    again = opened(kind, tmp_path, name="old")
    assert again.count() == 0
    again.close()
    never_opened = make(kind, tmp_path, name="new")
    new.close()
    never_opened.destroy()
    last = opened(kind, tmp_path, name="new")
    assert last.count() == 0
    last.close()


def test_two_collections_at_one_place_know_nothing_of_each_other(
    kind: str, tmp_path: Path
) -> None:
    one = opened(kind, tmp_path, name="one")
    two = opened(kind, tmp_path, name="two", dimension=8)
    one.put([point(1, "tea")])
    two.put([point(2, "tea", dense=[1.0] + [0.0] * 7)])

    one.close()

    (leg,) = two.search(words_only("tea"))
    assert numbers(leg) == [2]
    two.close()


@pytest.mark.parametrize(
    ("call", "asks"), [("ensure", "collection_exists"), ("destroy", "delete_collection")]
)
def test_a_collection_at_a_local_path_waits_for_its_turn_from_the_first_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, asks: str
) -> None:
    one, two = opened("local", tmp_path, name="one"), make("local", tmp_path, name="two")
    folder = server._folders[str(tmp_path / "local")]
    is_alone: list[bool] = []
    ask = getattr(QdrantClient, asks)

    def asked(*args: Any) -> Any:
        is_alone.append(not in_another_thread(lambda: can_be_had(folder.turn)))
        return ask(*args)

    monkeypatch.setattr(QdrantClient, asks, asked)
    getattr(two, call)()

    assert is_alone == [True]
    for index in (one, two):
        index.close()


def in_another_thread(call: Callable[[], bool]) -> bool:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(call).result()


def can_be_had(turn: Any) -> bool:
    if found := turn.acquire(blocking=False):
        turn.release()
    return bool(found)


@pytest.mark.case("F10")
def test_an_index_of_a_field_that_is_lacking_is_made_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(edge, "_INDEXES", {"scope": edge._INDEXES["scope"]})
        opened("edge", tmp_path).close()

    index = opened("edge", tmp_path)

    assert isinstance(index, edge.EdgeIndex)
    assert set(index._shard.info().payload_schema) == set(edge._INDEXES)


def in_another_process(code: str) -> subprocess.CompletedProcess[str]:
    head = (
        "import django\n"
        "django.setup()\n"
        "from pathlib import Path\n"
        "from memories.index.base import IndexInUse\n"
        "from tests.memories.adapters import make, opened, point\n"
    )
    return subprocess.run(
        [sys.executable, "-c", head + textwrap.dedent(code)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_who_is_refused_the_folder_touches_nothing_in_it(tmp_path: Path) -> None:
    """The engine looks for its own lock after it opened files, and that broke every later
    flush of the process that holds it."""
    folder = tmp_path / "shard"
    owner = edge.EdgeIndex(folder, dimension=embedder.dimension)
    other = edge.EdgeIndex(folder, dimension=embedder.dimension)
    owner.ensure()
    owner.put([point(1, "tea")])
    before = {p: (p.stat().st_size, p.stat().st_mtime_ns) for p in folder.rglob("*")}

    with pytest.raises(IndexInUse, match="Another process"):
        other.ensure()

    assert before == {
        p: (p.stat().st_size, p.stat().st_mtime_ns) for p in folder.rglob("*")
    }
    owner.put([point(2, "coffee")])
    owner.flush()
    owner.close()
    other.ensure()
    assert other.count() == 2
    other.close()
