"""What a merge keeps of each source, and what its result says that no source did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from time import thread_time

from approvals.diffs.align import PIECES, Budget
from approvals.diffs.texts import COARSE
from approvals.diffs.words import Kind, Piece, changes, tokens

NOT_COMPARED = "Not compared: there is too much text."


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """A source, with what the result leaves out of it as pieces of kind delete."""

    label: str
    pieces: tuple[Piece, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SourcesDiff:
    """One column for each source, in the order given. In ``result`` the pieces of kind
    insert come from no source."""

    columns: tuple[SourceColumn, ...]
    result: tuple[Piece, ...]
    notes: tuple[str, ...] = ()


def diff_sources(
    sources: Sequence[tuple[str, str]], result: str, *, deadline_seconds: float = 0.5
) -> SourcesDiff:
    """The sources, as (label, text), against the text they are merged into.

    Past the deadline a source is shown without marks, and a note says so.
    """
    ends_at = thread_time() + deadline_seconds
    right = tokens(result)
    is_new = [True] * len(right)
    columns = [_column(label, text, right, is_new, ends_at) for label, text in sources]
    is_whole = not any(column.notes for column in columns)
    return SourcesDiff(
        tuple(columns),
        _pieces(right, is_new, "insert"),
        () if is_whole else (COARSE,),
    )


def _column(
    label: str, text: str, right: list[str], is_new: list[bool], ends_at: float
) -> SourceColumn:
    """The column of one source; what the result has from it is no longer new."""
    budget = Budget(ends_at)
    if not budget.lasts():
        return SourceColumn(label, (Piece("equal", text),), (NOT_COMPARED,))
    left = tokens(text)
    is_lost = [False] * len(left)
    at = 0
    for change in changes(left, right, budget, keep_islands=True):
        is_lost[change.a : change.a_end] = [True] * (change.a_end - change.a)
        is_new[at : change.b] = [False] * (change.b - at)
        at = change.b_end
    is_new[at:] = [False] * (len(right) - at)
    notes = (COARSE,) if budget.spent_out else ()
    return SourceColumn(label, _pieces(left, is_lost, "delete"), notes)


def _pieces(parts: list[str], is_marked: list[bool], kind: Kind) -> tuple[Piece, ...]:
    runs = groupby(zip(parts, is_marked, strict=True), lambda pair: pair[1])
    pieces = tuple(
        Piece(kind if marked else "equal", "".join(part for part, _ in run))
        for marked, run in runs
    )
    # More marks than this are no help to anyone, and slow to show.
    return pieces if len(pieces) <= PIECES else (Piece("equal", "".join(parts)),)
