from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.characters import MOST_FOLDED, fold
from memories.index.edge import encode_document, encode_query
from memories.text import MOST_EXPANDED, expand, normalize

LIMIT = 65_536  # characters of content that an agent may send


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("plain words stay", "plain words stay"),
        ("see RULE-A002 now", "see RULE-A002 RULE_A002 now"),
        ("v1.2.3", "v1.2.3 v1_2_3"),
        ("src/jobs/drain.py", "src/jobs/drain.py src_jobs_drain_py"),
        ("a - b", "a - b"),
        ("end.", "end."),
        ("-word", "-word"),
        ("認", " 認 "),
        ("認証シ", " 認証 証シ "),
        ("JWT認証を", "JWT 認証 証を "),
        ("이메일", " 이메 메일 "),
        ("ＡＢＣ－１", "ABC-1 ABC_1"),
        ("Children went home", "child go home"),
        ("left_over lefty", "left_over lefty"),
        ("jobs/left.py", "jobs/leave.py jobs_left_py"),
    ],
)
def test_what_a_tokenizer_misses_is_written_out(text: str, expected: str) -> None:
    assert expand(text) == expected


@given(st.text(max_size=300))
def test_normalizing_in_pieces_gives_nfkc(text: str) -> None:
    assert normalize(text) == unicodedata.normalize("NFKC", text)


def test_a_long_text_in_parts_normalizes_as_a_whole() -> None:
    text = "か\u3099き\u3099" * 1_000  # nothing but letters and marks, nowhere to cut

    assert normalize(text) == unicodedata.normalize("NFKC", text)


@given(st.text(max_size=300))
def test_any_text_has_a_document_and_a_query(text: str) -> None:
    indices, values = encode_document(text)
    assert len(indices) == len(values)
    assert set(encode_query(text)[0]) == set(indices)


# Each of these grew with the square of its length, to between 3 and 33 seconds, in some
# version of the patterns or in Python's own normalization. An agent may send any of them,
# and nobody else is served meanwhile. Counted in CPU time, so a busy machine still passes;
# the slowest, which grows eighteenfold when normalized, takes 0.3 s.
@pytest.mark.parametrize(
    "text",
    [
        "認" * LIMIT,
        "認-" * (LIMIT // 2),
        "a" * LIMIT,
        "a-" * (LIMIT // 2),
        "a--" * (LIMIT // 3),
        "_" * LIMIT,
        ("a" + "\u0301\u0323" * LIMIT)[:LIMIT],
        ("a" + "\u0301" * (LIMIT // 2) + "\u0323" * LIMIT)[:LIMIT],
        ("\uff9e\u0323" * LIMIT)[:LIMIT],
        "\ufdfa" * LIMIT,
    ],
    ids=[
        "han",
        "joined han",
        "a",
        "a-",
        "a--",
        "_",
        "marks",
        "two marks",
        "dakuten",
        "fdfa",
    ],
)
def test_no_text_takes_more_than_linear_time(text: str) -> None:
    began = time.thread_time()
    encode_document(text)
    assert time.thread_time() - began < 1.5


def test_what_grows_when_it_is_written_out_is_cut() -> None:
    for text in ("\ufdfa" * 65_536, "\ufdfa\u0301" * 32_768, "\ufdfa" * 340_000):
        assert len(expand(text)) < 6 * MOST_EXPANDED
        assert len(fold(text)) <= MOST_FOLDED
