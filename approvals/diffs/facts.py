"""What changed in tags and in metadata."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import thread_time
from typing import Literal

from approvals.diffs.texts import TextDiff, diff_text

MOST_ROWS = 200
DEADLINE_SECONDS = 0.2  # for all values of one metadata together
# Indented JSON of deep arrays is fifty times as long as the JSON.
MOST_INDENTED = 4_000


@dataclass(frozen=True, slots=True)
class TagsDiff:
    """Each in the order it was given; the kept ones in that of after."""

    kept: tuple[str, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]

    @property
    def is_equal(self) -> bool:
        return not self.added and not self.removed


@dataclass(frozen=True, slots=True)
class MetadataRow:
    """``before`` and ``after`` are JSON text, "" where the key is not there. ``diff``
    compares the two of a change. A ``key`` of None: all that is left, as one object."""

    key: str | None
    kind: Literal["equal", "insert", "delete", "change"]
    before: str
    after: str
    diff: TextDiff | None = None


def diff_tags(before: Sequence[str], after: Sequence[str]) -> TagsDiff:
    """Exact: tags that differ in letter case are two tags."""
    return TagsDiff(
        kept=tuple(tag for tag in after if tag in before),
        added=tuple(tag for tag in after if tag not in before),
        removed=tuple(tag for tag in before if tag not in after),
    )


def diff_metadata(
    before: Mapping[str, object],
    after: Mapping[str, object],
    *,
    deadline_seconds: float = DEADLINE_SECONDS,
) -> tuple[MetadataRow, ...]:
    """One row for each key, changed ones first; at most 201.

    Values are compared as JSON: ``1``, ``1.0`` and ``true`` are three, and the order of
    keys inside them does not count.
    """
    ends_at = thread_time() + deadline_seconds
    keys = list(dict.fromkeys((*before, *after)))
    keys.sort(key=lambda key: _is_equal(key, before, after))
    rows = [_row(key, before, after, ends_at) for key in keys[:MOST_ROWS]]
    rest = keys[MOST_ROWS:]
    return (*rows, *_rest(rest, before, after)) if rest else tuple(rows)


def _is_equal(key: str, before: Mapping[str, object], after: Mapping[str, object]) -> bool:
    return key in before and key in after and _compact(before[key]) == _compact(after[key])


def _row(
    key: str, before: Mapping[str, object], after: Mapping[str, object], ends_at: float
) -> MetadataRow:
    old = _readable(before[key]) if key in before else ""
    new = _readable(after[key]) if key in after else ""
    if not old:
        return MetadataRow(key, "insert", old, new)
    if not new:
        return MetadataRow(key, "delete", old, new)
    if old == new:
        return MetadataRow(key, "equal", old, new)
    diff = diff_text(old, new, deadline_seconds=max(0.0, ends_at - thread_time()))
    return MetadataRow(key, "change", old, new, diff)


def _rest(
    keys: list[str], before: Mapping[str, object], after: Mapping[str, object]
) -> Iterator[MetadataRow]:
    old = {key: before[key] for key in keys if key in before}
    new = {key: after[key] for key in keys if key in after}
    if _compact(old) == _compact(new):
        yield MetadataRow(None, "equal", _compact(old), _compact(new))
    else:
        kind: Literal["insert", "delete", "change"] = (
            "change" if old and new else "insert" if new else "delete"
        )
        yield MetadataRow(
            None, kind, _compact(old) if old else "", _compact(new) if new else ""
        )


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _readable(value: object) -> str:
    compact = _compact(value)
    if len(compact) > MOST_INDENTED or not isinstance(value, dict | list):
        return compact
    return json.dumps(value, ensure_ascii=False, sort_keys=True, indent=2)
