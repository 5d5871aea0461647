"""Words that mix scripts so that one letter passes for another. No Django in here."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

# Letters with a twin in another script. The weak Greek ones are also the signs of
# physics and mathematics (rho g h), so they count only among Latin letters.
_LATIN_TWINS = frozenset("ABCEHKMOPTXYaceiopxyj")
_CYRILLIC_TWINS = frozenset("АВЕЅІЈКМНОРСТУХаеіјорсухѕһԁԛԝӏҮҺ")
_GREEK_TWINS = frozenset("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧο")
_GREEK_WEAK = frozenset("αγιηκνρυχω")
# Scripts that ordinary text never sets within one word with Latin.
_STRANGE = frozenset({"ARMENIAN", "CHEROKEE", "COPTIC", "LISU", "DESERET", "OSAGE"})

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
        if len(self) > 50_000:  # hostile text must not fill the memory for good
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
    if text.isascii():
        return
    scripts = text.translate(_SCRIPTS)
    for word in _WORD.finditer(scripts):
        # A longer run is no word, and the pattern is not linear in its length.
        if len(word[0]) <= 200 and len(set(word[0])) > 1 and _MIXED.match(word[0]):
            yield word.span()
