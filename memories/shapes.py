"""Texts as the classes of their characters.

The *shape* of a text is a string of the same length with one letter for the class of each
character. Patterns over the shape need no tables of their own. No Django in here.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from itertools import chain

from memories.lookalikes import MOST_REMEMBERED


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


BIDI = _points("061C 200E-200F 202A-202E 2066-2069")
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
    if point in BIDI:
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


def shape(text: str) -> str:
    """The class of each character of ``text``, in a string of the same length."""
    return text.translate(_CLASSES)
