"""A person's own work: what they decided, and what they proposed that still waits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from approvals.models import Decision, Proposal, ProposalQuerySet, ProposalTarget
from approvals.sentences import outcome, sentence
from approvals.services import (
    IndexState,
    index_states,
    refusal_to_undo,
    touched_ids,
    undoable_until,
    with_edits,
)
from memories.changes import Change
from memories.cursors import read_cursor, write_cursor
from memories.models import Agent, User

PAGE_SIZE = 50
RATE_DAYS = 30
WAITING_SHOWN = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """One decision. ``index`` is None where it touched nothing or does not stand;
    ``undoable_until`` is None where it cannot be taken back (any more)."""

    decision: Decision
    proposal: Proposal
    sentence: str
    outcome: str
    index: IndexState | None
    undoable_until: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """Standing decisions since midnight and since Monday (UTC), and of the last
    ``RATE_DAYS`` days how many there were and how many of them approved."""

    today: int
    week: int
    recent: int
    approved: int

    @property
    def rate(self) -> int | None:
        """Approved of a hundred recent decisions, or None without any."""
        return round(100 * self.approved / self.recent) if self.recent else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """``done`` is one page, newest first; ``after`` the cursor of the next one.
    ``waiting`` are the oldest of the ``waiting_count`` proposals this person wrote."""

    done: list[Done]
    numbers: Numbers
    waiting: list[Proposal]
    waiting_count: int
    after: str


def work_of(user: User, *, after: str = "") -> Work:
    """Raises ``BadCursor``. Only what concerns agents the person may see now."""
    now = timezone.now()
    mine = _decisions_of(user)
    rows = mine.select_related("proposal__agent").order_by("-at", "-pk")
    if after:
        at, pk = read_cursor(after)
        rows = rows.filter(Q(at__lt=at) | Q(at=at, pk__lt=pk.int), at__lte=at)
    page = list(rows[: PAGE_SIZE + 1])
    shown = page[:PAGE_SIZE]
    written = _written_by(user)
    last = shown[-1] if len(page) > PAGE_SIZE else None
    return Work(
        done=_done(shown, user, now),
        numbers=_numbers(mine, now),
        waiting=list(written.oldest_first().select_related("agent")[:WAITING_SHOWN]),
        waiting_count=written.count(),
        after=write_cursor((last.at, UUID(int=last.pk))) if last else "",
    )


def _decisions_of(user: User) -> QuerySet[Decision]:
    visible = Agent.objects.visible_to(user)
    mine = Decision.objects.filter(reviewer=user)
    return mine if user.all_agents else mine.filter(proposal__agent__in=visible)


def _written_by(user: User) -> ProposalQuerySet:
    return Proposal.objects.visible_to(user).pending().filter(author=user)


def _numbers(mine: QuerySet[Decision], now: datetime) -> Numbers:
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    monday = midnight - timedelta(days=midnight.weekday())
    since = now - timedelta(days=RATE_DAYS)
    standing = mine.filter(undone_at=None, at__gte=since)
    counted = standing.aggregate(
        today=Count("pk", filter=Q(at__gte=midnight)),
        week=Count("pk", filter=Q(at__gte=monday)),
        recent=Count("pk"),
        approved=Count("pk", filter=Q(outcome=Decision.Outcome.APPROVED)),
    )
    return Numbers(**counted)


def _done(decisions: Sequence[Decision], user: User, now: datetime) -> list[Done]:
    landed = {one.pk: with_edits(one.proposal.change, one.edits) for one in decisions}
    types = _target_types(decisions)
    index = index_states(
        {
            one.proposal_id: touched_ids(one.proposal, landed[one.pk])
            for one in decisions
            if one.undone_at is None
        }
    )
    return [
        Done(
            decision=one,
            proposal=one.proposal,
            sentence=_sentence(one.proposal, landed[one.pk], types[one.proposal_id]),
            outcome=outcome(one),
            index=index.get(one.proposal_id) if one.undone_at is None else None,
            undoable_until=(
                None if refusal_to_undo(one, user, now) else undoable_until(one)
            ),
        )
        for one in decisions
    ]


def _sentence(proposal: Proposal, landed: Change, types: dict[UUID, str]) -> str:
    """As the card says it, once closed."""
    touched = {types[pk] for pk in landed.target_ids if pk in types}
    return sentence(landed, proposal.agent.agent_id, proposal.created_at, touched=touched)


def _target_types(decisions: Sequence[Decision]) -> dict[UUID, dict[UUID, str]]:
    """For each proposal the memory type of each target, in one query."""
    found: dict[UUID, dict[UUID, str]] = defaultdict(dict)
    targets = ProposalTarget.objects.filter(
        proposal__in={one.proposal_id for one in decisions}
    )
    rows = targets.order_by().values_list("proposal_id", "memory_id", "memory__memory_type")
    for proposal_id, memory_id, memory_type in rows:
        found[proposal_id][memory_id] = memory_type
    return found
