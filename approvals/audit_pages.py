"""The audit as the pages show it: found by index, newest first, a page at a time.

A filter that no index answers looks through ``WINDOW`` entries at a time and says how far
it came, so that no question reads a whole table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from django.db.models import Case, F, Q, TextField, When
from django.db.models.functions import Length
from django.urls import reverse

from approvals.audit_bodies import Body, body_of
from approvals.audit_forms import AuditForm
from approvals.audit_questions import ask
from approvals.audit_sentences import Saying, saying
from approvals.conditions import fits
from memories.cursors import BadCursor
from memories.models import Agent, AuditEntry, User
from memories.models.audit import AuditEntryQuerySet

PAGE_SIZE = 50
WINDOW = 10_000  # entries that one answer looks through where no index helps
STEP = 2_000  # of them in one query
LONGEST = 20_000  # characters of a payload that a list reads
PAGES = {
    "proposal": "approvals:proposal",
    "memory": "approvals:memory",
    "agent": "approvals:agent",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """``href`` is "" where there is no page."""

    text: str
    href: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """An entry as it is read. ``body`` None: the payload is too long for a list."""

    entry: AuditEntry
    saying: Saying
    actor: Link
    thing: Link
    agent: Link | None
    objects: tuple[Link, ...]
    body: Body | None
    is_erased: bool

    @property
    def exact(self) -> str:
        return self.entry.at.astimezone(UTC).isoformat(sep=" ", timespec="milliseconds")

    @property
    def address(self) -> str:
        return reverse(
            "approvals:audit_entry", args=[self.entry.chain, self.entry.sequence]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """One page of entries. ``next_query`` leads to older ones; ``looked_back_to`` is set
    where entries were looked through one by one and more are left."""

    lines: list[Line]
    form: AuditForm
    query: str
    next_query: str = ""
    looked_back_to: datetime | None = None
    is_later: bool = False

    @property
    def is_filtered(self) -> bool:
        return bool(self.query)


def audit_for(user: User, form: AuditForm, *, after: str = "") -> Audit:
    """The page of entries older than the one that ``after`` names.

    Raises ``BadCursor``. The form is valid, or nothing is found.
    """
    if not form.is_valid():
        return Audit(lines=[], form=form, query=form.query)
    rows, rest = ask(user, form)
    if after:
        rows = rows.filter(pk__lt=_read_cursor(user, after))
    # The ids alone come from an index; whole rows would all be read to be sorted.
    ids, looked_to = _look_through(rows, rest) if rest else (_newest(rows), None)
    lines = _lines(ids[:PAGE_SIZE])
    looked = AuditEntry.objects.defer("payload").get(pk=looked_to) if looked_to else None
    last = lines[-1].entry if len(ids) > PAGE_SIZE else looked
    more = {"after": f"{last.chain}.{last.sequence}"} if last else {}
    return Audit(
        lines=lines,
        form=form,
        query=form.query,
        next_query="&".join(part for part in (form.query, urlencode(more)) if part)
        if more
        else "",
        looked_back_to=looked.at if looked and last is looked else None,
        is_later=bool(after),
    )


def entry_for(user: User, chain: str, sequence: int) -> Line | None:
    """One entry with its whole payload, or None where this person sees none."""
    visible = AuditEntry.objects.visible_to(user).select_related("agent")
    entry = visible.filter(chain=chain, sequence=sequence).first()
    return None if entry is None else line_of(entry, entry.payload)


def newest_of(agent: Agent, user: User, number: int) -> list[Line]:
    """The agent's newest entries, newest first, where this person may see them."""
    rows = AuditEntry.objects.visible_to(user).filter(agent=agent)
    return _lines(list(rows.order_by("-pk").values_list("pk", flat=True)[:number]))


def line_of(
    entry: AuditEntry, payload: str | None, *, is_erased: bool | None = None
) -> Line:
    """The entry as a person reads it; ``payload`` None: erased, or too long to be read."""
    told: Mapping[str, Any] = json.loads(payload) if payload else {}
    objects: list[str] = json.loads(entry.objects_json)
    said = saying(entry.action, told, objects)
    return Line(
        entry=entry,
        saying=said,
        actor=_actor(entry),
        thing=Link(text=said.thing, href=_thing(entry, objects)),
        agent=_agent(entry, said),
        objects=tuple(Link(text=one, href=_address(one)) for one in objects),
        body=None if payload is None else body_of(told, payload),
        is_erased=payload is None if is_erased is None else is_erased,
    )


def _lines(ids: Sequence[int]) -> list[Line]:
    """Newest first. Long payloads stay in the database."""
    short = Case(
        When(size__lte=LONGEST, then=F("payload")), default=None, output_field=TextField()
    )
    rows = AuditEntry.objects.filter(pk__in=ids).order_by("-pk").select_related("agent")
    read: Any = rows.annotate(size=Length("payload"), short=short).defer("payload")
    return [line_of(one, one.short, is_erased=one.size is None) for one in read]


def _newest(rows: AuditEntryQuerySet) -> list[int]:
    return list(rows.order_by("-pk").values_list("pk", flat=True)[: PAGE_SIZE + 1])


def _look_through(rows: AuditEntryQuerySet, rest: Q) -> tuple[list[int], int | None]:
    """The ids of the newest rows that meet ``rest``, and where the search ended if more may
    be left. Ids first: who asks for the condition too has all rows read to sort them."""
    window = list(rows.order_by("-pk").values_list("pk", flat=True)[:WINDOW])
    found: list[int] = []
    for start in range(0, len(window), STEP):
        step = AuditEntry.objects.filter(fits(rest), pk__in=window[start : start + STEP])
        found += step.order_by("-pk").values_list("pk", flat=True)[: PAGE_SIZE + 1]
        if len(found) > PAGE_SIZE:
            break
    return found[: PAGE_SIZE + 1], window[-1] if len(window) == WINDOW else None


def _read_cursor(user: User, cursor: str) -> int:
    """Chain and place say where a page ended: row ids would count what is hidden."""
    chain, _, sequence = cursor.rpartition(".")
    if not (sequence.isascii() and sequence.isdigit() and len(sequence) < 19):
        raise BadCursor(cursor)
    visible = AuditEntry.objects.visible_to(user)
    found = visible.filter(chain=chain, sequence=int(sequence)).values_list("pk", flat=True)
    pk = found.first()
    if pk is None:
        raise BadCursor(cursor)
    return pk


def _actor(entry: AuditEntry) -> Link:
    if entry.actor_kind == "agent":
        return Link(text=entry.actor_label, href=_address(f"agent:{entry.actor_id}"))
    query = urlencode({"actor": f"{entry.actor_kind}:{entry.actor_id}"})
    return Link(text=entry.actor_label, href=f"{reverse('approvals:audit')}?{query}")


def _agent(entry: AuditEntry, said: Saying) -> Link | None:
    """The agent, where the sentence does not begin with it."""
    if entry.agent is None or not said.agent or entry.actor_id == str(entry.agent_id):
        return None
    return Link(text=entry.agent.agent_id, href=_address(f"agent:{entry.agent_id}"))


def _thing(entry: AuditEntry, objects: Sequence[str]) -> str:
    """The page of what the sentence is about: the proposal, else the only other object."""
    if entry.proposal_id and entry.agent_id:
        return _address(f"proposal:{entry.proposal_id}")
    others = [one for one in objects if not one.startswith("key:")] or list(objects)
    return _address(others[0]) if len(others) == 1 else ""


def _address(reference: str) -> str:
    kind, _, name = reference.partition(":")
    if kind in PAGES:
        return reverse(PAGES[kind], args=[name])
    return f"{reverse('approvals:audit')}?{urlencode({'object': reference})}"
