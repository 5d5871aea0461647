"""What both adapters promise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest

from memories.fusion import fuse
from memories.index import edge, server
from memories.index.base import MemoryIndex
from tests.memories.adapters import (
    NOW,
    embedder,
    numbers,
    opened,
    point,
    query,
    words_only,
)


def test_a_repeated_write_replaces_the_point(index: MemoryIndex) -> None:
    index.put([point(1, "Tea is served at four.")])
    index.put([point(1, "Coffee is served at nine.", tags=("x",))])

    assert index.count() == 1
    assert numbers(index.search(words_only("tea"))[0]) == []
    assert numbers(index.search(words_only("coffee"))[0]) == [1]


def test_a_dropped_point_is_gone_and_an_unknown_id_is_no_error(index: MemoryIndex) -> None:
    index.put([point(1, "tea"), point(2, "tea")])
    index.drop([UUID(int=1), UUID(int=99)])
    index.drop([])

    assert index.count() == 1
    assert [numbers(leg) for leg in index.search(query("tea"))] == [[2], [2]]


def test_ids_are_paged_and_come_once_each(index: MemoryIndex) -> None:
    vector = embedder.embed_query("note")
    index.put([point(number, "note", dense=vector) for number in range(1, 1_302)])

    found = [id.int for id in index.ids()]

    assert sorted(found) == list(range(1, 1_302))


def test_both_legs_answer_best_first_with_their_scores(index: MemoryIndex) -> None:
    index.put(
        [
            point(1, "The release train leaves on Thursday."),
            point(2, "The train to Oslo leaves at nine."),
            point(3, "Peanuts are forbidden."),
        ]
    )

    dense, bm25 = index.search(query("release train leaves"))

    assert (dense.name, bm25.name) == ("dense", "bm25")
    assert numbers(dense)[0] == numbers(bm25)[0] == 1
    assert numbers(bm25) == [1, 2]
    for leg in (dense, bm25):
        scores = [score for _, score in leg.hits]
        assert scores == sorted(scores, reverse=True)
    assert all(-1 <= score <= 1.001 for _, score in dense.hits)


def test_without_a_vector_only_the_lexical_leg_answers(index: MemoryIndex) -> None:
    index.put([point(1, "tea")])

    (leg,) = index.search(words_only("tea"))

    assert (leg.name, numbers(leg)) == ("bm25", [1])


@pytest.mark.parametrize("text", ["", "   ", "the and of", "🍵"])
def test_a_query_without_a_word_leaves_the_lexical_leg_empty(
    index: MemoryIndex, text: str
) -> None:
    index.put([point(1, "tea")])

    dense, bm25 = index.search(query(text))

    assert numbers(dense) == [1]
    assert (bm25.name, bm25.hits) == ("bm25", ())


def test_similarities_are_known_for_every_stored_id(index: MemoryIndex) -> None:
    stored = [
        point(number, text) for number, text in enumerate(["tea", "green tea", "x"], 1)
    ]
    index.put(stored)
    asked = embedder.embed_query("tea")

    found = index.similarities([UUID(int=1), UUID(int=2), UUID(int=3), UUID(int=9)], asked)

    expected = {p.id: float(embedder.embed_query(p.text) @ asked) for p in stored}
    assert found == pytest.approx(expected, abs=1e-5)
    assert index.similarities([], asked) == {}


@pytest.mark.case("W11")
def test_better_matches_of_others_never_crowd_out_the_one_that_fits(
    index: MemoryIndex,
) -> None:
    text = "the invoice number is on the first page"
    others = [
        *(point(n, text, tags=("other",)) for n in range(1, 21)),
        *(point(n, text, memory_type="episodic", tags=("mine",)) for n in range(21, 41)),
        *(point(n, text, agent_id="bob", tags=("mine",)) for n in range(41, 61)),
        *(point(n, text, user_id="u2", tags=("mine",)) for n in range(61, 81)),
    ]
    index.put([*others, point(100, "an invoice", user_id="u1", tags=("mine", "late"))])

    legs = index.search(query(text, tags=("mine",), user_id="u1", limit=1))

    assert [numbers(leg) for leg in legs] == [[100], [100]]


@pytest.mark.case("W12")
def test_tags_mean_any_of_them_exactly(index: MemoryIndex) -> None:
    index.put(
        [
            point(1, "tea", tags=("a",)),
            point(2, "tea", tags=("b", "c")),
            point(3, "tea", tags=("A",)),
            point(4, "tea", tags=("ab",)),
            point(5, "tea"),
        ]
    )

    for leg in index.search(query("tea", tags=("a", "b"))):
        assert sorted(numbers(leg)) == [1, 2]
    for leg in index.search(query("tea")):
        assert sorted(numbers(leg)) == [1, 2, 3, 4, 5]


def test_what_has_expired_is_not_found_from_that_second_on(index: MemoryIndex) -> None:
    index.put([point(1, "tea", expires_at=NOW + 2), point(2, "tea")])

    for now, expected in ((NOW + 1, [1, 2]), (NOW + 2, [2]), (NOW + 3, [2])):
        for leg in index.search(query("tea", now=now)):
            assert sorted(numbers(leg)) == expected


def test_a_set_of_types_is_searched_at_once(index: MemoryIndex) -> None:
    kinds = ("episodic", "semantic", "procedural", "working")
    index.put([point(n, "tea", memory_type=kind) for n, kind in enumerate(kinds, 1)])

    for leg in index.search(query("tea", memory_types=("semantic", "working"))):
        assert sorted(numbers(leg)) == [2, 4]


def test_a_query_without_a_type_cannot_be_written_down() -> None:
    with pytest.raises(ValueError, match="memory type"):
        query("tea", memory_types=())


@pytest.mark.case("G25")
def test_a_filter_always_leaves_k_hits_equal_to_brute_force(
    kind: str, tmp_path: Path
) -> None:
    # The client's pure-Python mode takes a tenth of a second for a query over 10,000.
    size = 10_000 if kind == "edge" else 2_000
    rng = np.random.default_rng(25)
    vectors = rng.normal(size=(size, 32)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    index = opened(kind, tmp_path, dimension=32)
    index.put(
        [
            point(
                n + 1,
                "a note",
                agent_id=f"a{n % 50}",
                tags=(f"t{n // 50 % (size // 500)}",),
                dense=vector,
            )
            for n, vector in enumerate(vectors)
        ]
    )
    asked = vectors[123] * np.float32(0.5) + vectors[1567] * np.float32(0.5)
    asked /= np.linalg.norm(asked)
    order = np.argsort(-(vectors @ asked)).tolist()

    for agent in range(50) if kind == "edge" else (0, 17, 49):
        mine = [n for n in order if n % 50 == agent]
        for tags, fitting in (
            ((), mine),
            (("t3",), [n for n in mine if n // 50 % (size // 500) == 3]),
        ):
            dense, bm25 = index.search(
                query("note", agent_id=f"a{agent}", tags=tags, dense=asked)
            )
            assert numbers(dense) == [n + 1 for n in fitting[:10]]
            assert len(bm25.hits) == 10
            assert set(numbers(bm25)) <= {n + 1 for n in fitting}
    index.close()


def test_the_same_question_has_the_same_answer_thirty_times(index: MemoryIndex) -> None:
    texts = ["tea at four", "tea at nine", "coffee at four"]  # equal scores are the rule
    index.put([point(n, texts[n % 3]) for n in range(1, 601)])

    answers = {tuple(fuse(index.search(query("tea at four", limit=20)))) for _ in range(30)}

    assert len(answers) == 1


def test_both_adapters_rank_alike(tmp_path: Path) -> None:
    words = [
        "tea",
        "coffee",
        "four",
        "nine",
        "deploy",
        "friday",
        "invoice",
        "page",
        "train",
        "oslo",
        "rule",
        "audit",
    ]
    rng = np.random.default_rng(7)
    points = [
        point(n, " ".join(rng.choice(words, size=rng.integers(3, 9))))
        for n in range(1, 301)
    ]
    questions = [query(" ".join(rng.choice(words, size=3)), limit=300) for _ in range(20)]
    orders = []
    for kind in ("edge", "local"):
        index = opened(kind, tmp_path)
        index.put(points)
        orders.append([[hit.id for hit in fuse(index.search(q))] for q in questions])
        index.close()

    assert orders[0] == orders[1]


@pytest.mark.parametrize(
    "dense",
    [
        [float("nan")] + [0.0] * 255,
        [float("inf")] + [0.0] * 255,
        [0.0] * 256,
        [2.0] + [0.0] * 255,
        [1.0] + [0.0] * 100,
    ],
    ids=["nan", "infinite", "zero", "too long", "another dimension"],
)
def test_a_vector_that_is_none_is_refused_and_nothing_is_written(
    index: MemoryIndex, dense: list[float]
) -> None:
    with pytest.raises(ValueError, match="vector"):
        index.put([point(1, "tea"), point(2, "tea", dense=dense)])
    with pytest.raises(ValueError, match="vector"):
        index.search(query("tea", dense=dense))

    assert index.count() == 0


def test_a_point_without_a_vector_is_found_by_its_words(index: MemoryIndex) -> None:
    index.put([replace(point(1, "green tea"), dense=None), point(2, "tea")])

    dense, bm25 = index.search(query("green tea"))

    assert (numbers(dense), numbers(bm25)) == ([2], [1, 2])
    asked = embedder.embed_query("tea")
    assert set(index.similarities([UUID(int=1), UUID(int=2)], asked)) == {UUID(int=2)}
    index.put([point(1, "green tea")])
    assert numbers(index.search(query("green tea"))[0]) == [1, 2]


@pytest.mark.case("F10")
def test_every_field_of_a_filter_has_an_index_on_either_adapter() -> None:
    asked = query("tea", tags=("x",), user_id="u")
    edges, servers = edge._filter(asked), server._filter(asked)
    assert isinstance(servers.must, list)
    assert isinstance(servers.must_not, list)
    fields = {condition.key for condition in [*(edges.must or ()), *(edges.must_not or ())]}
    same = {getattr(c, "key", None) for c in [*servers.must, *servers.must_not]}

    assert fields == same == set(edge._INDEXES) == set(server._INDEXES)


def test_a_hundred_tags_and_any_unicode_in_the_payload_do_no_harm(
    index: MemoryIndex,
) -> None:
    odd = replace(
        point(1, "tea"), tags=("タグ", "a b", "ünï", '"', "x" * 128), user_id="usér/\u202e"
    )
    index.put([odd])

    for leg in index.search(query("tea", tags=("ünï",), user_id="usér/\u202e")):
        assert numbers(leg) == [1]
