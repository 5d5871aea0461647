"""Text as the lexical leg of the index sees it. No Django in here."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

from memories.irregular import regular

# Scripts written without spaces between words (and Hangul, whose words carry endings).
_UNSPACED = re.compile(
    "[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af\u0e00-\u0eff"
    "\u1000-\u109f\u1780-\u17ff\U00020000-\U0003ffff々ー]+"
)
# The look-behind and the possessive `++` keep this linear: without them 64k Han
# characters, which any agent may send, take half a minute.
_IDENTIFIER = re.compile(r"(?<!\w)\w++(?:[-.:/@]\w++)+")
_JOINT = re.compile(r"[-.:/@]")

# Python reorders a run of combining marks by insertion, in quadratic time: 64k of
# them take seconds with the GIL held. A text with such a run is normalized in pieces. ASCII
# never joins with what stands before it, so a piece may begin with one; a longer stretch
# without ASCII is cut. Only one: a pattern that ran over all of them would begin again at
# each, and be quadratic itself.
_MARKS = "".join(c for c in map(chr, range(0x300, 0x1E950)) if unicodedata.combining(c))
# Normalizing makes marks of these as well.
_MARKS += "\u0f73\u0f75\u0f81\uff9e\uff9f"
_LONG_RUN = re.compile(f"[{_MARKS}]{{32}}")
_PIECE = re.compile(r"[\x00-\x7f]?[^\x00-\x7f]{1,128}+")


# Twice what a memory may hold. A query has no limit of its own, and NFKC makes eighteen
# characters of one.
MOST_EXPANDED = 131_072


def normalize(text: str, form: Literal["NFC", "NFKC"] = "NFKC") -> str:
    """NFKC or NFC in a time that grows with the length of the text, whatever is in it."""
    if text.isascii():
        return text
    if not _LONG_RUN.search(text):
        return unicodedata.normalize(form, text)
    return _PIECE.sub(lambda piece: unicodedata.normalize(form, piece[0]), text)


def expand(text: str) -> str:
    """The text with what a word tokenizer misses written out beside it.

    Identifiers appear a second time as one word (``RULE-A002 RULE_A002``); runs of a
    script without spaces become overlapping pairs (``認証シ`` gives ``認証 証シ``); irregular
    English forms become regular (``went`` gives ``go``). What lies beyond ``MOST_EXPANDED``
    characters, as sent or as NFKC writes them out, is left off.
    """
    plain = normalize(text[:MOST_EXPANDED])[:MOST_EXPANDED]
    text = _IDENTIFIER.sub(lambda found: f"{found[0]} {_JOINT.sub('_', found[0])}", plain)
    return _UNSPACED.sub(lambda run: f" {_pairs(run[0])} ", regular(text))


def _pairs(run: str) -> str:
    if len(run) == 1:
        return run
    return " ".join(run[i : i + 2] for i in range(len(run) - 1))
