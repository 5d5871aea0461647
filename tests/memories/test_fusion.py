from __future__ import annotations

import random
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.fusion import fuse
from memories.index.base import Leg


def leg(name: str, *hits: tuple[int, float]) -> Leg:
    return Leg(name, tuple((UUID(int=number), score) for number, score in hits))


def test_first_in_both_legs_scores_one() -> None:
    first, second = fuse([leg("dense", (1, 0.9), (2, 0.8)), leg("bm25", (1, 7.0))])

    assert (first.id.int, first.score, first.cosine) == (1, 1.0, 0.9)
    assert second.id.int == 2
    assert second.score == pytest.approx(1 / 5 / (1 / 4 + 1 / 4))


def test_first_in_the_only_leg_that_was_asked_scores_one() -> None:
    (hit,) = fuse([leg("bm25", (1, 7.0))])

    assert (hit.score, hit.cosine) == (1.0, None)


def test_first_in_one_leg_while_the_other_found_nothing_scores_half() -> None:
    (hit,) = fuse([leg("dense", (1, 0.9)), leg("bm25")])

    assert hit.score == 0.5


def test_no_leg_and_empty_legs_give_no_hit() -> None:
    assert fuse([]) == []
    assert fuse([leg("dense"), leg("bm25")]) == []


def test_equal_scores_go_to_the_higher_cosine() -> None:
    legs = [leg("dense", (1, 0.9), (2, 0.8)), leg("bm25", (2, 5.0), (1, 4.0))]

    assert [hit.id.int for hit in fuse(legs)] == [1, 2]


def test_a_cosine_that_the_caller_knows_breaks_a_tie() -> None:
    legs = [leg("dense", (1, 0.5)), leg("bm25", (2, 5.0))]

    assert [hit.id.int for hit in fuse(legs)] == [1, 2]
    better = fuse(legs, cosines={UUID(int=2): 0.6})
    assert [(hit.id.int, hit.cosine) for hit in better] == [(2, 0.6), (1, 0.5)]


def test_twins_go_to_the_newer_memory() -> None:
    twins = [(1, 0.9), (3, 0.9), (2, 0.9)]

    assert [hit.id.int for hit in fuse([leg("dense", *twins), leg("bm25", *twins)])] == [
        3,
        2,
        1,
    ]


def test_noise_in_the_last_digits_changes_nothing() -> None:
    one = fuse([leg("dense", (1, 0.80000001), (2, 0.8))])
    other = fuse([leg("dense", (2, 0.80000001), (1, 0.8))])

    assert [hit.id for hit in one] == [hit.id for hit in other]


hits = st.dictionaries(
    st.integers(1, 40), st.sampled_from([0.2, 0.5, 0.5001, 0.9]), max_size=30
)


@given(hits, hits, st.randoms(use_true_random=False))
def test_the_order_never_depends_on_the_order_of_the_input(
    dense: dict[int, float], bm25: dict[int, float], chance: random.Random
) -> None:
    shuffled = [list(dense.items()), list(bm25.items())]
    for items in shuffled:
        chance.shuffle(items)
    straight = fuse([leg("dense", *dense.items()), leg("bm25", *bm25.items())])

    assert straight == fuse([leg("dense", *shuffled[0]), leg("bm25", *shuffled[1])])
    assert {hit.id.int for hit in straight} == dense.keys() | bm25.keys()
    scores = [hit.score for hit in straight]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)
