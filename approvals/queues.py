"""The queue as a page of rows: filtered, in order, from a cursor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import Count, Exists, OuterRef, Q, Subquery
from django.db.models.functions import Substr
from django.utils import timezone

from approvals.forms import AGES, FilterForm
from approvals.memory_types import about_type, touched_types, types_of
from approvals.models import Proposal, ProposalQuerySet, ProposalTarget
from memories.cursors import read_cursor, write_cursor
from memories.models import User

PAGE_SIZE = 50
WORDS = 200  # characters of the first target that a row shows


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """``types`` are the memory types the proposal is about, long-term ones first."""

    proposal: Proposal
    types: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """One page of the queue. ``count`` is of the whole filter, ``pending`` of all that
    waits for this person; ``query`` is the filter and ``here`` filter and cursor, as query
    strings."""

    rows: list[Row]
    count: int
    pending: int
    form: FilterForm
    query: str
    here: str
    next_query: str = ""
    after: str = ""
    filtered: bool = field(default=False)


def queue_for(user: User, form: FilterForm, *, after: str = "") -> Queue:
    """The page of the queue after a cursor.

    Raises ``BadCursor``. The form is valid, or the queue is empty.
    """
    visible = Proposal.objects.visible_to(user)
    found = filtered(visible, form)
    newest = _newest_first(form)
    rows = found.newest_first() if newest else found.oldest_first()
    if after:
        rows = rows.filter(_beyond(*read_cursor(after), newest=newest))
    page = list(_for_rows(rows)[: PAGE_SIZE + 1])
    more = {"after": _cursor(page[PAGE_SIZE - 1])} if len(page) > PAGE_SIZE else {}
    return Queue(
        rows=_rows(page[:PAGE_SIZE]),
        count=found.count(),
        pending=visible.pending().count(),
        form=form,
        query=form.query,
        here=_join(form.query, {"after": after} if after else {}),
        next_query=_join(form.query, more) if more else "",
        after=after,
        filtered=bool(form.query),
    )


def next_pending(user: User, form: FilterForm, after: Proposal) -> Proposal | None:
    """The pending proposal of the filter that comes after this one, else its oldest."""
    waiting = filtered(Proposal.objects.visible_to(user), form, status="pending")
    waiting = waiting.exclude(pk=after.pk).oldest_first()
    later = waiting.filter(_beyond(after.created_at, after.pk, newest=False))
    return later.first() or waiting.first()


def filtered(
    proposals: ProposalQuerySet, form: FilterForm, *, status: str = ""
) -> ProposalQuerySet:
    if not form.is_valid():
        return proposals.none()
    wanted: Mapping[str, Any] = form.cleaned_data
    status = status or wanted["status"] or "pending"
    if status != "any":
        proposals = proposals.filter(status=status)
    if wanted["agent"]:
        proposals = proposals.filter(agent=wanted["agent"])
    if wanted["op"]:
        proposals = proposals.filter(op=wanted["op"])
    if wanted["type"]:
        proposals = proposals.filter(about_type(wanted["type"]))
    if wanted["age"]:
        proposals = proposals.filter(
            created_at__lte=timezone.now() - AGES[wanted["age"]][1]
        )
    if wanted["q"]:
        proposals = proposals.filter(_mentions(wanted["q"]))
    return proposals


def _cursor(proposal: Proposal) -> str:
    return write_cursor((proposal.created_at, proposal.pk))


def _newest_first(form: FilterForm) -> bool:
    """What waits is worked off from its old end; what is closed is looked up."""
    return bool(form.is_valid() and form.cleaned_data["status"])


def _beyond(at: datetime, pk: UUID, *, newest: bool) -> Q:
    if newest:
        return Q(created_at__lt=at) | Q(created_at=at, pk__lt=pk)
    return Q(created_at__gt=at) | Q(created_at=at, pk__gt=pk)


def _mentions(text: str) -> Q:
    """In the text that is proposed, or in that of a memory it would touch."""
    touched = ProposalTarget.objects.filter(
        proposal=OuterRef("pk"), memory__content__icontains=text
    )
    return Q(change_json__content__icontains=text) | Q(Exists(touched))


def _rows(proposals: Sequence[Proposal]) -> list[Row]:
    touched = touched_types(proposals)
    return [
        Row(proposal=one, types=types_of(one, touched.get(one.pk, ()))) for one in proposals
    ]


def _for_rows(proposals: ProposalQuerySet) -> ProposalQuerySet:
    """Everything a row shows, in one query; whole texts stay in the database."""
    targets = ProposalTarget.objects.filter(proposal=OuterRef("pk"))
    first = targets.order_by("position").values(words=Substr("memory__content", 1, WORDS))
    many = targets.order_by().values("proposal").annotate(n=Count("pk")).values("n")
    return (
        proposals.with_staleness()
        .select_related("agent")
        .defer("change_json")
        .annotate(first_words=Subquery(first[:1]), target_count=Subquery(many))
    )


def _join(query: str, more: Mapping[str, str]) -> str:
    return "&".join(part for part in (query, urlencode(more)) if part)
