"""What a reviewer changed before approving."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from uuid import UUID

from memories import limits
from memories.changes import JSON, Change, Expire, Forget, Merge, Remember, Revise
from memories.errors import Impossible


@dataclass(frozen=True, slots=True, kw_only=True)
class Edits:
    """As posted; None leaves a member alone. ``memory_ids`` are the targets kept ticked."""

    content: str | None = None
    tags: tuple[str, ...] | None = None
    memory_ids: tuple[UUID, ...] | None = None
    expires_at: datetime | None = None


def apply_edits(change: Change, edits: Edits) -> tuple[Change, dict[str, JSON]]:
    """The change as edited, and only what really differs, as JSON values.

    A browser posts every line end as CRLF; that alone is no edit, and an edited text
    keeps the line ends its original had. Raises ``Impossible`` for an edit that the
    change cannot take.
    """
    kept: dict[str, JSON] = {}
    if isinstance(change, Remember | Merge | Revise):
        change = _edit_text(change, edits, kept)
    if isinstance(change, Forget | Merge | Expire) and edits.memory_ids is not None:
        change = _untick(change, edits.memory_ids, kept)
    wanted = edits.expires_at
    if isinstance(change, Expire) and wanted is not None and wanted != change.expires_at:
        instant = _in_calendar(wanted)
        change = replace(change, expires_at=instant)
        kept["expires_at"] = instant.isoformat()
    return change, kept


def _in_calendar(instant: datetime) -> datetime:
    """The instant in UTC; at the calendar's ends another zone's date leads out of it, and
    what a database then stores can no longer be read."""
    try:
        return instant.astimezone(UTC)
    except OverflowError:
        raise Impossible(
            "The instant lies outside the years 1 to 9999.", pointer="/expires_at"
        ) from None


def _edit_text(
    change: Remember | Merge | Revise, edits: Edits, kept: dict[str, JSON]
) -> Remember | Merge | Revise:
    content, tags = change.content or "", change.tags
    if edits.content is not None and unix_lines(edits.content) != unix_lines(content):
        content = _like(content, edits.content)
        limits.check_content(content)
        kept["content"] = content
    if edits.tags is not None and edits.tags != tags:
        tags = tuple(dict.fromkeys(edits.tags))
        if not set(tags) <= set(change.tags):
            limits.check_tags(tags)
        kept["tags"] = list(tags)
    return replace(change, content=content, tags=tags)


def _untick(
    change: Forget | Merge | Expire, wanted: tuple[UUID, ...], kept: dict[str, JSON]
) -> Forget | Merge | Expire:
    ids = tuple(i for i in change.memory_ids if i in set(wanted))
    least = 2 if isinstance(change, Merge) else 1
    if len(ids) < least:
        raise Impossible(
            f"At least {least} of the memories must stay ticked; otherwise reject it.",
            pointer="/memory_ids",
        )
    if ids == change.memory_ids:
        return change
    kept["memory_ids"] = [str(i) for i in ids]
    return replace(change, memory_ids=ids)


def unix_lines(text: str) -> str:
    """The text with LF for every line end; what a browser posts is CRLF."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _like(original: str, posted: str) -> str:
    """The posted text with the line ends of the original, where those were all CRLF."""
    text = unix_lines(posted)
    ends = original.count("\n")
    return text.replace("\n", "\r\n") if ends and original.count("\r\n") == ends else text
