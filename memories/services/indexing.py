"""Asking again for what could not be indexed."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from memories.index import collection_name
from memories.models import IndexEntry
from memories.nudge import nudge_after_commit
from memories.writing import writing


def retry_indexing(memory_ids: Iterable[UUID]) -> int:
    """Make the failed index entries of these memories due now; return how many."""
    with writing():
        entries = IndexEntry.objects.filter(
            memory__in=set(memory_ids), collection=collection_name()
        )
        retried = entries.retry()
        if retried:
            nudge_after_commit()
    return retried
