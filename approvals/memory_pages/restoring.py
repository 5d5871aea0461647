"""An earlier version of a memory beside the current one, before it is restored."""

from __future__ import annotations

from dataclasses import dataclass

from approvals import diffs
from approvals.memory_pages.versions import is_other
from memories.errors import MemoryNotFound
from memories.models import Memory, MemoryRevision

TEXT_SECONDS = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Restoring:
    """What restoring ``revision`` would change; None where nothing of that kind would."""

    revision: MemoryRevision
    text: diffs.TextDiff | None
    tags: diffs.TagsDiff | None
    metadata: tuple[diffs.MetadataRow, ...] | None


def restoring_of(memory: Memory, version: int) -> Restoring:
    """Raises ``MemoryNotFound`` when it has no such version."""
    revision = memory.revisions.filter(version=version).first()
    if revision is None:
        raise MemoryNotFound(f"The memory has no version {version}.")
    text = tags = metadata = None
    if is_other(revision, memory):
        if revision.content != memory.content:
            text = diffs.diff_text(
                memory.content, revision.content, deadline_seconds=TEXT_SECONDS
            )
        if revision.tags != memory.tags:
            tags = diffs.diff_tags(memory.tags, revision.tags)
        if revision.metadata != memory.metadata:
            metadata = diffs.diff_metadata(memory.metadata, revision.metadata)
    return Restoring(revision=revision, text=text, tags=tags, metadata=metadata)
