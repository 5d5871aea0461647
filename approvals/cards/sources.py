"""The sources of a merge beside its result, as many whole as a card holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from approvals import diffs
from approvals.cards.targets import Target

MOST_PIECES = 4_000  # marked and unmarked stretches of all sources together


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A column; ``hidden`` counts the characters that are left out of it."""

    label: str
    memory_id: UUID
    pieces: tuple[diffs.Piece, ...]
    notes: tuple[str, ...]
    hidden: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Compared in full, shown as far as there is room."""

    columns: tuple[Source, ...]
    result: tuple[diffs.Piece, ...]
    notes: tuple[str, ...]


def sources_of(targets: Sequence[Target], result: str, *, seconds: float) -> Sources:
    texts = [(str(number), t.shown.content) for number, t in enumerate(targets, 1)]
    diff = diffs.diff_sources(texts, result, deadline_seconds=seconds)
    columns: list[Source] = []
    room = MOST_PIECES
    for target, column in zip(targets, diff.columns, strict=True):
        pieces = tuple(_beginning(column.pieces, len(target.excerpt)))
        notes = column.notes
        room -= len(pieces)
        if room < 0 and len(pieces) > 1:
            pieces, notes = (diffs.Piece("equal", target.excerpt),), (diffs.NOT_COMPARED,)
        columns.append(
            Source(
                label=column.label,
                memory_id=target.memory.pk,
                pieces=pieces,
                notes=notes,
                hidden=target.hidden,
            )
        )
    return Sources(columns=tuple(columns), result=diff.result, notes=diff.notes)


def _beginning(pieces: Sequence[diffs.Piece], length: int) -> Iterator[diffs.Piece]:
    for piece in pieces:
        if length <= 0:
            return
        yield diffs.Piece(piece.kind, piece.text[:length])
        length -= len(piece.text)
