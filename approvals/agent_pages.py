"""Agents as the pages show them: what each knows, asks for, and may open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Count, Max, Q
from django.utils import timezone

from approvals.agent_forms import AgentFilterForm
from approvals.audit_pages import Line, newest_of
from approvals.models import Proposal
from memories.models import Agent, ApiKey, Memory, MemoryType, User
from memories.models.agents import AgentQuerySet

PAGE_SIZE = 50
RECORD_DAYS = 30
RECENT = 20  # audit entries

HELD = {
    "on": (
        "Changes of long-term memory (semantic and procedural) wait for a person, because "
        "they steer the agent for good. Short-term memory (episodic and working) is stored "
        "at once, unless a person rejected the same text before."
    ),
    "paused": "Every change waits for a person, short-term memory too: the agent is paused.",
    "off": (
        "Nothing comes in: the agent is switched off and its keys are refused. What still "
        "waits can only be rejected."
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What became of an agent's proposals in the last ``RECORD_DAYS`` days, each counted
    on the day it happened."""

    asked: int = 0
    approved: int = 0
    rejected: int = 0
    withdrawn: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    agent: Agent
    live: int
    waiting: int
    record: Record
    last_used: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Agents:
    """One page of the agents in order of their id; ``count`` is of the whole filter and
    ``known`` of all that this person may see. ``after`` names the next page's start."""

    rows: list[Row]
    count: int
    known: int
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """``state`` is ``on``, ``expired`` or ``revoked``."""

    key: ApiKey
    state: str

    @property
    def opens_all(self) -> bool:
        return set(self.key.scopes) >= set(ApiKey.OFFERED)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentPage:
    """``live`` counts live memories by type, each type named; usable keys come first."""

    agent: Agent
    held: str
    record: Record
    live: tuple[tuple[str, int], ...]
    waiting: int
    keys: list[Key]
    recent: list[Line]

    @property
    def live_in_all(self) -> int:
        return sum(number for _, number in self.live)


def agents_for(user: User, form: AgentFilterForm, *, after: str = "") -> Agents:
    """The agents whose id comes after ``after``, a page of them."""
    visible = Agent.objects.visible_to(user)
    found = _filtered(visible, form)
    later = found.filter(agent_id__gt=after) if after else found
    page = list(later.select_related("owner").order_by("agent_id")[: PAGE_SIZE + 1])
    shown = page[:PAGE_SIZE]
    now, ids = timezone.now(), [agent.pk for agent in shown]
    live, waiting, used = _live(ids, now), _waiting(ids), _last_used(ids)
    records = records_of(ids, now)
    return Agents(
        rows=[
            Row(
                agent=agent,
                live=live.get(agent.pk, 0),
                waiting=waiting.get(agent.pk, 0),
                record=records.get(agent.pk, Record()),
                last_used=used.get(agent.pk),
            )
            for agent in shown
        ],
        count=found.count(),
        known=visible.count(),
        after=shown[-1].agent_id if len(page) > PAGE_SIZE else "",
    )


def agent_page(agent: Agent, user: User) -> AgentPage:
    now = timezone.now()
    return AgentPage(
        agent=agent,
        held=HELD[agent.state],
        record=records_of([agent.pk], now).get(agent.pk, Record()),
        live=_live_by_type(agent, now),
        waiting=_waiting([agent.pk]).get(agent.pk, 0),
        keys=_keys(agent, now),
        recent=newest_of(agent, user, RECENT),
    )


def records_of(agents: Collection[UUID], now: datetime) -> dict[UUID, Record]:
    """The record of each agent that has one, in two queries, each bounded by an index."""
    since = now - timedelta(days=RECORD_DAYS)
    own = Proposal.objects.filter(agent__in=agents).order_by()
    made = own.filter(created_at__gte=since).values("agent_id")
    asked = dict(made.annotate(n=Count("pk")).values_list("agent_id", "n"))
    done = own.filter(closed_at__gte=since).values("agent_id", "status")
    closed: Counter[tuple[UUID, str]] = Counter()
    for agent, status, number in done.annotate(n=Count("pk")).values_list(
        "agent_id", "status", "n"
    ):
        closed[agent, status] = number
    return {
        agent: Record(
            asked=asked.get(agent, 0),
            approved=closed[agent, Proposal.Status.APPROVED],
            rejected=closed[agent, Proposal.Status.REJECTED],
            withdrawn=closed[agent, Proposal.Status.WITHDRAWN],
        )
        for agent in {*asked, *(agent for agent, _ in closed)}
    }


def _filtered(agents: AgentQuerySet, form: AgentFilterForm) -> AgentQuerySet:
    if not form.is_valid():
        return agents.none()
    words, state = form.cleaned_data["q"], form.cleaned_data["state"]
    if words:
        agents = agents.filter(Q(agent_id__icontains=words) | Q(name__icontains=words))
    if state == "off":
        agents = agents.filter(is_active=False)
    elif state:
        agents = agents.filter(is_active=True, is_paused=state == "paused")
    return agents


def _live(agents: Collection[UUID], now: datetime) -> dict[UUID, int]:
    rows = Memory.objects.live(now).filter(agent__in=agents).order_by()
    return dict(
        rows.values("agent_id").annotate(n=Count("pk")).values_list("agent_id", "n")
    )


def _live_by_type(agent: Agent, now: datetime) -> tuple[tuple[str, int], ...]:
    rows = Memory.objects.live(now).filter(agent=agent).order_by().values("memory_type")
    counted: Mapping[str, int] = dict(
        rows.annotate(n=Count("pk")).values_list("memory_type", "n")
    )
    return tuple((name, counted.get(name, 0)) for name in MemoryType.values)


def _waiting(agents: Collection[UUID]) -> dict[UUID, int]:
    rows = Proposal.objects.pending().filter(agent__in=agents).order_by()
    return dict(
        rows.values("agent_id").annotate(n=Count("pk")).values_list("agent_id", "n")
    )


def _last_used(agents: Collection[UUID]) -> dict[UUID, datetime | None]:
    rows = ApiKey.objects.filter(agent__in=agents).order_by().values("agent_id")
    return dict(rows.annotate(at=Max("last_used_at")).values_list("agent_id", "at"))


def _keys(agent: Agent, now: datetime) -> list[Key]:
    newest = ApiKey.objects.filter(agent=agent).order_by("-created_at", "-pk")
    keys = [Key(key=key, state=key.state_at(now)) for key in newest]
    return sorted(keys, key=lambda key: key.state != "on")
