"""What changed inside lines, word by word, the way a person would mark it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import Literal

from approvals.diffs.align import Budget, matches
from memories.shapes import shape

Kind = Literal["equal", "insert", "delete"]

# Over the shape of a text: words with their marks, apostrophes and decimals; characters
# of unspaced scripts one by one; an emoji with all that belongs to it. No group is
# possessive: before 3.11.5 Python gives back a character too many of one that is.
_TOKEN = re.compile(
    r"[wdi](?:[wdimIq~vVjk]|a(?=[wdi])|(?<=d)o(?=d))*"
    r"|[cC][mIqvVjk]*+"
    r"|[eF](?:[~vmtZ]|j(?=[eF])|(?<=j)[eF])*"
    r"|gg|s++|rn|.",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text: on both sides, only after (insert), or only before (delete)."""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Change:
    """Tokens ``a:a_end`` on the left were replaced by ``b:b_end`` on the right."""

    a: int
    a_end: int
    b: int
    b_end: int


def tokens(text: str) -> list[str]:
    """``text`` cut into words, white space and single signs; they join back to it."""
    return [text[m.start() : m.end()] for m in _TOKEN.finditer(shape(text))]


def diff_words(before: str, after: str, budget: Budget) -> list[Piece]:
    """The pieces in reading order, each deletion before the insertion in its place."""
    left, right = tokens(before), tokens(after)
    return list(_pieces(changes(left, right, budget), left, right))


def changes(
    left: list[str], right: list[str], budget: Budget, *, keep_islands: bool = False
) -> list[Change]:
    """Where two lists of tokens differ, in order; with ``keep_islands`` also around single
    words in common, which else count as changed with what is around them."""
    found = _between_words(left, right, budget)
    if not keep_islands:
        found = iter(_without_islands(found, left, right))
    return [_trimmed(change, left, right) for change in found]


def _between_words(left: list[str], right: list[str], budget: Budget) -> Iterator[Change]:
    """Words are aligned first and white space only between them: a blank that matches any
    other blank would pull words apart."""
    a_words = [n for n, part in enumerate(left) if not part.isspace()]
    b_words = [n for n, part in enumerate(right) if not part.isspace()]
    found = matches([left[n] for n in a_words], [right[n] for n in b_words], budget)
    a = b = 0
    pairs = ((m.a + n, m.b + n) for m in found for n in range(m.length))
    ends = ((a_words[i], b_words[j]) for i, j in pairs)
    for a_end, b_end in chain(ends, [(len(left), len(right))]):
        if left[a:a_end] != right[b:b_end]:
            yield Change(a, a_end, b, b_end)
        a, b = a_end + 1, b_end + 1


def _without_islands(
    found: Iterable[Change], left: list[str], right: list[str]
) -> list[Change]:
    """Equal words between two changes become part of one change when they are no longer
    than both: a few words kept out of a rewritten sentence only confuse."""
    lefts, rights = _weights(left), _weights(right)

    def size(change: Change) -> int:
        return max(
            lefts[change.a_end] - lefts[change.a], rights[change.b_end] - rights[change.b]
        )

    done: list[Change] = []
    for change in found:
        done.append(change)
        while len(done) > 1:
            first, second = done[-2:]
            island = lefts[second.a] - lefts[first.a_end]
            sizes = size(first), size(second)
            if not all(sizes) or island > min(sizes):
                break
            done[-2:] = [Change(first.a, second.a_end, first.b, second.b_end)]
    return done


def _weights(parts: list[str]) -> list[int]:
    """Characters up to each token, white space left out: a blank alone joins nothing."""
    lengths = (0 if part.isspace() else len(part) for part in parts)
    return list(accumulate(lengths, initial=0))


def _pieces(found: list[Change], left: list[str], right: list[str]) -> Iterator[Piece]:
    a = 0
    for change in found:
        yield from _piece("equal", left[a : change.a])
        yield from _piece("delete", left[change.a : change.a_end])
        yield from _piece("insert", right[change.b : change.b_end])
        a = change.a_end
    yield from _piece("equal", left[a:])


def _piece(kind: Kind, parts: list[str]) -> Iterator[Piece]:
    if parts:
        yield Piece(kind, "".join(parts))


def _trimmed(change: Change, left: list[str], right: list[str]) -> Change:
    """The change without the tokens that both sides begin or end with."""
    a, a_end, b, b_end = change.a, change.a_end, change.b, change.b_end
    while a < a_end and b < b_end and left[a] == right[b]:
        a, b = a + 1, b + 1
    while a < a_end and b < b_end and left[a_end - 1] == right[b_end - 1]:
        a_end, b_end = a_end - 1, b_end - 1
    return Change(a, a_end, b, b_end)
