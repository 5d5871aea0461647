"""The benchmark of what recall finds, on a small file of its own."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import UUID

import pytest

from bench import quality
from bench.quality import Asked

FILE = Path(__file__).with_name("conversations.json")
MEMORIES = [UUID(int=n) for n in range(20)]


def asked(text: str, *evidence: int) -> Asked:
    return Asked(MEMORIES[0], text, frozenset(MEMORIES[n] for n in evidence))


def test_recall_is_the_share_of_the_evidence_averaged_over_the_questions() -> None:
    questions = [asked("one", 1), asked("two", 2, 9), asked("three", 3)]
    rankings = [MEMORIES[:5], MEMORIES[:10], MEMORIES[4:]]

    assert quality.score(questions, rankings, 5) == pytest.approx((1 + 1 / 2 + 0) / 3)
    assert quality.score(questions, rankings, 10) == pytest.approx((1 + 1 + 0) / 3)
    assert quality.score(questions, rankings, 1) == 0


def test_each_question_is_in_one_half_and_always_the_same() -> None:
    questions = [asked(f"question {n}", 1) for n in range(200)]
    rankings = [MEMORIES[:5] if q.is_half_a else [] for q in questions]

    assert quality.score(questions, rankings, 5, "A") == 1
    assert quality.score(questions, rankings, 5, "B") == 0
    assert 0.4 < quality.score(questions, rankings, 5) < 0.6


@pytest.mark.django_db
def test_a_file_is_measured_through_recall_and_for_each_leg_alone() -> None:
    filled = quality.fill(quality.read(FILE))

    head, hybrid, bm25, dense = quality.table(filled)

    assert head.startswith("recall@1, @5 and @10")
    assert [line.split()[0] for line in (hybrid, bm25, dense)] == [
        "hybrid,",
        "bm25",
        "dense",
    ]
    assert hybrid.split("answers")[1].split()[1:3] == ["1.000", "1.000"]
    wanted = {q.text: q.evidence for q in filled.questions}
    assert set(quality.recalled(filled.questions[3])) >= wanted["Who ordered a lamp?"]


@pytest.mark.django_db
def test_sweeps_come_out_the_same_each_time() -> None:
    filled = quality.fill(quality.read(FILE))

    one, two = ([line[:90] for line in quality.table(filled, sweep=True)] for _ in range(2))

    assert one == two
    assert any(line.startswith("bm25, no stop words") for line in one)


def test_a_question_without_its_evidence_is_named(tmp_path: Path) -> None:
    content = json.loads(FILE.read_text())
    content["conversations"][1]["questions"][0]["evidence"] = ["o9"]
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps(content))

    with pytest.raises(SystemExit, match=r"Who ordered a lamp.*office"):
        quality.read(path)


def test_without_a_file_the_pairs_of_sentences_ask_for_each_other() -> None:
    (conversation,) = quality.read(None)

    assert len(conversation["turns"]) == len(conversation["questions"]) == 30
