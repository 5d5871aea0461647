"""Differences that a person cannot see, said in words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import Literal

from approvals.diffs.words import tokens
from memories.characters import remove_hidden
from memories.text import normalize

TWINS = "Some marked words differ only in Unicode normalisation and look the same."

Aspect = Literal[
    "letter case",
    "hidden characters",
    "Unicode normalisation",
    "white space",
    "the newline at the end",
    "line endings",
]

_LINE_END = re.compile(r"\r\n?|\n")
# Longer texts are not folded whole to find out; the diff itself still shows everything.
_MOST = 300_000


# In the order they are applied, which is the order to test whether one can be left out:
# the wider before the narrower (white space before line endings).
_FOLDS: dict[Aspect, Callable[[str], str]] = {
    "letter case": str.casefold,
    "hidden characters": remove_hidden,
    "Unicode normalisation": lambda text: normalize(text, "NFC"),
    "white space": lambda text: "".join(text.split()),
    "the newline at the end": lambda text: text.rstrip("\r\n"),
    "line endings": lambda text: _LINE_END.sub("\n", text),
}


def folded(text: str, aspects: frozenset[Aspect]) -> str:
    """``text`` without what these aspects are about."""
    for aspect, fold in _FOLDS.items():
        if aspect in aspects:
            text = fold(text)
    return text


def differing_aspects(before: str, after: str) -> frozenset[Aspect]:
    """The aspects in which alone the texts differ; none when they differ in more."""
    aspects = frozenset(_FOLDS)
    if before == after or len(before) + len(after) > _MOST:
        return frozenset()
    if folded(before, aspects) != folded(after, aspects):
        return frozenset()
    for aspect in _FOLDS:
        fewer = aspects - {aspect}
        if folded(before, fewer) == folded(after, fewer):
            aspects = fewer
    return aspects


def has_twins(gone: Iterable[str], came: Iterable[str]) -> bool:
    """Whether a word that came looks exactly like one that went and is not it."""
    went, now = (
        {word for text in texts for word in tokens(text) if not word.isascii()}
        for texts in (gone, came)
    )
    left, right = ({normalize(w, "NFC") for w in side} for side in (went - now, now - went))
    return not left.isdisjoint(right)


def notes_on(before: str, after: str) -> tuple[str, ...]:
    """Sentences on what the texts differ in and a person cannot see; none for a text that
    is new or gone."""
    if before == after:
        return ("The texts are the same.",)
    if not before or not after:
        return ()
    aspects = differing_aspects(before, after)
    if not aspects:
        ends = _endings(before), _endings(after)
        if "none" in ends or ends[0] == ends[1]:
            return ()
        return (f"The line endings differ too: {ends[0]} before, {ends[1]} after.",)
    named = [aspect for aspect in _FOLDS if aspect in aspects]
    listed = " and ".join(filter(None, [", ".join(named[:-1]), named[-1]]))
    detail = _detail(before, after, named[0]) if len(named) == 1 else ""
    return (f"Only {listed} {'differ' if _plural(named) else 'differs'}{detail}.",)


def _plural(named: list[Aspect]) -> bool:
    return len(named) > 1 or named[0] in ("hidden characters", "line endings")


def _detail(before: str, after: str, aspect: Aspect) -> str:
    match aspect:
        case "line endings":
            return f": {_endings(before)} before, {_endings(after)} after"
        case "the newline at the end":
            counts = [
                len(_LINE_END.findall(t[len(t.rstrip("\r\n")) :])) for t in (before, after)
            ]
            return ": {} before, {} after".format(*(n or "none" for n in counts))
        case "Unicode normalisation":
            forms = (_form(before), _form(after))
            if forms[0] == forms[1]:
                return "; both look the same"
            return f": {forms[0]} before, {forms[1]} after; both look the same"
        case "white space" if ("\t" in before) != ("\t" in after):
            sides = ("tabs", "spaces") if "\t" in before else ("spaces", "tabs")
            return f": {sides[0]} before, {sides[1]} after"
        case _:
            return ""


def _endings(text: str) -> str:
    names = {"\n": "LF", "\r\n": "CRLF", "\r": "CR"}
    found = dict.fromkeys(names[end] for end in _LINE_END.findall(text))
    return " and ".join(found) or "none"


def _form(text: str) -> str:
    if normalize(text, "NFC") == text:
        return "NFC"
    return "NFD" if unicodedata.is_normalized("NFD", text) else "neither NFC nor NFD"
