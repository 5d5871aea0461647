"""Which parts of two sequences are the same, within a budget of time and memory."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import thread_time

from rapidfuzz.distance import LCSseq

# A cell of the table of one comparison is a bit; this many take about 50 ms and 20 MB.
CELLS = 150_000_000
# Each piece of text and each line is an element of the page.
PIECES = 4_000
LINES = 1_000


@dataclass(slots=True)
class Budget:
    """What one diff may still spend. ``spent_out`` turns true with the first part that
    had to be left uncompared."""

    ends_at: float
    cells: int = CELLS
    pieces: int = PIECES
    spent_out: bool = field(default=False, init=False)

    def lasts(self) -> bool:
        """Whether there is time left: of this thread's own, or a busy machine would get
        coarser diffs than an idle one."""
        return thread_time() <= self.ends_at

    def take(self, cells: int) -> bool:
        """Whether a comparison of this many cells may run; if so it is paid."""
        if cells > self.cells or not self.lasts():
            return False
        self.cells -= cells
        return True


@dataclass(frozen=True, slots=True)
class Match:
    """``length`` items from ``a`` on the left equal those from ``b`` on the right."""

    a: int
    b: int
    length: int


def matches(left: Sequence[str], right: Sequence[str], budget: Budget) -> list[Match]:
    """Equal stretches, in order on both sides; what lies between them differs.

    The most that can match when the budget allows it, else what hangs on items that
    stand once on each side, else only the common beginning and end.
    """
    # One character for each distinct item: the library is fastest on strings.
    codes: dict[str, str] = {}
    for item in (*left, *right):
        if item not in codes:
            codes[item] = _code(len(codes))
    a = "".join(map(codes.__getitem__, left))
    b = "".join(map(codes.__getitem__, right))
    found = _within(a, b, 0, 0, budget)
    if found is None:
        found = _between_anchors(a, b, budget)
    return _joined(found)


def _code(number: int) -> str:
    return chr(number if number < 0xD800 else number + 0x800)  # no surrogates


def _within(a: str, b: str, at: int, bt: int, budget: Budget) -> list[Match] | None:
    """Matches of two strings that begin at ``at`` and ``bt``; None: over budget."""
    head = _common_head(a, b)
    tail = _common_head(a[head:][::-1], b[head:][::-1])
    inner_a, inner_b = a[head : len(a) - tail], b[head : len(b) - tail]
    found = [Match(at, bt, head)] if head else []
    if inner_a and inner_b:
        if not budget.take(len(inner_a) * len(inner_b)):
            return None
        found += (
            Match(
                at + head + op.src_start,
                bt + head + op.dest_start,
                op.src_end - op.src_start,
            )
            for op in LCSseq.opcodes(inner_a, inner_b)
            if op.tag == "equal"
        )
    if tail:
        found.append(Match(at + len(a) - tail, bt + len(b) - tail, tail))
    return found


def _common_head(a: str, b: str) -> int:
    """How many characters two strings begin with in common."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _between_anchors(a: str, b: str, budget: Budget) -> list[Match]:
    """Matches around what stands once on each side; a gap over budget stays empty."""
    if not budget.lasts():
        budget.spent_out = True
        return _ends(a, b, 0, 0)
    found: list[Match] = []
    at = bt = 0
    for i, j in [*_anchors(a, b), (len(a), len(b))]:
        gap = _within(a[at:i], b[bt:j], at, bt, budget)
        if gap is None:
            budget.spent_out = True
            gap = _ends(a[at:i], b[bt:j], at, bt)
        found += gap
        if i < len(a) and j < len(b):
            found.append(Match(i, j, 1))
        at, bt = i + 1, j + 1
    return found


def _ends(a: str, b: str, at: int, bt: int) -> list[Match]:
    head = _common_head(a, b)
    tail = _common_head(a[head:][::-1], b[head:][::-1])
    ends = (Match(at, bt, head), Match(at + len(a) - tail, bt + len(b) - tail, tail))
    return [match for match in ends if match.length]


def _anchors(a: str, b: str) -> list[tuple[int, int]]:
    """Positions of characters that stand once in each, the longest run in one order."""
    once_a, once_b = _once(a), _once(b)
    pairs = [(i, once_b[c]) for c, i in once_a.items() if c in once_b]
    ends: list[int] = []  # the least right position that ends a run of each length
    which: list[int] = []  # the pair it belongs to
    before: list[int] = []
    for number, (_, j) in enumerate(pairs):
        length = bisect_left(ends, j)
        before.append(which[length - 1] if length else -1)
        if length == len(ends):
            ends.append(j)
            which.append(number)
        else:
            ends[length], which[length] = j, number
    run: list[tuple[int, int]] = []
    number = which[-1] if which else -1
    while number >= 0:
        run.append(pairs[number])
        number = before[number]
    return run[::-1]


def _once(text: str) -> dict[str, int]:
    """Where each character stands that stands once, in order."""
    counts = Counter(text)
    return {c: i for i, c in enumerate(text) if counts[c] == 1}


def _joined(found: list[Match]) -> list[Match]:
    joined: list[Match] = []
    for match in found:
        last = joined[-1] if joined else None
        if last and (last.a + last.length, last.b + last.length) == (match.a, match.b):
            joined[-1] = Match(last.a, last.b, last.length + match.length)
        else:
            joined.append(match)
    return joined
