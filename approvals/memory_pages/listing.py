"""Memories fifty at a time, the newest first; texts by their beginning.

No filter but that of the agent has an index in this order, so one answer looks through
``WINDOW`` memories and says how far it came.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.db import connection
from django.db.models import BooleanField, F, Func, Q, Value
from django.db.models.functions import Length, Substr
from django.utils import timezone

from approvals.conditions import fits
from approvals.memory_pages.forms import MemoryFilterForm
from approvals.services import IndexState, index_states
from memories.cursors import Place, read_cursor, write_cursor
from memories.models import Agent, Memory, User, live_at
from memories.models.memories import MemoryQuerySet

PAGE_SIZE = 50
WINDOW = 10_000  # memories that one answer looks through
WORDS = 300  # characters of a text that a list shows


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """``words`` is the beginning of the text, ``hidden`` counts the characters left out.
    ``index`` is None where nothing is to be said about it."""

    memory: Memory
    words: str
    hidden: int
    state: str
    index: IndexState | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """One page of the memories of a filter; ``next_query`` leads to the one after it.
    ``looked_back_to`` is set where the window ended before the page was full."""

    rows: list[Row]
    query: str
    next_query: str = ""
    after: str = ""
    looked_back_to: datetime | None = None


def listing_for(user: User, form: MemoryFilterForm, *, after: str = "") -> Listing:
    """The page of the valid filter after a cursor. Raises ``BadCursor``."""
    now = timezone.now()
    within = _within(user, form.cleaned_data["agent"], after)
    window, end = _window(within)
    shown = (
        window.filter(fits(_wanted(form, now)))
        .select_related("agent")
        .defer("content", "metadata")
        .annotate(words=Substr("content", 1, WORDS), length=Length("content"))
    )
    page: list[Any] = list(shown[: PAGE_SIZE + 1])  # with what was annotated
    query, is_full = form.query, len(page) > PAGE_SIZE
    last = page[PAGE_SIZE - 1] if is_full else None
    place = (last.created_at, last.pk) if last else end
    behind = _behind_in_index(page[:PAGE_SIZE], now)
    rows = [
        Row(
            memory=one,
            words=one.words,
            hidden=max(0, one.length - WORDS),
            state=shown_state(one, now),
            index=behind.get(one.pk),
        )
        for one in page[:PAGE_SIZE]
    ]
    return Listing(
        rows=rows,
        query=query,
        next_query=_following(query, place) if place else "",
        after=after,
        looked_back_to=end[0] if end and not is_full else None,
    )


def _within(user: User, agent: Agent | None, after: str) -> MemoryQuerySet:
    """What this person may see of the agent, or of all, after the cursor."""
    found = Memory.objects.all()
    if agent:
        found = found.visible_to(user).filter(agent=agent)
    elif not user.all_agents:
        # As a list: joined, a database reads all memories for those who see few.
        mine = Agent.objects.visible_to(user).values_list("pk", flat=True)
        found = found.filter(agent__in=list(mine))
    if after:
        at, pk = read_cursor(after)
        earlier = Q(created_at__lt=at) | Q(created_at=at, pk__lt=pk)
        found = found.filter(earlier, created_at__lte=at)
    return found.order_by("-created_at", "-pk")


def _window(found: MemoryQuerySet) -> tuple[MemoryQuerySet, Place | None]:
    """The first ``WINDOW`` of them, and the place of the last one if more are left."""
    places = list(found.values_list("created_at", "pk")[WINDOW - 1 : WINDOW + 1])
    if len(places) < 2:
        return found, None
    at, pk = end = places[0]
    inside = Q(created_at__gt=at) | Q(created_at=at, pk__gte=pk)
    return found.filter(inside, created_at__gte=at), end


def _following(query: str, place: Place) -> str:
    cursor = urlencode({"after": write_cursor(place)})
    return f"{query}&{cursor}" if query else cursor


def shown_state(memory: Memory, now: datetime) -> str:
    """The state by the clock; ``expires`` is live with an end to come."""
    state = memory.state_at(now)
    return "expires" if state == Memory.State.LIVE and memory.expires_at else state


def _behind_in_index(memories: Iterable[Memory], now: datetime) -> dict[UUID, IndexState]:
    """The states of the live ones that the index has not got yet; two queries at most."""
    live = {one.pk: [one.pk] for one in memories if one.is_live(now)}
    states = index_states(live)
    return {pk: state for pk, state in states.items() if state.name != "indexed"}


def _wanted(form: MemoryFilterForm, now: datetime) -> Q:
    chosen = form.cleaned_data
    wanted = _in_state(chosen["state"], now)
    if chosen["type"]:
        wanted &= Q(memory_type=chosen["type"])
    if chosen["tag"]:
        wanted &= _tagged(chosen["tag"])
    if form.text:
        wanted &= Q(content__icontains=form.text)
    return wanted


def _in_state(state: str, now: datetime) -> Q:
    match state:
        case "":
            return live_at(now)
        case "expires":
            return Q(state=Memory.State.LIVE, expires_at__gt=now)
        case "expired":
            overdue = Q(state=Memory.State.LIVE, expires_at__lte=now)
            return Q(state=Memory.State.EXPIRED) | overdue
        case "any":
            return Q(state__in=Memory.State.values)
        case _:
            return Q(state=state)


def _tagged(tag: str) -> Q:
    """SQLite has no ``contains`` for JSON."""
    if connection.vendor == "postgresql":
        return Q(tags__contains=[tag])
    each = Func(
        F("tags"),
        Value(tag),
        template="EXISTS (SELECT 1 FROM JSON_EACH(%(expressions)s)",
        arg_joiner=") WHERE value = ",
        output_field=BooleanField(),
    )
    return Q(each)
