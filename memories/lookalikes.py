"""Words that mix scripts so that one letter passes for another. No Django in here."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

# Code points whose class is kept at hand. More than any two texts have, or it would be
# worked out over and over; not all there are, or a hostile text takes memory for good.
MOST_REMEMBERED = 200_000

# Letters with a twin in another script. The weak Greek ones are also the signs of
# physics and mathematics (rho g h), so they count only among Latin letters.
_LATIN_TWINS = frozenset("ABCEHKMOPTXYaceiopxyj")
_CYRILLIC_TWINS = frozenset("АВЕЅІЈКМНОРСТУХаеіјорсухѕһԁԛԝӏҮҺ")
_GREEK_TWINS = frozenset("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧο")
_GREEK_WEAK = frozenset("αγιηκνρυχω")
# Scripts that ordinary text never sets within one word with Latin.
_STRANGE = frozenset({"ARMENIAN", "CHEROKEE", "COPTIC", "LISU", "DESERET", "OSAGE"})

# Greek, Cyrillic and the strange ones: without a letter of theirs no word is mixed.
_OTHER = re.compile(
    "[\u0370-\u058f\u13a0-\u13ff\u1c80-\u1c8f\u1d00-\u1dbf\u1f00-\u1fff\u2100-\u214f"
    "\u2c80-\u2cff\u2de0-\u2dff\ua4d0-\ua4ff\ua640-\ua69f\uab30-\uabbf\ufb13-\ufb17"
    "\U00010400-\U0001044f\U000104b0-\U000104ff\U0001d400-\U0001d7ff\U0001e030-\U0001e08f"
    "\U00011fb0]"
)

# A word: letters, marks and digits of the scripts that can be confused.
_WORD = re.compile(r"[LlCcGgWwAn]+")
_MIXED = re.compile(
    r"(?=.*[Ll])(?:"
    r".*A"
    r"|.*(?<![Cc])C+(?![Cc])"  # a run of Cyrillic that is twins throughout
    r"|.*(?<![GgWw])G+(?![GgWw])"
    r"|.*(?<=[Ll])[GW]+(?=[Ll])"
    r"|[GW](?=[Ll]{3})"
    r"|(?=.*[Cc]).*(?<![Ll])L+(?![Ll])"  # Latin twins in a Cyrillic word
    r"|.*(?<=[GgWw])L+(?=[GgWw])"
    r")"
)


class _Scripts(dict[int, str]):
    """One letter for each code point, worked out when first asked."""

    def __missing__(self, point: int) -> str:
        if len(self) > MOST_REMEMBERED:
            self.clear()
        self[point] = _script(chr(point))
        return self[point]


def _script(character: str) -> str:
    category = unicodedata.category(character)
    if category[0] == "M" or category == "Nd":
        return "n"
    if category[0] != "L":
        return "."
    name = unicodedata.name(character, "").partition(" ")[0]
    match name:
        case "LATIN":
            return "L" if character in _LATIN_TWINS else "l"
        case "CYRILLIC":
            return "C" if character in _CYRILLIC_TWINS else "c"
        case "GREEK" if character in _GREEK_TWINS:
            return "G"
        case "GREEK":
            return "W" if character in _GREEK_WEAK else "g"
        case _:
            return "A" if name in _STRANGE else "."


_SCRIPTS = _Scripts()


def mixed_words(text: str) -> Iterator[tuple[int, int]]:
    """Spans of words in which a letter of one script stands for one of another, in order."""
    if not _OTHER.search(text):
        return
    scripts = text.translate(_SCRIPTS)
    for word in _WORD.finditer(scripts):
        # A longer run is no word, and the pattern is not linear in its length.
        if len(word[0]) <= 200 and len(set(word[0])) > 1 and _MIXED.match(word[0]):
            yield word.span()
