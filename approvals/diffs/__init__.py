"""Before and after, as parts a person can read. No Django in here."""

from approvals.diffs.facts import (
    MetadataRow,
    TagsDiff,
    diff_metadata,
    diff_tags,
)
from approvals.diffs.sources import NOT_COMPARED, SourceColumn, SourcesDiff, diff_sources
from approvals.diffs.texts import Hunk, TextDiff, diff_text
from approvals.diffs.words import Piece

__all__ = [
    "NOT_COMPARED",
    "Hunk",
    "MetadataRow",
    "Piece",
    "SourceColumn",
    "SourcesDiff",
    "TagsDiff",
    "TextDiff",
    "diff_metadata",
    "diff_sources",
    "diff_tags",
    "diff_text",
]
