"""How a proposal ends without a decision: withdrawn by its agent, or overtaken."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.utils import timezone

from approvals.models import Proposal
from memories import audit
from memories.actors import SYSTEM, Actor
from memories.errors import AlreadyDecided, NotAllowed, ProposalNotFound
from memories.models import ApiKey, User
from memories.writing import writing

SCOPE_OF = {"revise": "remember"}  # the others are named like their operation


def withdraw(proposal_id: UUID, *, by: ApiKey) -> Proposal:
    """Take back an own pending proposal.

    Raises ``ProposalNotFound`` (unknown or another agent's), ``NotAllowed`` when the key
    lacks the scope of what was proposed or a person proposed it, ``AlreadyDecided`` when
    it is no longer pending.
    """
    with writing():
        mine = Proposal.objects.filter(pk=proposal_id, agent=by.agent)
        proposal = mine.select_for_update(of=("self",)).first()
        if proposal is None:
            raise ProposalNotFound(f"There is no proposal {proposal_id}.")
        if proposal.author_id is not None:
            raise NotAllowed(
                "A person proposed this; an agent withdraws only what it asked for itself.",
                code="not_yours",
            )
        if not proposal.is_pending:
            raise AlreadyDecided(f"The proposal is {proposal.status}, no longer pending.")
        event = withdraw_locked(proposal, by=by, reason=Proposal.ClosedReason.BY_AGENT)
        audit.append([event])
    return proposal


def withdraw_all(*, by: ApiKey) -> int:
    """Take back every pending proposal of the key's agent; return how many.

    Raises ``NotAllowed`` as ``withdraw`` does; then none is taken back.
    """
    with writing():
        mine = Proposal.objects.pending().filter(agent=by.agent).order_by("pk")
        reason = Proposal.ClosedReason.BY_AGENT
        events = [
            withdraw_locked(proposal, by=by, reason=reason)
            for proposal in mine.select_for_update(of=("self",))
        ]
        if events:
            audit.append(events)
    return len(events)


def withdraw_locked(
    proposal: Proposal, *, by: ApiKey | User, reason: Proposal.ClosedReason
) -> audit.Event:
    """Close a pending proposal that is locked in this transaction; return what to audit."""
    scope = SCOPE_OF.get(proposal.op, proposal.op)
    if isinstance(by, ApiKey) and scope not in by.scopes:
        raise NotAllowed(
            f"Withdrawing this proposal needs the scope {scope!r}.", code="missing_scope"
        )
    _close(proposal, Proposal.Status.WITHDRAWN, reason, timezone.now())
    return audit.Event(
        action="proposal.withdrawn",
        actor=Actor.of(by),
        agent=proposal.agent_id,
        proposal_id=proposal.pk,
        payload={"reason": reason},
    )


def close_overtaken(
    limit: int = 200, *, only: UUID | None = None, agent: UUID | None = None
) -> int:
    """Close up to ``limit`` pending proposals that lapsed, whose expiry instant passed, or
    that have no target left; return how many. ``only`` and ``agent`` narrow it."""
    closed = 0
    due = Proposal.objects.overtaken()
    if only:
        due = due.filter(pk=only)
    if agent:
        due = due.filter(agent=agent)
    for proposal_id in list(due.values_list("pk", flat=True)[:limit]):
        closed += _close_one(proposal_id)
    return closed


def overtaken_reason(proposal: Proposal, now: datetime) -> Proposal.ClosedReason:
    if proposal.ends_at and proposal.ends_at <= now:
        return Proposal.ClosedReason.TTL_PASSED
    if proposal.lapses_at and proposal.lapses_at <= now:
        return Proposal.ClosedReason.LAPSED
    return Proposal.ClosedReason.TARGET_GONE


def _close_one(proposal_id: UUID) -> bool:
    with writing():
        now = timezone.now()
        pending = Proposal.objects.pending().filter(pk=proposal_id)
        proposal = pending.select_for_update(of=("self",)).first()
        # Judged again under the lock: a decision or a rebase may have been faster.
        if proposal is None or not Proposal.objects.overtaken(now).filter(pk=proposal_id):
            return False
        reason = overtaken_reason(proposal, now)
        _close(proposal, Proposal.Status.EXPIRED, reason, now)
        event = audit.Event(
            action="proposal.expired",
            actor=SYSTEM,
            agent=proposal.agent_id,
            proposal_id=proposal.pk,
            payload={"reason": reason},
        )
        audit.append([event])
    return True


def _close(
    proposal: Proposal,
    status: Proposal.Status,
    reason: Proposal.ClosedReason,
    now: datetime,
) -> None:
    proposal.status, proposal.closed_reason = status, reason
    proposal.closed_at = proposal.updated_at = now
    proposal.save(update_fields=["status", "closed_reason", "closed_at", "updated_at"])
