"""Another embedder: its collection is built beside the one that answers, and takes over."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from memories import collections, embedding, reindex
from memories.collections import Progress, building_progress, settle
from memories.embedding import Embedder, EmbedderUnavailable, EmbeddingFailed, Kind
from memories.embedding.hashed import HashEmbedder
from memories.errors import RelevanceUnknown
from memories.index import close_index, collection_name, get_index, serving
from memories.models import Agent, Collection, IndexEntry, Memory
from memories.recall import Answer, Question, recall
from tests import build

pytestmark = pytest.mark.django_db

CROOKED = Kind("crooked", "", 128)


class Crooked:
    """An embedder of another dimension, whose vectors mean nothing to the other's."""

    name, dimension, floor, ceiling = "crooked", 128, None, None

    def __init__(self, is_broken_by: str = "") -> None:
        self.is_broken_by = is_broken_by
        self.asked = 0

    def embed_passages(self, texts: list[str]) -> list[Any]:
        self.asked += len(texts)
        if self.is_broken_by and any(self.is_broken_by in text for text in texts):
            raise EmbeddingFailed("no such word")
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> Any:
        half = HashEmbedder().embed_query(text).reshape(2, 128).sum(axis=0)
        vector = np.roll(half, 1)
        return (vector / np.linalg.norm(vector)).astype(np.float32)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Which embedder is configured, and which can be loaded."""
    world = SimpleNamespace(
        kind=embedding.configured_kind(),
        embedders={"hash": HashEmbedder(), "crooked": Crooked()},
    )
    hash_kind = world.kind

    def load(kind: Kind, *, fetch: bool = False) -> Embedder:
        try:
            found: Embedder = world.embedders[kind.embedder]
        except KeyError:
            raise EmbedderUnavailable(f"{kind} is gone") from None
        return found

    def switch() -> None:
        world.kind = CROOKED if world.kind == hash_kind else hash_kind

    world.switch = switch
    for module in ("collections", "drain", "index"):
        monkeypatch.setattr(f"memories.{module}.configured_kind", lambda: world.kind)
    for module in ("drain", "recall"):
        monkeypatch.setattr(f"memories.{module}.load_embedder", load)
    return world


def ask(agent: Agent, query: str, **more: Any) -> Answer:
    return recall(Question(agent=agent.pk, memory_types=("semantic",), query=query, **more))


def texts(answer: Answer) -> list[str]:
    return [hit.memory.content for hit in answer.hits]


def some(agent: Agent, count: int = 6) -> list[Memory]:
    return [build.memory(agent, f"fact {n} about {'abcdefgh'[n]}tea") for n in range(count)]


def one_batch_of_the_new(settings: Settings) -> None:
    """Some of the new collection, not all."""
    settings.INDEX_BATCH, settings.INDEX_DRAIN_SECONDS = 2, 0
    for _ in range(3):
        build.drain()
    progress = building_progress()
    assert progress is not None
    assert 0 < progress.done < progress.total


@pytest.mark.case("F7")
def test_the_old_one_answers_whole_until_the_new_one_is_whole(
    agent: Agent, world: SimpleNamespace, settings: Settings
) -> None:
    memories = some(agent)
    build.drain()
    old = collection_name()
    world.switch()

    one_batch_of_the_new(settings)

    assert collection_name() == old
    for memory in memories:
        answer = ask(agent, memory.content)
        assert texts(answer)[0] == memory.content
        assert (answer.degraded, len(answer.hits)) == ((), 5)
    settings.INDEX_DRAIN_SECONDS = 60
    build.drain()
    assert (building_progress(), serving().kind) == (None, CROOKED)
    assert set(get_index().ids()) == {memory.pk for memory in memories}
    for memory in memories:
        answer = ask(agent, memory.content)
        assert texts(answer)[0] == memory.content
        assert (answer.degraded, len(answer.hits)) == ((), 5)


@pytest.mark.case("F7")
def test_what_is_approved_and_forgotten_meanwhile_is_so_before_and_after(
    agent: Agent, world: SimpleNamespace, settings: Settings
) -> None:
    gone, changed, *_ = some(agent)
    build.drain()
    world.switch()
    one_batch_of_the_new(settings)

    fresh = build.memory(agent, "A stranger came by.")
    build.approve(build.forgetting(agent, gone))
    build.approve(build.revising(changed, "fact 1 is about coffee now"))

    def is_so() -> bool:
        found = {
            text for q in ("stranger", "coffee", "fact") for text in texts(ask(agent, q))
        }
        wanted = {fresh.content, "fact 1 is about coffee now"}
        return wanted <= found and not {gone.content, changed.content} & found

    settings.INDEX_BATCH = 3
    assert build.drain() == 3
    assert serving().kind != CROOKED
    assert is_so()
    settings.INDEX_DRAIN_SECONDS = 60
    build.drain()
    assert serving().kind == CROOKED
    assert is_so()
    assert not reindex.compare()


def test_what_answers_comes_before_what_is_built(
    agent: Agent, world: SimpleNamespace, settings: Settings
) -> None:
    some(agent)
    build.drain()
    world.switch()
    one_batch_of_the_new(settings)

    fresh = build.memory(agent, "A stranger came by.")
    settings.INDEX_BATCH = 1
    build.drain()

    assert texts(ask(agent, "stranger"))[0] == fresh.content


@pytest.mark.case("F7")
def test_where_the_old_embedder_is_gone_the_words_answer_and_the_answer_says_so(
    agent: Agent, world: SimpleNamespace, settings: Settings
) -> None:
    memories = some(agent)
    build.drain()
    world.switch()
    del world.embedders["hash"]
    one_batch_of_the_new(settings)
    fresh = build.memory(agent, "A stranger came by.")
    build.drain()

    assert serving().kind != CROOKED
    for memory in (*memories, fresh):
        answer = ask(agent, memory.content)
        assert texts(answer)[0] == memory.content
        assert answer.degraded == ("dense",)
    settings.INDEX_DRAIN_SECONDS = 60
    build.drain()
    assert ask(agent, "stranger").degraded == ()


def test_switching_back_gives_up_the_new_one_and_fills_in_what_had_no_vector(
    agent: Agent, world: SimpleNamespace, settings: Settings
) -> None:
    some(agent)
    build.drain()
    old = collection_name()
    world.switch()
    hashed = world.embedders.pop("hash")
    one_batch_of_the_new(settings)
    fresh = build.memory(agent, "A stranger came by.")
    build.drain()
    asked = hashed.embed_query("stranger")
    assert get_index().similarities([fresh.pk], asked) == {}

    world.switch()
    world.embedders["hash"] = hashed
    assert settle(at_start=True) is None
    settings.INDEX_DRAIN_SECONDS = 60
    build.drain()

    assert collection_name() == old
    assert fresh.pk in get_index().similarities([fresh.pk], asked)
    assert Collection.objects.retired().count() == 1


def test_a_second_switch_while_one_is_under_way_leads_to_the_last_one(
    agent: Agent, world: SimpleNamespace, settings: Settings
) -> None:
    some(agent)
    build.drain()
    world.switch()
    one_batch_of_the_new(settings)
    world.kind = Kind("third", "", 128)
    world.embedders["third"] = Crooked()

    settle(at_start=True)
    settings.INDEX_DRAIN_SECONDS = 60
    build.drain()

    assert serving().kind.embedder == "third"


def test_the_old_one_is_deleted_once_nobody_can_believe_in_it(
    agent: Agent, world: SimpleNamespace, settings: Settings
) -> None:
    some(agent)
    build.drain()
    old = serving()
    folder = Path(settings.DATA_DIR) / "index" / old.name
    world.switch()
    build.drain()
    assert folder.is_dir()
    # As by a process that has not looked again since.
    late = build.memory(agent, "It came at the last moment.")
    IndexEntry.objects.filter(memory=late).update(collection=old.name)

    Collection.objects.retired().update(changed_at=timezone.now() - timedelta(minutes=2))
    build.drain()
    build.drain()

    assert not folder.exists()
    assert not IndexEntry.objects.filter(collection=old.name).exists()
    assert list(Collection.objects.all()) == [serving()]
    assert texts(ask(agent, "last moment"))[0] == late.content


def test_a_text_that_the_new_embedder_refuses_is_found_by_its_words(
    agent: Agent, world: SimpleNamespace
) -> None:
    memories = [*some(agent), build.memory(agent, "poison in the well")]
    build.drain()
    world.embedders["crooked"] = Crooked("poison")
    world.switch()

    build.drain()

    assert serving().kind == CROOKED
    assert "poison in the well" in texts(ask(agent, "poison"))
    entry = IndexEntry.objects.get(memory=memories[-1], collection=collection_name())
    assert (entry.state, entry.last_error) == ("failed", "no such word")


def test_an_embedder_that_is_broken_never_takes_over(
    agent: Agent, world: SimpleNamespace
) -> None:
    memories = some(agent)
    build.drain()
    world.embedders["crooked"] = Crooked("fact")
    world.switch()

    build.drain()

    assert building_progress() == Progress(done=0, total=6, failed=6)
    assert "6 failed" in str(building_progress())
    for memory in memories:
        assert texts(ask(agent, memory.content))[0] == memory.content
    world.embedders["crooked"] = Crooked()
    IndexEntry.objects.retry()
    build.drain()
    assert serving().kind == CROOKED


def test_an_embedder_that_is_away_for_a_while_blames_no_text(
    agent: Agent, world: SimpleNamespace
) -> None:
    build.drain()
    away = world.embedders.pop("hash")
    memory = build.memory(agent, "fact")

    assert build.drain() == 0

    entry = IndexEntry.objects.get(memory=memory)
    assert (entry.state, entry.last_error) == ("queued", "")
    world.embedders["hash"] = away
    IndexEntry.objects.update(due_at=timezone.now())
    assert build.drain() == 1


def test_a_collection_can_be_built_again_for_the_same_embedder(
    agent: Agent, world: SimpleNamespace
) -> None:
    memories = some(agent)
    build.drain()
    old = collection_name()

    collections.begin(world.kind)
    build.drain()

    assert collection_name() != old
    assert serving().kind == world.kind
    assert set(get_index().ids()) == {memory.pk for memory in memories}


def test_there_is_one_that_answers_and_one_being_built_at_most(
    world: SimpleNamespace,
) -> None:
    settle()
    one, two = collections.begin(world.kind), collections.begin(CROOKED)
    assert one == two
    assert Collection.objects.count() == 2


def test_the_command_switches_without_a_server(
    agent: Agent, world: SimpleNamespace
) -> None:
    some(agent)
    build.drain()
    world.switch()

    assert not reindex.rebuild()

    assert serving().kind == CROOKED


def test_no_relevance_is_made_up_for_an_embedder_that_nobody_measured(
    agent: Agent, world: SimpleNamespace
) -> None:
    world.switch()
    some(agent)
    build.drain()

    answer = ask(agent, "fact about btea", with_relevance=True)

    assert [hit.relevance for hit in answer.hits] == [None] * 5
    with pytest.raises(RelevanceUnknown, match="min_relevance"):
        ask(agent, "fact", min_relevance=0.1)


def test_a_local_path_holds_the_old_and_the_new_one(
    agent: Agent, world: SimpleNamespace, settings: Settings, tmp_path: Path
) -> None:
    settings.QDRANT_URL = f"local:{tmp_path / 'qdrant'}"
    memories = some(agent)
    build.drain()
    world.switch()

    one_batch_of_the_new(settings)
    assert texts(ask(agent, memories[0].content))[0] == memories[0].content
    settings.INDEX_DRAIN_SECONDS = 60
    build.drain()

    assert serving().kind == CROOKED
    assert set(get_index().ids()) == {memory.pk for memory in memories}
    close_index()
    assert get_index().count() == len(memories)
