"""The versions of a memory, newest first, each against the one before it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest
from time import thread_time
from uuid import UUID

from django.db.models import Prefetch

from approvals import diffs
from approvals.cards.room import Room
from approvals.cards.targets import NOTHING, Version
from approvals.diffs.facts import MOST_ROWS
from approvals.models import Decision, Proposal
from approvals.services import refusal_to_undo
from memories.models import Memory, MemoryRevision, User

PAGE_SIZE = 10
SECONDS = 0.3  # for the diffs of all texts on a page together
METADATA_SECONDS = 0.1
ROW = 500  # characters that a row of metadata takes of a page's room


@dataclass(frozen=True, slots=True)
class Parts:
    """What a version changed; None where that stayed as it was. ``is_cut``: the page has no
    room for it; it stands in full where this version is the first of a page."""

    text: diffs.TextDiff | None = None
    tags: diffs.TagsDiff | None = None
    metadata: tuple[diffs.MetadataRow, ...] | None = None
    is_cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A version against the one before it. ``proposal`` is the one that let it in;
    ``undoable`` its decision, while the person who looks may still take that back."""

    revision: MemoryRevision
    before: MemoryRevision | None
    proposal: Proposal | None
    undoable: Decision | None
    parts: Parts
    can_restore: bool

    @property
    def has_new_expiry(self) -> bool:
        before = self.before.expires_at if self.before else None
        return self.revision.expires_at != before

    @property
    def has_new_state(self) -> bool:
        return self.before is not None and self.revision.state != self.before.state


@dataclass(frozen=True, slots=True)
class History:
    """``older`` is the newest version that is not shown, None where there is none."""

    entries: tuple[Entry, ...]
    older: int | None
    is_newest: bool


def history_of(memory: Memory, user: User, *, upto: int | None, now: datetime) -> History:
    """A page of versions from ``upto`` (None: the current one) down; three queries."""
    newest = memory.version if upto is None else min(upto, memory.version)
    rows = memory.revisions.filter(version__lte=newest).order_by("-version")
    revisions = list(rows[: PAGE_SIZE + 1])
    shown = revisions[:PAGE_SIZE]
    proposals, differ = _proposals_of(shown), _Differ(len(shown))
    entries: list[Entry] = []
    for revision, before in zip_longest(shown, revisions[1:]):
        if revision is None:
            break
        proposal = proposals.get(revision.proposal_id) if revision.proposal_id else None
        is_current = revision.version == memory.version
        entries.append(
            Entry(
                revision=revision,
                before=before,
                proposal=proposal,
                undoable=_undoable(proposal, user, now) if is_current else None,
                parts=differ.parts(before, revision) if memory.version > 1 else Parts(),
                can_restore=memory.is_live(now) and is_other(revision, memory),
            )
        )
    older = revisions[PAGE_SIZE].version if len(revisions) > PAGE_SIZE else None
    return History(tuple(entries), older, newest == memory.version)


def is_other(revision: MemoryRevision, memory: Memory) -> bool:
    """Whether going back to it would change anything."""
    then = (revision.content, revision.tags, revision.metadata)
    return then != (memory.content, memory.tags, memory.metadata)


class _Differ:
    """Compares versions within the time and the room that one page has."""

    def __init__(self, number: int) -> None:
        self.room, self.left, self.is_first = Room(), number, True
        self.texts_end = thread_time() + SECONDS
        self.metadata_end = self.texts_end + METADATA_SECONDS

    def parts(self, before: MemoryRevision | None, after: MemoryRevision) -> Parts:
        old, new = Version.of(before) if before else NOTHING, Version.of(after)
        seconds = max(0.0, self.texts_end - thread_time()) / max(1, self.left)
        is_first, self.left, self.is_first = self.is_first, self.left - 1, False
        changed = _changed(old, new)
        if old.metadata != new.metadata:
            self.room.left -= ROW * min(len({*old.metadata, *new.metadata}), MOST_ROWS)
        if self.room.shown(changed) != changed and not is_first:
            return Parts(is_cut=True)
        text = tags = metadata = None
        if old.content != new.content:
            text = diffs.diff_text(old.content, new.content, deadline_seconds=seconds)
        if list(old.tags) != list(new.tags):
            tags = diffs.diff_tags(old.tags, new.tags)
        if old.metadata != new.metadata:
            left = max(0.0, self.metadata_end - thread_time())
            metadata = diffs.diff_metadata(
                old.metadata, new.metadata, deadline_seconds=left
            )
        return Parts(text, tags, metadata)


def _changed(old: Version, new: Version) -> str:
    """Everything that a diff of the two would show."""
    pairs = (
        (old.content, new.content),
        (
            json.dumps(old.tags, ensure_ascii=False),
            json.dumps(new.tags, ensure_ascii=False),
        ),
        (
            json.dumps(old.metadata, ensure_ascii=False),
            json.dumps(new.metadata, ensure_ascii=False),
        ),
    )
    return "".join(before + after for before, after in pairs if before != after)


def _proposals_of(revisions: Sequence[MemoryRevision]) -> Mapping[UUID, Proposal]:
    """Those that let the versions in, with their authors and standing decisions."""
    ids = {revision.proposal_id for revision in revisions if revision.proposal_id}
    if not ids:
        return {}
    standing = Prefetch("decisions", queryset=Decision.objects.filter(undone_at=None))
    shown = Proposal.objects.select_related("author", "author_key__agent", "agent")
    return shown.defer("change_json").prefetch_related(standing).in_bulk(ids)


def _undoable(proposal: Proposal | None, user: User, now: datetime) -> Decision | None:
    decision = next(iter(proposal.decisions.all()), None) if proposal else None
    return None if refusal_to_undo(decision, user, now) else decision
