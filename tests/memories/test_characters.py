from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memories import characters, lookalikes
from memories.characters import (
    Segment,
    count_hidden,
    findings,
    fold,
    has_visible,
    remove_hidden,
    replace_hidden,
    segments,
)
from memories.shapes import shape

FAMILY = "\N{MAN}\u200d\N{WOMAN}\u200d\N{GIRL}\u200d\N{BOY}"
ENGLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"

# Plain text does not draw the characters this is about often enough.
AWKWARD = st.text(
    st.sampled_from(
        "aé \t\r\n.,'1_-🏴👨🚀क्षन\u0301\u0323\u200b\u200c\u200d\ufe0f\u202e\u2066\u00ad\u034f"
        "\u115f\u3164\u2800\ue000\U000e0067\U000e007f\U000e0041\U0001f1e9\u2028\x00\x85аοИᄀ가"
        "ßẞİςﬁ\ufeff\ud800\uffa0\u0345"
    ),
    max_size=40,
)
ANY = st.one_of(st.text(max_size=60), AWKWARD)


@pytest.mark.case("D7")
@pytest.mark.parametrize(
    "text",
    [
        "naïve café Здравствуйте العربية",
        "nai\u0308ve cafe\u0301",  # the same, decomposed
        f"a family {FAMILY} and a flag \U0001f1e9\U0001f1ea",
        f"{ENGLAND} won",
        "\U0001f3f3\ufe0f\u200d\U0001f308 and 1\ufe0f\u20e3 and \u2764\ufe0f\u200d\U0001f525",
        "\U0001f468\U0001f3fd\u200d\U0001f680 in space",
        "\U0001fae8 is younger than some tables",
        "می\u200cخواهم خانه\u200cها",
        "क्\u200dष and क्\u200cष",
        "\u0d28\u0d4d\u200d",  # Malayalam, a joiner at the end of the word
        "日本語とEnglishとカタカナ、한국어 mixed",
        "葛\U000e0100城",  # an ideographic variation
        "TNFα, kΩ, 10 μm, ρgh, Δx, hν, 2πr, λx",
        "SMSка и USB-кабель",
        "line\r\nline\n\ttab",
        "snake_case_имя",
        "",
    ],
)
def test_ordinary_writing_of_the_world_is_no_finding(text: str) -> None:
    assert findings(text) == ()
    assert "".join(s.text for s in segments(text) if not s.label) == text


@pytest.mark.case("D6")
@pytest.mark.parametrize(
    ("hidden", "code"),
    [
        *((c, "bidi_control") for c in "\u202a\u202e\u2066\u2069\u200e\u200f\u061c"),
        *((c, "hidden_character") for c in "\u200b\u200c\u200d\u2060\ufeff\u00ad"),
        *(
            (c, "hidden_character")
            for c in "\U000e0041\U000e007f\U000e0001\ufe0f\U000e0100"
        ),
        *((c, "hidden_character") for c in "\x00\x1b\x7f\x85\r\v\u2028\u2029\ue000\ud800"),
        *(
            (c, "hidden_character")
            for c in "\u115f\u1160\u3164\uffa0\u2800\u180e\u034f\u2064"
        ),
        ("\u0378", "hidden_character"),  # unassigned
        ("\uffff", "hidden_character"),
    ],
)
def test_a_hidden_character_is_found_where_it_stands_and_shown_as_a_token(
    hidden: str, code: str
) -> None:
    text = f"pay{hidden}pal now"
    label = f"U+{ord(hidden):04X}"

    (finding,) = findings(text)

    assert (finding.code, finding.start, finding.end) == (code, 3, 4)
    assert label in finding.message
    token = segments(text)[1]
    assert (token.text, token.label) == (hidden, label)
    assert token.title


@pytest.mark.parametrize(
    "text",
    [
        "\u2764\ufe0f\ufe0f",  # a second selector selects nothing
        "x\ufe0f",
        f"{FAMILY}\u200d",
        "\U0001f3f4\U000e0067\U000e0062",  # a flag of tags that never ends
        "\U0001f3f4" + "\U000e0061" * 40 + "\U000e007f",  # a message in place of a region
        "a\u200cb",
        "م\u200c م",
    ],
)
def test_hidden_characters_out_of_their_place_are_found(text: str) -> None:
    assert [finding.code for finding in findings(text)] == ["hidden_character"]


@pytest.mark.parametrize(
    "word",
    [
        "pаypal",
        "аpple",
        "Micrоsoft",
        "Mосква",
        "Киiв",
        "gοogle",
        "Αpple",
        "pαypal",
        "cοde",
        "аdmin",
        "օpen",
        "Ꭺpple",
        "раypal2",
    ],
)
def test_a_word_that_mixes_lookalike_scripts_is_found(word: str) -> None:
    text = f"log in to {word}, please"

    (finding,) = findings(text)

    assert finding.code == "mixed_script"
    assert text[finding.start : finding.end] == word


def test_a_run_of_one_hidden_character_is_one_token() -> None:
    assert segments("a\u200b\u200b\u200bb")[1] == Segment(
        "\u200b" * 3, "U+200B ×3", "ZERO WIDTH SPACE"
    )


def test_findings_stop_at_the_most_that_were_asked_for() -> None:
    text = "a\u200b" * 60_000

    assert len(findings(text)) == 100
    assert len(findings(text, most=3)) == 3


@given(ANY)
def test_segments_join_back_to_the_text(text: str) -> None:
    assert "".join(segment.text for segment in segments(text)) == text


@given(ANY)
def test_a_finding_is_a_span_that_holds_something(text: str) -> None:
    for finding in findings(text):
        assert 0 <= finding.start < finding.end <= len(text)


@given(ANY)
def test_the_shape_is_as_long_as_the_text(text: str) -> None:
    assert len(shape(text)) == len(text)


@given(ANY)
@example("\u0130\u0345")
@example("a\u200b\u0301")
@example("\u1100\u200b\u1161")
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@given(ANY)
def test_a_text_folds_like_its_decomposition(text: str) -> None:
    assert fold(unicodedata.normalize("NFD", text)) == fold(text)


@pytest.mark.case("G31")
@pytest.mark.parametrize(
    "other",
    [
        "THE CODE IS ZQX-7781",
        "  the code\n\tis   zqx-7781\r\n",
        "the c\u200bode \u202eis zqx\u00ad-7781\ufeff",
        "ｔｈｅ code is ZQX-７７８１",
        "the\u00a0code\u2003is zqx-7781\u2029",
        "t\U000e0041he co\u034fde is zqx-7781\ufe0f",
    ],
)
def test_texts_that_read_the_same_fold_to_the_same(other: str) -> None:
    assert fold(other) == fold("the code is zqx-7781")


def test_texts_that_read_differently_do_not_fold_to_the_same() -> None:
    assert len({fold(t) for t in ("", "a", "b", "a b", "ab", "á", "\ue000", "а")}) == 8


@pytest.mark.parametrize(
    "text", ["a", "認", "👍", "\u0301", "!", "٣", "\U0001fae8", " x ", "\ue000"]
)
def test_what_can_be_seen_is_visible(text: str) -> None:
    assert has_visible(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \t\r\n",
        "\u200b\u200d\ufeff",
        "\u00a0\u2003\u3000",
        "\u2800\u3164\u115f\uffa0",
        "\x00",
        "\U000e0041\U000e007f",
        "\ufe0f",
        "\u202e\u2066",
        "\u2028",
        "\u00ad",
        "\ud800",
        "\uffff",
    ],
)
def test_what_cannot_be_seen_is_not_visible(text: str) -> None:
    assert not has_visible(text)


def test_a_text_taken_for_plain_holds_nothing_hidden() -> None:
    plain = [c for c in map(chr, range(0x110000)) if characters._PLAIN.fullmatch(c)]

    assert len(plain) > 30_000
    assert not set(shape("".join(plain))) & set("bxujkvVtZr")


def test_every_letter_of_another_script_makes_a_text_worth_a_look() -> None:
    letters = [c for c in map(chr, range(0x110000)) if lookalikes._script(c) in "CcGgWwA"]

    assert [c for c in letters if not lookalikes._OTHER.match(c)] == []


def test_a_text_is_what_is_left_without_its_hidden_characters() -> None:
    assert remove_hidden("a\u200b\u202eb \r\nc\u00ad") == "ab \r\nc"
    assert replace_hidden("a\u200b\u202eb\u00ad") == "a\ufffd\ufffdb\ufffd"
    assert count_hidden("a\u200b\u202eb\u00ad \N{MAN}\u200d\N{WOMAN}") == 3
