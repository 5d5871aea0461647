"""Texts that are slow to compare or to show: any two are a page in a second."""

from __future__ import annotations

import random
import time

import pytest
from django.template.loader import render_to_string

from approvals.diffs import Piece, TextDiff, diff_sources, diff_text
from approvals.diffs.texts import COARSE, MANY_HIDDEN
from approvals.templatetags.desk import visible_change

LIMIT = 65_536  # characters of content that an agent may send


def html(diff: TextDiff) -> str:
    return render_to_string("approvals/_diff.html", {"diff": diff})


def test_sources_that_take_too_long_are_shown_unmarked_with_a_sentence() -> None:
    diff = diff_sources([("A", "one"), ("B", "two")], "three", deadline_seconds=-1)

    assert diff.columns[0].pieces == (Piece("equal", "one"),)
    assert diff.columns[0].notes
    assert diff.notes == (COARSE,)


def test_masses_of_hidden_characters_are_signs_and_a_sentence() -> None:
    diff = diff_text("", "a\u200b" * 30_000)

    assert MANY_HIDDEN in diff.notes
    page = html(diff)
    assert "\u200b" not in page
    assert page.count("\ufffd") >= 30_000
    assert len(page) < 200_000


def test_masses_of_changed_blanks_are_shown_without_a_sign_for_each() -> None:
    assert len(visible_change(" " * 60_000)) == 60_000


def words(seed: int) -> str:
    pick = random.Random(seed)
    return " ".join(f"word{pick.randrange(500)}" for _ in range(LIMIT // 7))[:LIMIT]


def code_points(seed: int) -> str:
    pick = random.Random(seed)
    return "".join(chr(pick.randrange(0x10000, 0x30000)) for _ in range(LIMIT))


EXTREMES = {
    "shrinking zeros": (
        "\n".join("0" * n for n in range(1_000, 0, -1)),
        "\n".join("0" * n + "x" for n in range(1_000, 0, -1)),
    ),
    "200 kB each": (words(1) * 3, words(2) * 3),
    "one line of 100 kB": ("a" * 100_000, "b" * 100_000),
    "no line against many": ("x", "\n" * 64_000),
    "every other line": ("a\nb\n" * (LIMIT // 4), "a\nc\n" * (LIMIT // 4)),
    "every line": ("a\n" * (LIMIT // 2), "b\n" * (LIMIT // 2)),
    "lines all different": (
        "\n".join(map(str, range(11_000))),
        "\n".join(f"-{n}" for n in range(11_000)),
    ),
    "every other word": (words(3), words(3).replace("word1", "term1")),
    "marks": ("\u0301" * LIMIT, "\u0323" * LIMIT),
    "marks in another order": ("e\u0301\u0323" * 20_000, "e\u0323\u0301" * 20_000),
    "han": ("認証" * (LIMIT // 2), "証認" * (LIMIT // 2 - 1)),
    "all different": (code_points(1), code_points(2)),
    "hidden": ("a\u200b" * (LIMIT // 2), "b\u200b" * (LIMIT // 2)),
    "lookalikes": ("pаypal " * (LIMIT // 7), "pаypаl " * (LIMIT // 7)),
    "to escape": ("<" * LIMIT, "&" * LIMIT),
    "blanks": (" \t" * (LIMIT // 2), "\t " * (LIMIT // 2)),
}


@pytest.mark.case("D8")
@pytest.mark.parametrize("name", EXTREMES)
def test_any_two_texts_are_a_page_in_a_second(name: str) -> None:
    before, after = EXTREMES[name]
    html(diff_text("warm", "up"))
    began = time.thread_time()

    page = html(diff_text(before, after))

    # In CPU time, and with room for a machine that is slower or busy: this is about what
    # never ends.
    assert time.thread_time() - began < 4
    assert len(page.encode()) < 2_000_000
    assert page.count("</") < 25_000


@pytest.mark.case("D8")
@pytest.mark.parametrize("name", ["200 kB each", "every line", "lines all different"])
def test_a_coarse_diff_says_so(name: str) -> None:
    diff = diff_text(*EXTREMES[name])

    assert diff.is_coarse
    assert COARSE in diff.notes
    assert COARSE in html(diff)
