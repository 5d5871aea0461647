"""Proposals as the agent that made them sees them. Reads; the clock may close some first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Q
from django.utils import timezone

from approvals.models import Decision, Proposal, ProposalQuerySet
from approvals.services.close import close_overtaken
from approvals.services.landed import IndexState, index_states, touched_ids, with_edits
from memories.changes import JSON, Change
from memories.errors import ProposalNotFound
from memories.models import Agent

STATUSES = tuple(Proposal.Status.values)
OPERATIONS = tuple(Proposal.Op.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A memory the proposal would touch: its version when drafted, and how it is now."""

    memory_id: UUID
    version: int
    current_version: int
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """The standing decision. ``edits`` holds only what the reviewer changed; who decided
    is not for agents."""

    outcome: str
    at: datetime
    reason: str
    comment: str
    edits: Mapping[str, JSON]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a proposal stands.

    ``expires_at`` is when it closes by itself, None for never. ``index`` is None until
    it is approved, then ``queued``, ``indexed`` or ``failed``.
    """

    id: UUID
    op: str
    memory_type: str
    agent_id: str
    status: str
    stale: bool
    revision: int
    created_at: datetime
    expires_at: datetime | None
    memory_id: UUID | None
    targets: tuple[Target, ...]
    change: Change
    decision: Decided | None
    closed_reason: str
    index: str | None

    @property
    def edited(self) -> bool:
        return bool(self.decision and self.decision.edits)

    @property
    def ids(self) -> tuple[UUID, ...]:
        """The memories an approval made or changed, or would."""
        if self.memory_id:
            return (self.memory_id,)
        edits = self.decision.edits if self.decision else {}
        return with_edits(self.change, edits).target_ids


def is_pending(proposal_id: UUID) -> bool:
    """One cheap look, for those who wait."""
    return Proposal.objects.pending().filter(pk=proposal_id).exists()


def standing(agent: Agent, proposal_id: UUID) -> Standing:
    """Raises ``ProposalNotFound``: there is none, or it is another agent's."""
    close_overtaken(only=proposal_id)
    found = _read(agent, Proposal.objects.filter(pk=proposal_id), 1)
    if not found:
        raise ProposalNotFound(f"There is no proposal {proposal_id}.")
    return found[0]


def standings(
    agent: Agent,
    *,
    limit: int,
    status: str = "",
    op: str = "",
    updated_after: datetime | None = None,
    before: tuple[datetime, UUID] | None = None,
) -> list[Standing]:
    """Up to ``limit`` of the agent's proposals, newest first; ``before`` is the creation
    and id of the last one already seen."""
    close_overtaken(agent=agent.pk)
    wanted = Proposal.objects.all()
    if status:
        wanted = wanted.filter(status=status)
    if op:
        wanted = wanted.filter(op=op)
    if updated_after:
        wanted = wanted.filter(updated_at__gt=updated_after)
    if before:
        at, last = before
        earlier = Q(created_at__lt=at) | Q(created_at=at, pk__lt=last)
        wanted = wanted.filter(earlier, created_at__lte=at)
    return _read(agent, wanted, limit)


def _read(agent: Agent, wanted: ProposalQuerySet, limit: int) -> list[Standing]:
    now = timezone.now()
    mine = wanted.filter(agent=agent).with_staleness(now).newest_first()
    proposals = list(mine.prefetch_related("targets__memory", "decisions")[:limit])
    index = index_states({one.pk: touched_ids(one, _landed(one)) for one in proposals})
    return [_standing(proposal, agent, index, now) for proposal in proposals]


def _standing(
    proposal: Proposal, agent: Agent, index: Mapping[UUID, IndexState], now: datetime
) -> Standing:
    ends = [at for at in (proposal.lapses_at, proposal.ends_at) if at]
    return Standing(
        id=proposal.pk,
        op=proposal.op,
        memory_type=proposal.memory_type,
        agent_id=agent.agent_id,
        status=proposal.status,
        stale=proposal.is_pending and bool(getattr(proposal, "stale", False)),
        revision=proposal.revision,
        created_at=proposal.created_at,
        expires_at=min(ends) if ends else None,
        memory_id=proposal.memory_id,
        targets=tuple(
            Target(
                memory_id=target.memory_id,
                version=target.version,
                current_version=target.memory.version,
                state=target.memory.state_at(now),
            )
            for target in proposal.targets.all()
        ),
        change=proposal.change,
        decision=_decided(proposal),
        closed_reason=proposal.closed_reason,
        index=index[proposal.pk].name if proposal.pk in index else None,
    )


def _decided(proposal: Proposal) -> Decided | None:
    decision = _decision(proposal)
    if decision is None:
        return None
    return Decided(
        outcome=decision.outcome,
        at=decision.at,
        reason=decision.reason,
        comment=decision.comment,
        edits=decision.edits,
    )


def _decision(proposal: Proposal) -> Decision | None:
    standing = (d for d in proposal.decisions.all() if d.undone_at is None)
    return next(standing, None)


def _landed(proposal: Proposal) -> Change:
    decision = _decision(proposal)
    return with_edits(proposal.change, decision.edits if decision else {})
