from __future__ import annotations

import pytest
from django.template.loader import render_to_string
from hypothesis import example, given
from hypothesis import strategies as st

from approvals.diffs import (
    TextDiff,
    diff_metadata,
    diff_sources,
    diff_tags,
    diff_text,
)
from approvals.templatetags.desk import visible

PARTS = st.sampled_from(
    ["a", "b", " ", "  ", "\n", "\r\n", "\t", "the cat", "é", "e\u0301", "認", "\u200b"]
)
TEXTS = st.lists(PARTS, max_size=30).map("".join)


def html(diff: TextDiff) -> str:
    return render_to_string("approvals/_diff.html", {"diff": diff})


def marked(diff: TextDiff) -> list[tuple[str, str]]:
    """The pieces that went or came, in reading order."""
    sides = [side for line in diff.lines for side in (line.before, line.after) if side]
    return [(p.kind, p.text) for s in sides for p in s.pieces if p.kind != "equal"]


def side(diff: TextDiff, name: str) -> str:
    sides = [getattr(line, name) for line in diff.lines]
    return "\n".join(side.text for side in sides if side)


def unended(text: str) -> str:
    return text.replace("\r\n", "\n")


def test_a_changed_word_is_marked_and_nothing_around_it() -> None:
    diff = diff_text("Refunds go to Alice first.", "Refunds go to Bob first.")

    assert marked(diff) == [("delete", "Alice"), ("insert", "Bob")]
    assert not diff.is_equal
    assert diff.notes == ()


def test_a_rewritten_sentence_is_not_shredded_into_single_words() -> None:
    diff = diff_text(
        "Ask the customer for the invoice before a refund.",
        "Never pay anything back to anyone before the audit.",
    )

    assert len(marked(diff)) <= 4


def test_a_new_text_is_one_plain_addition() -> None:
    diff = diff_text("", "one\ntwo\n")

    assert [line.kind for line in diff.lines] == ["insert", "insert"]
    assert marked(diff) == [("insert", "one"), ("insert", "two")]
    assert diff.notes == ()


def test_a_text_that_goes_is_one_plain_removal() -> None:
    diff = diff_text("one\ntwo", "")

    assert marked(diff) == [("delete", "one"), ("delete", "two")]


def test_equal_texts_are_equal_and_say_so() -> None:
    diff = diff_text("tiger", "tiger")

    assert diff.is_equal
    assert marked(diff) == []
    assert diff.notes == ("The texts are the same.",)


def test_a_line_stands_beside_the_one_it_became_not_the_one_in_its_place() -> None:
    diff = diff_text("pay invoices on Friday", "a new first line\npay invoices on Monday")

    assert [line.kind for line in diff.lines] == ["insert", "change"]
    assert marked(diff)[1:] == [("delete", "Friday"), ("insert", "Monday")]
    change = diff.lines[1]
    assert change.before
    assert change.after
    assert (change.before.number, change.after.number) == (1, 2)


def test_a_line_that_went_before_a_changed_one_leaves_the_pair_together() -> None:
    diff = diff_text("an old first line\npay invoices on Friday", "pay invoices on Monday")

    assert [line.kind for line in diff.lines] == ["delete", "change"]
    assert marked(diff)[1:] == [("delete", "Friday"), ("insert", "Monday")]


def test_lines_with_little_in_common_are_not_one_that_changed() -> None:
    diff = diff_text(
        "dogs bark\npay invoices on Friday", "big zebra\npay invoices on Monday"
    )

    assert [line.kind for line in diff.lines] == ["delete", "insert", "change"]


def test_unchanged_lines_far_from_a_change_are_folded_and_still_there() -> None:
    before = "\n".join(f"line {n}" for n in range(30))

    diff = diff_text(before, before.replace("line 15", "LINE 15"))

    folded = [hunk for hunk in diff.hunks if hunk.is_folded]
    assert [hunk.count for hunk in folded] == [12, 11]
    page = html(diff)
    assert "12 unchanged lines" in page
    assert all(f"line {n}" in page for n in range(30) if n != 15)


@given(TEXTS, TEXTS)
@example("tiger", "tiger\n")
@example("a\r\nb", "a\nb\n")
@example("\n", "\n\n")
@example("a\n", "b")
def test_the_sides_of_a_diff_are_the_texts(before: str, after: str) -> None:
    diff = diff_text(before, after)

    for name, text in (("before", before), ("after", after)):
        assert side(diff, name) in (unended(text), unended(text).removesuffix("\n"))
    assert diff.is_equal == (before == after)
    if before != after:
        assert marked(diff) or diff.notes


@given(TEXTS, TEXTS)
def test_without_time_a_diff_is_coarse_and_still_whole(before: str, after: str) -> None:
    diff = diff_text(before, after, deadline_seconds=-1)

    for name, text in (("before", before), ("after", after)):
        assert side(diff, name) in (unended(text), unended(text).removesuffix("\n"))


@pytest.mark.case("D9")
@pytest.mark.parametrize(
    ("before", "after", "note"),
    [
        ("tiger", "tiger\n", "Only the newline at the end differs: none before, 1 after."),
        (
            "café",
            "cafe\u0301",
            "Only Unicode normalisation differs: NFC before, NFD after; both look the same.",
        ),
        ("a\nb\n", "a\r\nb\r\n", "Only line endings differ: LF before, CRLF after."),
        ("\tif x", "    if x", "Only white space differs: tabs before, spaces after."),
        ("a b", "a  b", "Only white space differs."),
        ("Tiger", "tiger", "Only letter case differs."),
        ("pay", "p\u200bay", "Only hidden characters differ."),
        ("Tiger x", "tiger  x", "Only letter case and white space differ."),
        (
            "a café here",
            "a cafe\u0301 there",
            "Some marked words differ only in Unicode normalisation and look the same.",
        ),
        (
            "a\nb\nc",
            "a\r\nX\r\nc",
            "The line endings differ too: LF before, CRLF after.",
        ),
    ],
)
def test_what_the_eye_would_miss_is_named(before: str, after: str, note: str) -> None:
    diff = diff_text(before, after)

    assert diff.notes == (note,)
    assert not diff.is_equal


@pytest.mark.case("D9")
def test_changed_white_space_is_shown_by_signs() -> None:
    page = html(diff_text("a b\u00a0c d", "a  b c\td"))

    assert "·" in page
    assert "→" in page
    assert "U+00A0" in page


@pytest.mark.case("G11")
def test_line_ends_as_a_browser_posts_them_mark_no_line() -> None:
    diff = diff_text("one\ntwo\nthree", "one\r\ntwo\r\nthree")

    assert marked(diff) == []


@pytest.mark.parametrize("hidden", "\u202e\u2066\u200b\u00ad\U000e0041")
@pytest.mark.case("D6")
def test_hidden_characters_are_tokens_everywhere_and_never_sent_as_they_are(
    hidden: str,
) -> None:
    text, label = f"a{hidden}b", f"U+{ord(hidden):04X}"
    pages = [
        html(diff_text("", text)),
        html(diff_text("a b", text)),
        render_to_string("approvals/_text.html", {"text": text}),
        render_to_string("approvals/_diff_tags.html", {"diff": diff_tags([], [text])}),
        render_to_string(
            "approvals/_diff_metadata.html",
            {"rows": diff_metadata({text: 1, "k": 1}, {"k": {text: [text]}})},
        ),
        render_to_string(
            "approvals/_diff_sources.html", {"diff": diff_sources([(text, text)], text)}
        ),
    ]

    for page in pages:
        assert hidden not in page
        assert f">{label}</span>" in page


@pytest.mark.case("D7")
@pytest.mark.parametrize(
    "text",
    [
        "naïve café Здравствуйте العربية",
        "\N{MAN}\u200d\N{WOMAN}\u200d\N{GIRL}",
        "می\u200cخواهم",
    ],
)
def test_ordinary_writing_is_shown_as_it_is(text: str) -> None:
    assert visible(text) == text
    page = html(diff_text("", text))
    assert text in page
    assert 'dir="auto"' in page
    assert "token" not in page


def test_a_word_that_mixes_scripts_is_marked_as_one_word() -> None:
    page = visible("log in to pаypal, p\u034faypаl")

    assert page.count('class="lookalike"') == 3
    assert ">pаypal</span>, " in page
    assert "U+034F" in page


@pytest.mark.case("D10")
@pytest.mark.parametrize(
    "hostile",
    [
        "<img src=x onerror=alert(1)>",
        "<script>alert(1)</script>",
        "<div hx-get=/x hx-trigger=load>",
        "\"><b title='",
        "{{ 7|add:7 }}{% now 'Y' %}",
    ],
)
def test_markup_in_a_text_stays_text(hostile: str) -> None:
    with_token = f"{hostile}\u200b"
    pages = [
        html(diff_text("", hostile)),
        html(diff_text("x <i> y", f"x {with_token} y")),
        render_to_string("approvals/_text.html", {"text": with_token}),
        render_to_string("approvals/_diff_tags.html", {"diff": diff_tags([], [hostile])}),
        render_to_string(
            "approvals/_diff_metadata.html",
            {"rows": diff_metadata({}, {hostile: {hostile: hostile}})},
        ),
        render_to_string(
            "approvals/_diff_sources.html",
            {"diff": diff_sources([(hostile, hostile)], hostile)},
        ),
    ]

    for page in pages:
        for part in ("<img", "<script", "<div hx", '"><b', "<i>", "<b "):
            assert part not in page
        assert "hx-disable" in page


def test_each_side_carries_a_sign_not_only_a_colour() -> None:
    page = html(diff_text("one two", "one three"))

    assert 'aria-label="removed">−</span>' in page
    assert 'aria-label="added">+</span>' in page
    assert "<del>two</del>" in page
    assert "<ins>three</ins>" in page


def test_tags_are_kept_added_and_removed_exactly() -> None:
    diff = diff_tags(["billing", "Refund", "vip"], ["vip", "refund", "billing"])

    assert (diff.kept, diff.added, diff.removed) == (
        ("vip", "billing"),
        ("refund",),
        ("Refund",),
    )
    assert not diff.is_equal
    assert diff_tags(["a", "b"], ["b", "a"]).is_equal


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ({}, {"k": None}, "insert"),
        ({"k": ""}, {}, "delete"),
        ({"k": {"a": 1, "b": 2}}, {"k": {"b": 2, "a": 1}}, "equal"),
        ({"k": 1}, {"k": True}, "change"),
        ({"k": 1}, {"k": 1.0}, "change"),
        ({"k": 10**30}, {"k": 10**30 + 1}, "change"),
    ],
)
def test_metadata_is_compared_as_json(
    before: dict[str, object], after: dict[str, object], kind: str
) -> None:
    (row,) = diff_metadata(before, after)

    assert row.kind == kind


@pytest.mark.case("G16")
def test_odd_metadata_is_shown_raw() -> None:
    deep: object = "bottom"
    for _ in range(20):
        deep = {"ключ": [deep]}
    metadata = {f"\u202eodd {n} 認": n for n in range(40)} | {"deep": deep, "": {}}

    rows = diff_metadata({}, metadata)

    assert len(rows) == 42
    page = render_to_string("approvals/_diff_metadata.html", {"rows": rows})
    assert "bottom" in page
    assert "ключ" in page
    assert page.count("U+202E") == 40


def test_changed_metadata_comes_first_and_the_rest_of_very_many_keys_as_one() -> None:
    before: dict[str, object] = {f"k{n}": n for n in range(5_000)}

    rows = diff_metadata(before, before | {"k4000": 4000.0, "k4999": "changed"})

    assert [row.key for row in rows[:3]] == ["k4000", "k4999", "k0"]
    assert len(rows) == 201
    assert rows[-1].key is None
    assert '"k4998": 4998' in rows[-1].after


def test_a_merge_shows_what_is_lost_of_each_source_and_what_is_new() -> None:
    diff = diff_sources(
        [("A", "Alice likes green tea."), ("B", "Alice lives in Oslo.")],
        "Alice likes tea and lives in Oslo and Rome.",
    )

    first, second = diff.columns
    assert [p.text.strip() for p in first.pieces if p.kind == "delete"] == ["green"]
    assert all(piece.kind == "equal" for piece in second.pieces)
    new = " ".join(piece.text for piece in diff.result if piece.kind == "insert")
    assert "Rome" in new
    assert "Oslo" not in new
    assert "tea" not in new
    assert "".join(piece.text for piece in diff.result).endswith("and Rome.")
