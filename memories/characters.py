"""What single characters are: seen, hidden, part of an emoji or of a joining script.

Everything is read from the *shape* of a text: a string of the same length with one
letter for the class of each character. Patterns over the shape need no tables.
No Django in here.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, groupby

from memories.lookalikes import MOST_REMEMBERED, mixed_words
from memories.text import normalize

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


def _bounds(ranges: str) -> tuple[int, ...]:
    """Where each range of "00AD 202A-202E" begins and where it is over, in order."""
    parts = (part.partition("-") for part in ranges.split())
    ends = ((int(first, 16), int(last or first, 16) + 1) for first, _, last in parts)
    return tuple(chain.from_iterable(ends))


def _points(ranges: str) -> frozenset[int]:
    bounds = _bounds(ranges)
    pairs = zip(bounds[::2], bounds[1::2], strict=True)
    return frozenset(point for pair in pairs for point in range(*pair))


def _is_within(point: int, bounds: tuple[int, ...]) -> bool:
    return bisect_right(bounds, point) % 2 == 1


_BIDI = _points("061C 200E-200F 202A-202E 2066-2069")
# Letters, marks and symbols that show nothing; everything else hidden has category C or Z.
_BLANK = _points("034F 115F-1160 17B4-17B5 180B-180F 2800 3164 FFA0")
_VISIBLE_FORMAT = _points("0600-0605 06DD 070F 0890-0891 08E2 110BD 110CD")
# Scripts whose spelling needs ZWJ and ZWNJ, and scripts written without spaces.
_JOINING = _bounds(
    "0600-0DFF 0F00-109F 1780-18AF 1A20-1CFF A800-AADF FB50-FDFF FE70-FEFE 10A00-11FFF"
)
_UNSPACED = _bounds(
    "0E00-0EFF 1000-109F 1780-17FF 2E80-2FFF 3005-3007 3040-30FF 31F0-31FF 3400-9FFF "
    "F900-FAFF 20000-3FFFD"
)
_FIXED = {
    0x09: "s", 0x0A: "n", 0x0D: "r", 0x27: "a", 0x2019: "a", 0x2E: "o", 0x2C: "o", 0x3A: "o",
    0x5F: "w", 0x23: "e", 0x2A: "e", 0x203C: "e", 0x2049: "e", 0x2139: "e", 0x3030: "e",
    0x200C: "k", 0x200D: "j", 0x1F3F4: "F", 0xE007F: "Z",
}  # fmt: skip


def _class_of(point: int) -> str:
    """The letter for a code point.

    Letters w (joining i), unspaced c (joining C), d digit, marks m (joining I, virama q),
    ~ skin tone, s space, n and r line ends, a apostrophe, o . , :, p other visible,
    e emoji or symbol, F black flag, g flag letter; b bidi control, j ZWJ, k ZWNJ,
    v and V variation selector, t and Z tag, x other hidden, u private or unassigned.
    """
    if 0x20000 <= point <= 0x2FFFD:
        return "c"
    if point in _FIXED:
        return _FIXED[point]
    if point in _BIDI:
        return "b"
    if 0xFE00 <= point <= 0xFE0F:
        return "v"
    if 0xE0100 <= point <= 0xE01EF:
        return "V"
    if 0xE0030 <= point <= 0xE0039 or 0xE0061 <= point <= 0xE007A:
        return "t"
    if 0x1F1E6 <= point <= 0x1F1FF:
        return "g"
    if 0x1F3FB <= point <= 0x1F3FF:
        return "~"
    return _class_by_category(point)


def _class_by_category(point: int) -> str:
    category = unicodedata.category(chr(point))
    if point in _BLANK or category in ("Cc", "Cs", "Zl", "Zp"):
        return "x"
    if category == "Cf":
        return "p" if point in _VISIBLE_FORMAT else "x"
    unspaced = _is_within(point, _UNSPACED)
    if category in ("Co", "Cn"):
        # Emoji and ideographs younger than this Python's tables are not hidden.
        if 0x1F000 <= point <= 0x1FAFF:
            return "e"
        noncharacter = point & 0xFFFE == 0xFFFE or 0xFDD0 <= point <= 0xFDEF
        return "x" if noncharacter else "c" if unspaced else "u"
    joining = _is_within(point, _JOINING)
    if category[0] == "M":
        virama = unicodedata.combining(chr(point)) == 9
        return "q" if virama else "I" if joining else "m"
    if category[0] == "L" or category in ("Nl", "No"):
        return ("C" if joining else "c") if unspaced else ("i" if joining else "w")
    return {"Nd": "d", "Zs": "s", "So": "e", "Sm": "e"}.get(category, "p")


class _Classes(dict[int, str]):
    """The class of each code point, worked out when first asked."""

    def __missing__(self, point: int) -> str:
        if len(self) > MOST_REMEMBERED:
            self.clear()
        self[point] = _class_of(point)
        return self[point]


_CLASSES = _Classes()

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


def shape(text: str) -> str:
    """The class of each character of ``text``, in a string of the same length."""
    return text.translate(_CLASSES)


def label_of(character: str) -> str:
    """The code point as people write it: "U+202E"."""
    return f"U+{ord(character):04X}"


def name_of(character: str) -> str:
    """The Unicode name, or what kind of character it is where it has none."""
    if character in _NAMES:
        return _NAMES[character]
    kind = _KINDS.get(unicodedata.category(character), "UNNAMED CHARACTER")
    return unicodedata.name(character, kind)


def segments(text: str) -> tuple[Segment, ...]:
    """``text`` cut into what is seen and tokens for what is hidden, in order; the
    segments' texts join back to ``text``."""
    parts: list[Segment] = []
    at = 0
    for start, end in _hidden_spans(text):
        if start > at:
            parts.append(Segment(text[at:start]))
        parts += [_token(char, len(list(run))) for char, run in groupby(text[start:end])]
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
    """``text`` as people read it: NFKC, case, white space and hidden characters folded.

    Folding again changes nothing. Two texts with equal folds differ in nothing seen.
    """
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
    if any(ord(character) in _BIDI for character in hidden):
        message = f"{shown}: changes the direction in which the text is shown."
        return Finding("bidi_control", start, end, message)
    return Finding("hidden_character", start, end, f"{shown}: cannot be seen.")
