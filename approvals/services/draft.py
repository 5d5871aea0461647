"""Completing a change from what is true now: instants, merged text, merged tags."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from uuid import UUID

from memories import limits
from memories.changes import Change, Expire, Forget, Merge, Remember, Revise, to_json
from memories.characters import fold
from memories.models import Memory

NOT_ASKED = ("content", "tags", "derived")  # of a merge: put together, not sent


def draft(change: Change, targets: Mapping[UUID, Memory], now: datetime) -> Change:
    """The change with nothing left open; drafting a complete one again only renews what
    was put together from the targets.

    Raises ``Impossible`` for a life that ends beyond the calendar and for a merged text
    that is too long.
    """
    match change:
        case Remember(expires_at=None):
            return replace(change, expires_at=_end(change, now))
        case Merge():
            merged = _merge(change, [targets[i] for i in change.memory_ids])
            if merged.expires_at is None:
                merged = replace(merged, expires_at=_end(merged, now))
            return merged
        case Expire(expires_at=None):
            return replace(
                change, expires_at=limits.instant_after(now, change.ttl_seconds or 0)
            )
        case _:
            return change


def narrowed(change: Change, live: Iterable[UUID]) -> Change:
    """The change without the targets that are gone: what a rebase starts from."""
    alive = set(live)
    match change:
        case Remember():
            kept = tuple(i for i in change.supersedes if i in alive)
            return replace(change, supersedes=kept)
        case Forget() | Merge() | Expire():
            return replace(
                change, memory_ids=tuple(i for i in change.memory_ids if i in alive)
            )
        case Revise():
            return change


def digest_of(change: Change) -> str:
    """Equal for two requests that ask for the same, member by member after defaults."""
    asked = to_json(change)
    if isinstance(change, Merge):
        for member in NOT_ASKED:
            asked.pop(member)
        asked["content"] = None if change.derived else change.content
    for member in ("memory_ids", "supersedes"):
        if member in asked:
            asked[member] = sorted(str(i) for i in change.target_ids)
    return sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


def text_fold_of(change: Change) -> str:
    """A digest of the text as people read it (case, white space and hidden characters
    folded), or "" for a change without text."""
    content = getattr(change, "content", None)
    return sha256(fold(content).encode()).hexdigest() if content else ""


def summary_of(change: Change) -> str:
    """The beginning of the text on one line, at most 200 characters, for lists."""
    return " ".join((getattr(change, "content", None) or "")[:400].split())[:200]


def as_asked(change: Change) -> Change:
    """A drafted change as its agent would have sent it, for ``digest_of``."""
    if isinstance(change, Remember | Merge | Expire):
        return replace(change, expires_at=None)
    return change


def ends_at(change: Change) -> datetime | None:
    """The instant after which there is nothing left to decide: what would be made or
    revised is already over. An expire that comes late still has something to do."""
    return None if isinstance(change, Forget | Expire) else change.expires_at


def _merge(change: Merge, sources: list[Memory]) -> Merge:
    oldest_first = sorted(sources, key=lambda memory: (memory.created_at, memory.pk))
    tags = [*change.own_tags, *(tag for memory in oldest_first for tag in memory.tags)]
    merged = replace(change, tags=tuple(dict.fromkeys(tags)))
    if change.content is not None and not change.derived:
        return merged
    texts = dict.fromkeys(memory.content for memory in oldest_first)
    content = "\n".join(texts)
    limits.check_content(content)
    return replace(merged, content=content, derived=True)


def _end(change: Remember | Merge, now: datetime) -> datetime | None:
    ttl = change.ttl_seconds
    if ttl is None:
        ttl = limits.default_ttl(change.memory_type)
    return None if ttl is None else limits.instant_after(now, ttl)
