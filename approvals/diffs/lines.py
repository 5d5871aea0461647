"""Which lines changed, which changed line became which, and what changed inside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rapidfuzz.distance import Indel

from approvals.diffs.align import LINES, Budget, Match, matches
from approvals.diffs.words import Piece, diff_words

LineKind = Literal["equal", "insert", "delete", "change"]

LEAST_ALIKE = 0.5  # below it two lines are not shown as one that changed
MOST_COMPARISONS = 2_500  # of lines with lines, in one gap


@dataclass(frozen=True, slots=True)
class Side:
    """A line, or several joined by newlines, as it stands before or after. ``number`` is
    that of its first line, from 1."""

    number: int
    pieces: tuple[Piece, ...]

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces)


@dataclass(frozen=True, slots=True)
class Line:
    """``before`` is None for an insert, ``after`` for a delete."""

    kind: LineKind
    before: Side | None
    after: Side | None

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """Those of both sides."""
        return tuple(p for side in (self.before, self.after) if side for p in side.pieces)

    @property
    def is_marked(self) -> bool:
        """Whether words inside the line are marked, not the line as a whole."""
        return self.kind == "change" and len(self.pieces) > 2


def diff_lines(before: list[str], after: list[str], budget: Budget) -> Iterator[Line]:
    """All lines of both sides in reading order, each deletion before the insertion."""
    a = b = 0
    for match in [*matches(before, after, budget), Match(len(before), len(after), 0)]:
        yield from _gap(before, after, range(a, match.a), range(b, match.b), budget)
        for n in range(match.length):
            piece = (Piece("equal", before[match.a + n]),)
            sides = Side(match.a + n + 1, piece), Side(match.b + n + 1, piece)
            yield Line("equal", *sides)
        a, b = match.a + match.length, match.b + match.length


def deleted(texts: Sequence[str], number: int) -> Line:
    """Lines that went, as one; ``number`` counts from 1."""
    return Line("delete", Side(number, (Piece("delete", "\n".join(texts)),)), None)


def inserted(texts: Sequence[str], number: int) -> Line:
    """Lines that came, as one; ``number`` counts from 1."""
    return Line("insert", None, Side(number, (Piece("insert", "\n".join(texts)),)))


def _gap(
    before: list[str], after: list[str], left: range, right: range, budget: Budget
) -> Iterator[Line]:
    a, b = left.start, right.start
    pairs = _pairs(before[a : left.stop], after[b : right.stop], budget)
    for i, j in [*((a + i, b + j) for i, j in pairs), (left.stop, right.stop)]:
        yield from (deleted(before[n:end], n + 1) for n, end in _blocks(a, i))
        yield from (inserted(after[n:end], n + 1) for n, end in _blocks(b, j))
        if i < left.stop and j < right.stop:
            yield _change(before[i], after[j], i + 1, j + 1, budget)
        a, b = i + 1, j + 1


def _blocks(start: int, end: int) -> Iterator[tuple[int, int]]:
    """Single lines, or one block where there are more than a page can hold."""
    step = 1 if end - start <= LINES else end - start
    return ((n, n + step) for n in range(start, end, step))


def _change(before: str, after: str, a: int, b: int, budget: Budget) -> Line:
    pieces: list[Piece] = []
    if budget.lasts() and budget.pieces > 0:
        pieces = diff_words(before, after, budget)
    if not pieces or len(pieces) > budget.pieces:
        budget.spent_out = True
        pieces = []
    if not any(piece.kind == "equal" and not piece.text.isspace() for piece in pieces):
        pieces = [Piece("delete", before), Piece("insert", after)]
    budget.pieces -= len(pieces)
    return Line(
        "change",
        Side(a, tuple(piece for piece in pieces if piece.kind != "insert")),
        Side(b, tuple(piece for piece in pieces if piece.kind != "delete")),
    )


def _pairs(left: list[str], right: list[str], budget: Budget) -> list[tuple[int, int]]:
    """Positions of lines that became one another, in order on both sides."""
    if not left or not right:
        return []
    if len(left) == len(right) == 1:
        return [(0, 0)]
    comparisons = len(left) * len(right)
    cells = (sum(map(len, left)) + 64) * (sum(map(len, right)) + 64)
    if comparisons <= MOST_COMPARISONS and budget.take(cells):
        return _most_alike(left, right)
    paired = min(len(left), LINES) if len(left) == len(right) else 0
    if paired < max(len(left), len(right)):
        budget.spent_out = True
    return [(n, n) for n in range(paired)]


def _most_alike(left: list[str], right: list[str]) -> list[tuple[int, int]]:
    alike = [
        [Indel.normalized_similarity(x, y, score_cutoff=LEAST_ALIKE) for y in right]
        for x in left
    ]
    rows, columns = len(left), len(right)
    # best[i][j]: the most likeness that pairs of lines from i and from j on can reach.
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    for i in reversed(range(rows)):
        for j in reversed(range(columns)):
            paired = alike[i][j] + best[i + 1][j + 1] if alike[i][j] else 0.0
            best[i][j] = max(best[i + 1][j], best[i][j + 1], paired)
    pairs: list[tuple[int, int]] = []
    i = j = 0
    while i < rows and j < columns and best[i][j]:
        if best[i][j] == best[i + 1][j]:
            i += 1
        elif best[i][j] == best[i][j + 1]:
            j += 1
        else:
            pairs.append((i, j))
            i, j = i + 1, j + 1
    return pairs
