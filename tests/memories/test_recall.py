"""Recall: what is found, in which order, and what never is."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest
from django.utils import timezone

from memories.embedding import EmbeddingFailed, get_embedder
from memories.errors import RecallUnavailable
from memories.index import Point, get_index
from memories.models import Agent, Memory, MemoryType
from memories.recall import Answer, Question, recall
from tests import build

pytestmark = pytest.mark.django_db
LONG = ("semantic",)
EPISODIC = ("episodic",)


def ask(agent: Agent, query: str, **more: object) -> Answer:
    more.setdefault("memory_types", LONG)
    return recall(Question(agent=agent.pk, query=query, **more))  # type: ignore[arg-type]  # test shorthand


def texts(answer: Answer) -> list[str]:
    return [hit.memory.content for hit in answer.hits]


@pytest.mark.case("G3")
def test_nothing_of_another_agent_is_found_whatever_the_filter(agent: Agent) -> None:
    other = build.agent()
    build.memory(other, "The vault opens at noon.", tags=["vault"])
    build.drain()

    assert texts(ask(agent, "The vault opens at noon.", tags=("vault",))) == []
    assert texts(ask(agent, "")) == []


@pytest.mark.case("G9")
def test_what_is_not_approved_is_not_found(agent: Agent) -> None:
    pending = build.held(agent, "ZQX-7781 is the code.")
    rejected = build.held(agent, "ZQX-7782 is the code.")
    build.reject(rejected)
    build.drain()

    assert pending.status == "pending"
    assert texts(ask(agent, "ZQX-7781 is the code.")) == []
    assert texts(ask(agent, "")) == []


@pytest.mark.case("G10")
def test_only_the_edited_text_is_found(agent: Agent) -> None:
    build.approve(
        build.held(agent, "The cat likes milk."), content="The violin is out of tune."
    )
    build.drain()

    assert texts(ask(agent, "violin")) == ["The violin is out of tune."]
    assert all("cat" not in text for text in texts(ask(agent, "cat")))


@pytest.mark.case("G13")
def test_of_a_merge_only_the_result_is_found(agent: Agent) -> None:
    one, two = (
        build.memory(agent, "Alice drinks tea."),
        build.memory(agent, "Alice drinks mate."),
    )
    build.approve(build.merging(agent, one, two, content="Alice drinks tea and mate."))
    build.drain()

    assert texts(ask(agent, "Alice drinks tea.")) == ["Alice drinks tea and mate."]


@pytest.mark.case("G14")
def test_what_was_forgotten_is_gone_at_once_though_its_point_is_still_there(
    agent: Agent,
) -> None:
    memory = build.memory(agent, "The code is 4711.")
    build.drain()

    build.approve(build.forgetting(agent, memory))

    assert get_index().count() == 1
    assert texts(ask(agent, "The code is 4711.")) == []


@pytest.mark.case("G15")
def test_hits_that_are_history_do_not_crowd_out_those_that_live(agent: Agent) -> None:
    for n in range(110):  # more than recall looks at to begin with
        build.short_term(agent, f"apple pie recipe {'very ' * n}good")
    build.drain()
    best = [
        hit.memory
        for hit in ask(agent, "apple pie recipe", memory_types=EPISODIC, top_k=100).hits
    ]
    build.forget_now(agent, *best)

    left = ask(agent, "apple pie recipe", memory_types=EPISODIC, top_k=10).hits

    assert len(best) == 100
    assert len(left) == 10
    assert not {hit.memory.pk for hit in left} & {memory.pk for memory in best}


def test_each_kind_of_search_looks_further_than_what_is_asked_for(agent: Agent) -> None:
    for n in range(30):
        build.short_term(agent, f"apple pie {n}")
    build.drain()

    legs = ask(agent, "apple pie", memory_types=EPISODIC, top_k=1).legs

    assert [len(leg.hits) for leg in legs] == [30, 30]


@pytest.mark.case("G22")
def test_what_waits_or_was_rejected_does_not_crowd_out_what_was_approved(
    agent: Agent,
) -> None:
    approved = build.memory(agent, "Deploys happen on Tuesday, says the old wiki page.")
    for number in range(25):
        build.held(agent, f"Deploys happen on Friday {number}")
        build.reject(build.held(agent, f"Deploys happen on Monday {number}"))
    build.drain()

    assert get_index().count() == 1
    assert [h.memory for h in ask(agent, "When do deploys happen?").hits] == [approved]


@pytest.mark.case("W11")
def test_better_matches_elsewhere_do_not_crowd_out_the_one_that_fits(agent: Agent) -> None:
    other = build.agent()
    for number in range(20):
        build.short_term(agent, f"blue whale {number}", tags=["sea"])
        build.short_term(agent, f"blue whale {number}", memory_type="working")
        build.short_term(other, f"blue whale {number}", tags=["sky"])
    build.short_term(agent, "a whale that somebody painted", tags=["sky"])
    build.drain()

    answer = ask(agent, "blue whale", memory_types=("episodic",), tags=("sky",), top_k=1)

    assert texts(answer) == ["a whale that somebody painted"]


@pytest.mark.case("W12")
def test_any_of_the_tags_fits_and_case_matters(agent: Agent) -> None:
    for tags in (["a"], ["b"], ["A"], ["c"], []):
        build.short_term(agent, f"note {tags}", tags=tags)
    build.drain()

    for query in ("note", ""):
        answer = ask(agent, query, memory_types=("episodic",), tags=("a", "b"))
        assert sorted(texts(answer)) == ["note ['a']", "note ['b']"]


@pytest.mark.case("W8")
@pytest.mark.parametrize("query", ["", "  \n"])
def test_a_blank_query_gives_the_newest_first_and_scores_each_one(
    agent: Agent, query: str
) -> None:
    for number in range(7):
        build.short_term(agent, f"note {number}")

    answer = ask(agent, query, memory_types=("episodic",))

    assert texts(answer) == [f"note {n}" for n in (6, 5, 4, 3, 2)]
    assert {hit.score for hit in answer.hits} == {1.0}


@pytest.mark.case("W14")
def test_the_clock_alone_takes_a_memory_out_of_recall(agent: Agent) -> None:
    memory = build.short_term(agent, "gone in a moment", ttl_seconds=60)
    build.drain()
    assert texts(ask(agent, "moment", memory_types=("episodic",))) == ["gone in a moment"]

    Memory.objects.filter(pk=memory.pk).update(
        expires_at=timezone.now() - timedelta(seconds=1)
    )

    assert texts(ask(agent, "moment", memory_types=("episodic",))) == []
    assert texts(ask(agent, "", memory_types=("episodic",))) == []


@pytest.mark.parametrize("query", ["tea", ""])
def test_scores_rank_within_one_answer(agent: Agent, query: str) -> None:
    for number in range(9):
        build.memory(agent, f"tea {'and cake ' * number}")
    build.drain()

    scores = [hit.score for hit in ask(agent, query, top_k=9).hits]

    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)


def test_the_same_question_has_the_same_answer(agent: Agent) -> None:
    for number in range(12):
        build.memory(agent, f"tea number {number % 3} {'x' * number}")
    build.drain()

    answers = {tuple(texts(ask(agent, "tea number", top_k=10))) for _ in range(20)}

    assert len(answers) == 1


def test_relevance_is_one_for_the_same_text_and_known_for_every_hit(agent: Agent) -> None:
    build.memory(agent, "Alice prefers tea.")
    build.memory(agent, "The build takes an hour.")
    build.drain()

    hits = ask(agent, "Alice prefers tea.", with_relevance=True).hits

    assert hits[0].relevance == 1.0
    assert all(hit.relevance is not None and 0 <= hit.relevance <= 1 for hit in hits)


def test_hits_below_the_least_relevance_are_dropped_and_counted(agent: Agent) -> None:
    build.memory(agent, "Alice prefers tea.")
    build.memory(agent, "Qux zot blarg.")
    build.drain()

    answer = ask(agent, "Alice prefers tea.", min_relevance=0.9)

    assert texts(answer) == ["Alice prefers tea."]
    assert answer.dropped == 1


def test_only_what_would_have_been_a_hit_is_counted_as_dropped(agent: Agent) -> None:
    for number in range(30):
        build.short_term(agent, f"Qux zot blarg {number}.")
    build.drain()

    answer = ask(agent, "tea", memory_types=("episodic",), top_k=3, min_relevance=0.99)

    assert (texts(answer), answer.dropped) == ([], 3)


class Broken:
    """An embedder of the tests that is down for queries."""

    floor, ceiling = 0.0, 1.0

    def embed_query(self, text: str) -> np.ndarray:
        raise EmbeddingFailed(f"it is down: no vector for {len(text)} characters")


@pytest.fixture
def embedder_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memories.recall.load_embedder", lambda _: Broken())


@pytest.mark.usefixtures("embedder_down")
def test_without_the_embedder_words_still_find_and_the_answer_says_so(agent: Agent) -> None:
    build.memory(agent, "RULE-A002 forbids it.")
    build.drain()

    answer = ask(agent, "RULE-A002", with_relevance=True)

    assert texts(answer) == ["RULE-A002 forbids it."]
    assert answer.degraded == ("dense",)
    assert answer.hits[0].relevance is None


@pytest.mark.usefixtures("embedder_down")
def test_without_the_embedder_relevance_cannot_be_asked_for(agent: Agent) -> None:
    with pytest.raises(RecallUnavailable):
        ask(agent, "anything", min_relevance=0.5)


@pytest.mark.once
@pytest.mark.case("G25")
def test_of_ten_thousand_memories_each_agent_and_tag_finds_what_brute_force_finds() -> None:
    """Rows and points are made in bulk; through the gate this would take minutes."""
    agents = [build.agent() for _ in range(50)]
    rng = np.random.default_rng(7)
    words = [f"word{n}" for n in range(400)]
    embedder, now = get_embedder(), timezone.now()
    memories = [
        Memory(
            agent=agents[n % 50],
            memory_type=MemoryType.SEMANTIC,
            content=" ".join(rng.choice(words, 6)),
            tags=["rare"] if n % 1_000 < 50 else ["common"],
            created_at=now,
            updated_at=now,
        )
        for n in range(10_000)
    ]
    Memory.objects.bulk_create(memories, batch_size=1_000)
    vectors = embedder.embed_passages([memory.content for memory in memories])
    points = [
        Point(
            id=memory.pk,
            agent_id=str(memory.agent_id),
            memory_type="semantic",
            user_id=None,
            tags=tuple(memory.tags),
            expires_at=None,
            version=1,
            text=memory.content,
            dense=vector,
        )
        for memory, vector in zip(memories, vectors, strict=True)
    ]
    for start in range(0, len(points), 250):
        get_index().put(points[start : start + 250])

    for number in (0, 17, 49):
        mine = [n for n in range(10_000) if n % 50 == number]
        query = memories[mine[3]].content
        target = embedder.embed_query(query)
        hits = ask(agents[number], query, top_k=10, with_relevance=True).hits
        assert len(hits) == 10
        assert {hit.memory.agent_id for hit in hits} == {agents[number].pk}
        nearest = max(mine, key=lambda n: float(vectors[n] @ target))
        assert hits[0].memory.content == memories[nearest].content

        rare = [n for n in mine if memories[n].tags == ["rare"]]
        tagged = ask(agents[number], query, top_k=100, tags=("rare",)).hits
        assert {hit.memory.pk for hit in tagged} == {memories[n].pk for n in rare}
