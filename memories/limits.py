"""The limits of the wire contract, each a setting, each named in its error."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from django.conf import settings

from memories.changes import JSON
from memories.characters import has_visible
from memories.errors import Impossible


def check_content(content: str) -> None:
    """Raises ``Impossible``: no visible character, or more than may be kept."""
    if not has_visible(content):
        raise Impossible(
            "The content has no visible character.",
            pointer="/content",
            code="content_blank",
        )
    if len(content) > settings.MAX_CONTENT_CHARACTERS:
        raise Impossible(
            f"The content has {len(content):,} characters; the limit is "
            f"{settings.MAX_CONTENT_CHARACTERS:,} (MAX_CONTENT_CHARACTERS).",
            pointer="/content",
            code="content_too_long",
        )


def check_tags(tags: Sequence[str]) -> None:
    """Raises ``Impossible``: too many tags, or one too long or empty."""
    if len(tags) > settings.MAX_TAGS:
        raise Impossible(
            f"There are {len(tags)} tags; the limit is {settings.MAX_TAGS} (MAX_TAGS).",
            pointer="/tags",
            code="too_many_tags",
        )
    for position, tag in enumerate(tags):
        if not has_visible(tag):
            raise Impossible(
                "A tag has a visible character.",
                pointer=f"/tags/{position}",
                code="tag_blank",
            )
        if len(tag) > settings.MAX_TAG_CHARACTERS:
            raise Impossible(
                f"The tag has {len(tag)} characters; the limit is "
                f"{settings.MAX_TAG_CHARACTERS} (MAX_TAG_CHARACTERS).",
                pointer=f"/tags/{position}",
                code="tag_too_long",
            )


def check_metadata(metadata: Mapping[str, JSON]) -> None:
    """Raises ``Impossible`` when the metadata, as compact UTF-8 JSON, is too large."""
    size = len(json.dumps(metadata, ensure_ascii=False, separators=(",", ":")).encode())
    if size > settings.MAX_METADATA_BYTES:
        raise Impossible(
            f"The metadata takes {size:,} bytes; the limit is "
            f"{settings.MAX_METADATA_BYTES:,} (MAX_METADATA_BYTES).",
            pointer="/metadata",
            code="metadata_too_large",
        )


def check_ids(ids: Sequence[object], *, pointer: str = "/memory_ids") -> None:
    """Raises ``Impossible`` when no memory is named, or too many are."""
    if not ids:
        raise Impossible("No memory is named.", pointer=pointer, code="no_ids")
    if len(ids) > settings.MAX_MEMORY_IDS:
        raise Impossible(
            f"There are {len(ids)} ids; the limit is {settings.MAX_MEMORY_IDS} "
            "(MAX_MEMORY_IDS).",
            pointer=pointer,
            code="too_many_ids",
        )


def instant_after(now: datetime, ttl_seconds: int) -> datetime:
    """``now`` plus N seconds. Raises ``Impossible`` beyond the year 9999."""
    try:
        return now + timedelta(seconds=ttl_seconds)
    except OverflowError:
        raise Impossible(
            "ttl_seconds reaches beyond the year 9999.",
            pointer="/ttl_seconds",
            code="ttl_too_long",
        ) from None


def default_ttl(memory_type: str) -> int | None:
    """Seconds a memory of this type lives when nothing is said; None: for good."""
    if memory_type == "working":
        return int(settings.WORKING_TTL_SECONDS)
    if memory_type == "episodic" and settings.EPISODIC_TTL_SECONDS:
        return int(settings.EPISODIC_TTL_SECONDS)
    return None
