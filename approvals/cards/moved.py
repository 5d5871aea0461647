"""The three-way view of a target that moved on: as drafted, now, as proposed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from approvals import diffs
from approvals.cards.targets import Target

MOST_SHOWN = 3
SECONDS = 0.15  # for the diffs of all of them together


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """``now`` and ``proposed`` are each against the text as drafted; ``proposed`` is None
    where the proposal brings no text for this target."""

    target: Target
    now: diffs.TextDiff
    proposed: diffs.TextDiff | None


@dataclass(frozen=True, slots=True)
class AllMoved:
    """The first few; ``more`` counts the others."""

    shown: tuple[Moved, ...]
    more: int


def moved_among(targets: Sequence[Target], proposed: str | None) -> AllMoved:
    """``proposed`` is the text that would replace a single target, else None."""
    moved = [target for target in targets if target.has_moved]
    shown = moved[:MOST_SHOWN]
    seconds = SECONDS / max(1, len(shown)) / (1 if proposed is None else 2)
    return AllMoved(
        tuple(_moved(target, proposed, seconds) for target in shown),
        len(moved) - len(shown),
    )


def _moved(target: Target, proposed: str | None, seconds: float) -> Moved:
    drafted = target.drafted.content
    return Moved(
        target=target,
        now=diffs.diff_text(drafted, target.shown.content, deadline_seconds=seconds),
        proposed=None
        if proposed is None
        else diffs.diff_text(drafted, proposed, deadline_seconds=seconds),
    )
