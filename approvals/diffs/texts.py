"""Two texts, line by line, with what did not change folded away."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from time import thread_time

from approvals.diffs.align import LINES, Budget
from approvals.diffs.lines import Line, Side, deleted, diff_lines, inserted
from approvals.diffs.notes import TWINS, has_twins, notes_on
from approvals.diffs.words import Piece
from memories.characters import count_hidden, replace_hidden

CONTEXT = 3  # unchanged lines shown on each side of a change
FOLD_FROM = 4  # a shorter run of unchanged lines is no longer than the line that hides it
MOST_TOKENS = 1_000  # hidden characters named one by one

COARSE = "Too much changed to compare in full: some parts are marked as a whole."
MANY_HIDDEN = "There are more than 1,000 hidden characters; each is shown as �."

_LINE = re.compile(r"\r\n|\n")


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines in a row. Folded: unchanged ones, to be shown when asked for."""

    lines: tuple[Line, ...]
    is_folded: bool = False

    @property
    def count(self) -> int:
        """How many lines of text there are, also where several stand as one."""
        sides = (line.after or line.before for line in self.lines)
        return sum(side.text.count("\n") + 1 for side in sides if side)


@dataclass(frozen=True, slots=True)
class TextDiff:
    """``notes`` say what the eye would miss. Joined by newlines, the ``before`` sides of
    all lines are the text before, the ``after`` sides the text after (line ends and masses
    of hidden characters aside)."""

    hunks: tuple[Hunk, ...]
    notes: tuple[str, ...] = ()
    is_equal: bool = False
    is_coarse: bool = False

    @property
    def lines(self) -> tuple[Line, ...]:
        return tuple(line for hunk in self.hunks for line in hunk.lines)

    @property
    def is_numbered(self) -> bool:
        """Whether there is more than one line, so that numbers help."""
        sides = [s for line in self.lines for s in (line.before, line.after) if s]
        return any(side.number > 1 or "\n" in side.text for side in sides)


def diff_text(before: str, after: str, *, deadline_seconds: float = 0.5) -> TextDiff:
    """How ``before`` became ``after``; an empty ``before`` is a text that is new.

    Past the deadline, or past what a page can hold, lines stand in blocks and are marked
    as a whole, and a note says so.
    """
    budget = Budget(thread_time() + deadline_seconds)
    lines = list(diff_lines(_lines(before, after), _lines(after, before), budget))
    if _size(lines) > LINES:
        budget.spent_out = True
        lines = _with_one_end(lines)
    hunks = list(_hunks(lines))
    if len(lines) > LINES:
        hunks = [replace(hunk, lines=tuple(_joined(hunk.lines))) for hunk in hunks]
    notes = notes_on(before, after)
    if not any("normalisation" in note for note in notes) and budget.lasts():
        pieces = [piece for line in lines for piece in line.pieces]
        gone, came = ([p.text for p in pieces if p.kind == k] for k in ("delete", "insert"))
        notes += (TWINS,) if has_twins(gone, came) else ()
    if count_hidden(before) + count_hidden(after) > MOST_TOKENS:
        hunks = [replace(h, lines=tuple(map(_briefly, h.lines))) for h in hunks]
        notes += (MANY_HIDDEN,)
    if budget.spent_out:
        notes += (COARSE,)
    return TextDiff(tuple(hunks), notes, before == after, budget.spent_out)


def _lines(text: str, other: str) -> list[str]:
    """Lines without their ends. Where only one of the texts ends in a newline, the empty
    line behind it is there to be seen."""
    if not text:
        return []
    lines = _LINE.split(text)
    if lines[-1] == "" and (not other or other.endswith("\n")):
        lines.pop()
    return lines


def _hunks(lines: list[Line]) -> Iterator[Hunk]:
    runs = [(k, list(run)) for k, run in groupby(lines, lambda x: x.kind == "equal")]
    shown: list[Line] = []
    for number, (is_equal, run) in enumerate(runs):
        start = CONTEXT if number else 0
        end = len(run) - (CONTEXT if number < len(runs) - 1 else 0)
        if not is_equal or end - start < FOLD_FROM:
            shown += run
            continue
        if shown or start:
            yield Hunk((*shown, *run[:start]))
        yield Hunk(tuple(run[start:end]), is_folded=True)
        shown = run[end:]
    if shown:
        yield Hunk(tuple(shown))


def _size(lines: list[Line]) -> int:
    """How many lines there would be if each run of one kind were one."""
    runs = groupby(lines, lambda line: line.kind)
    return sum(len(list(run)) if kind == "change" else 1 for kind, run in runs)


def _with_one_end(lines: list[Line]) -> list[Line]:
    """The lines up to the most a page can hold; the rest went and came as a whole."""
    kept, room = 0, LINES - 2
    for kind, group in groupby(lines, lambda line: line.kind):
        run = len(list(group))
        size = run if kind == "change" else 1
        kept += min(run, room) if kind == "change" or room else 0
        room -= size
        if room < 0:
            break
    before = [line.before for line in lines[kept:] if line.before]
    after = [line.after for line in lines[kept:] if line.after]
    end: list[Line] = []
    if before:
        end.append(deleted([side.text for side in before], before[0].number))
    if after:
        end.append(inserted([side.text for side in after], after[0].number))
    return [*lines[:kept], *end]


def _joined(lines: Sequence[Line]) -> Iterator[Line]:
    """Each run of lines of one kind as one line, except those with words marked."""
    for kind, group in groupby(lines, lambda line: line.kind):
        run = list(group)
        if kind == "change":
            yield from run
        else:
            before = _joined_side([line.before for line in run if line.before])
            after = _joined_side([line.after for line in run if line.after])
            yield Line(kind, before, after)


def _joined_side(sides: list[Side]) -> Side | None:
    if not sides:
        return None
    text = "\n".join(side.text for side in sides)
    return Side(sides[0].number, (Piece(sides[0].pieces[0].kind, text),))


def _briefly(line: Line) -> Line:
    def side(old: Side | None) -> Side | None:
        return old and Side(
            old.number, tuple(Piece(p.kind, replace_hidden(p.text)) for p in old.pieces)
        )

    return Line(line.kind, side(line.before), side(line.after))
