"""The payload of an audit entry, as text a person can read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from uuid import UUID

from approvals.diffs import (
    MetadataRow,
    TagsDiff,
    TextDiff,
    diff_metadata,
    diff_tags,
    diff_text,
)

# Said by the sentence, or shown as what they are.
SHOWN = frozenset({"change", "proposed", "edits"})
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
SHOWN_OF_CHANGE = frozenset(
    {
        "op",
        "agent",
        "content",
        "tags",
        "own_tags",
        "metadata",
        "derived",
        "memory_id",
        "memory_ids",
        "supersedes",
    }
)


@dataclass(frozen=True)
class Body:
    """``change`` is what was asked or done, {} where the entry is about none; ``proposed``
    is the change before a reviewer's edits, {} where there were none."""

    change: Mapping[str, Any]
    proposed: Mapping[str, Any]
    facts: tuple[tuple[str, str], ...]
    payload: str

    @property
    def content(self) -> str:
        content = self.change.get("content")
        return content if isinstance(content, str) else ""

    @property
    def targets(self) -> list[UUID]:
        """The memories that the change names."""
        named = [self.change.get("memory_id")]
        for name in ("memory_ids", "supersedes"):
            listed = self.change.get(name)
            named += listed if isinstance(listed, list) else []
        return [UUID(one) for one in named if isinstance(one, str) and _ID.fullmatch(one)]

    @property
    def has_more(self) -> bool:
        return bool(self.content or self.facts or self.change)

    @cached_property
    def diff(self) -> TextDiff | None:
        """What the edit changed in the text, or the text as all new."""
        before = self.proposed.get("content")
        if not self.content:
            return None
        return diff_text(before if isinstance(before, str) else "", self.content)

    @cached_property
    def tags(self) -> TagsDiff:
        after = self.change.get("tags") or []
        before = self.proposed.get("tags") or [] if self.proposed else after
        return diff_tags(before, after)

    @cached_property
    def metadata(self) -> tuple[MetadataRow, ...]:
        after = self.change.get("metadata") or {}
        return diff_metadata(self.proposed.get("metadata", after), after)

    @cached_property
    def raw(self) -> str:
        """The payload as indented JSON; deep arrays would grow fifty times, so not those."""
        indented = json.dumps(json.loads(self.payload), ensure_ascii=False, indent=2)
        return indented if len(indented) <= 4 * len(self.payload) + 400 else self.payload


def body_of(told: Mapping[str, Any], payload: str) -> Body:
    change = told.get("change")
    proposed = told.get("proposed")
    change = change if isinstance(change, dict) else {}
    return Body(
        change=change,
        proposed=proposed if isinstance(proposed, dict) else {},
        facts=(*_facts(told, SHOWN), *_facts(change, SHOWN_OF_CHANGE)),
        payload=payload,
    )


def _facts(told: Mapping[str, Any], shown: frozenset[str]) -> Iterator[tuple[str, str]]:
    for name, value in told.items():
        if name in shown or value in (None, "", [], {}):
            continue
        plain = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        yield name.replace("_", " "), plain
