"""What single characters are: seen, hidden, part of an emoji or of a joining script.

Everything is read from the shape of a text. No Django in here.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from memories.lookalikes import mixed_words
from memories.shapes import BIDI, shape
from memories.text import normalize

# NFKC makes eighteen of one character; all of them, folded in rounds, take seconds.
MOST_FOLDED = 65_536
MOST_FINDINGS = 100


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of text. With a ``label`` ("U+202E") it is to be shown as that token,
    ``title`` naming the character; without, as it is."""

    text: str
    label: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about ``text[start:end]`` that a person cannot see. ``code`` is one of
    ``bidi_control``, ``hidden_character``, ``mixed_script``."""

    code: str
    start: int
    end: int
    message: str


# What is in its place comes first: a flag of tags, a joiner that spells a word or an
# emoji, a selector after what it selects. Group 1 is what is not.
_HIDDEN = re.compile(
    r"Ft{3,6}Z"
    r"|(?<=q)[jk]|(?<=[iICq])[jk](?=[iIC])"
    r"|(?<=[eFgv~Z])j(?=[eF])"
    r"|(?<=[eFgcCi])v|(?<=d)v(?=m)|(?<=c)V"
    r"|rn"
    r"|((?:[bxujkvVtZ]|r(?!n))+)"
)
_UNSEEN = re.compile(r"[bxjkvVtZ]+")
# Most texts of the world hold nothing else, and need no shape to say that all is seen.
_PLAIN = re.compile(
    r"[\t\n\x20-\x7e\xa0-\xac\xae-\u024f\u0400-\u052f\u2010-\u2027\u3000-\u3029"
    r"\u3041-\u3096\u309b-\u30ff\u4e00-\u9fff\uac00-\ud7a3]*"
)
_VISIBLE = re.compile(r"[wicCdmIq~aopeFgu]")
_NAMES = {
    "\0": "NULL", "\x07": "BELL", "\b": "BACKSPACE", "\v": "LINE TABULATION",
    "\f": "FORM FEED", "\r": "CARRIAGE RETURN", "\x1b": "ESCAPE", "\x7f": "DELETE",
    "\x85": "NEXT LINE",
}  # fmt: skip
_KINDS = {
    "Cc": "CONTROL CHARACTER",
    "Cs": "LONE SURROGATE",
    "Co": "PRIVATE USE CHARACTER",
    "Cn": "UNASSIGNED CODE POINT",
}


def label_of(character: str) -> str:
    """The code point as people write it: "U+202E"."""
    return f"U+{ord(character):04X}"


def name_of(character: str) -> str:
    """The Unicode name, or what kind of character it is where it has none."""
    if character in _NAMES:
        return _NAMES[character]
    kind = _KINDS.get(unicodedata.category(character), "UNNAMED CHARACTER")
    return unicodedata.name(character, kind)


def segments(text: str, *, most: int | None = None) -> tuple[Segment, ...]:
    """``text`` cut into what is seen and tokens for what is hidden, in order; the
    segments' texts join back to ``text``. Once there are more than ``most``, the rest of
    the text is left out: who asked will show it otherwise."""
    parts: list[Segment] = []
    at = 0
    for start, end in _hidden_spans(text):
        if start > at:
            parts.append(Segment(text[at:start]))
        for char, run in groupby(text[start:end]):
            if most is not None and len(parts) > most:
                return tuple(parts)
            parts.append(_token(char, len(list(run))))
        at = end
    if at < len(text):
        parts.append(Segment(text[at:]))
    return tuple(parts)


def count_hidden(text: str) -> int:
    """How many characters of ``text`` are hidden where they stand."""
    return sum(end - start for start, end in _hidden_spans(text))


def replace_hidden(text: str) -> str:
    """``text`` with the sign � for each hidden character."""
    parts: list[str] = []
    at = 0
    for start, end in _hidden_spans(text):
        parts += (text[at:start], "\ufffd" * (end - start))
        at = end
    return "".join((*parts, text[at:]))


def remove_hidden(text: str) -> str:
    """``text`` without characters that show nothing by themselves, wherever they stand;
    white space stays."""
    if _PLAIN.fullmatch(text):
        return text
    parts: list[str] = []
    at = 0
    for match in _UNSEEN.finditer(shape(text)):
        start, end = match.span()
        parts += (text[at:start], *filter(str.isspace, text[start:end]))
        at = end
    return "".join((*parts, text[at:]))


def findings(text: str, *, most: int = MOST_FINDINGS) -> tuple[Finding, ...]:
    """What a person cannot see in ``text``, by position, the first ``most`` of them.

    Spelling and emoji that need hidden characters (Persian, Hindi, families, flags) and
    words of one script are no finding.
    """
    found: list[Finding] = []
    for start, end in _hidden_spans(text):
        if len(found) == most:
            break
        found.append(_hidden_finding(text[start:end], start))
    for (start, end), _ in zip(mixed_words(text), range(most), strict=False):
        message = f"The word “{text[start:end]}” mixes letters of scripts that look alike."
        found.append(Finding("mixed_script", start, end, message))
    return tuple(sorted(found, key=lambda finding: finding.start)[:most])


def fold(text: str) -> str:
    """``text`` as people read it: NFKC, case, white space and hidden characters folded,
    up to its first ``MOST_FOLDED`` characters as NFKC writes them out.

    Folding again changes nothing. Two texts with equal folds differ in nothing seen.
    """
    text = normalize(text[:MOST_FOLDED])[:MOST_FOLDED]
    # Case, composition and removal undo one another in rare letters; text settles in
    # two or three rounds, and a bound beats a proof.
    for _ in range(8):
        folded = _fold_once(text)
        if folded == text:
            break
        text = folded
    return text


def has_visible(text: str) -> bool:
    """Whether anything in ``text`` can be seen; white space and hidden characters cannot."""
    return _VISIBLE.search(shape(text)) is not None


def _fold_once(text: str) -> str:
    text = normalize(normalize(text).casefold())
    text = remove_hidden(text)
    return normalize(" ".join(text.split()))


def _hidden_spans(text: str) -> Iterator[tuple[int, int]]:
    if _PLAIN.fullmatch(text):
        return
    for match in _HIDDEN.finditer(shape(text)):
        if match.group(1):
            yield match.span(1)


def _token(character: str, count: int) -> Segment:
    times = f" ×{count}" if count > 1 else ""
    return Segment(character * count, label_of(character) + times, name_of(character))


def _hidden_finding(hidden: str, start: int) -> Finding:
    names = [f"{label_of(c)} {name_of(c)}" for c in dict.fromkeys(hidden)]
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    end = start + len(hidden)
    if any(ord(character) in BIDI for character in hidden):
        message = f"{shown}: changes the direction in which the text is shown."
        return Finding("bidi_control", start, end, message)
    return Finding("hidden_character", start, end, f"{shown}: cannot be seen.")
