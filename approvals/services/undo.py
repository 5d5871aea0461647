"""Undo: whoever decided takes it back, for a short time, and the proposal waits again."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from approvals.models import Decision, Proposal
from approvals.services.decide import note_refused_decision
from approvals.services.landed import touched_ids, with_edits
from memories import audit
from memories.actors import Actor
from memories.errors import CannotUndo, DomainError, NotAllowed, ProposalNotFound
from memories.models import User
from memories.services import reverse_change
from memories.writing import writing

MAKES = frozenset({Proposal.Op.REMEMBER, Proposal.Op.MERGE})


def undoable_until(decision: Decision) -> datetime:
    return decision.at + timedelta(seconds=settings.UNDO_SECONDS)


def refusal_to_undo(
    decision: Decision | None, user: User, now: datetime
) -> DomainError | None:
    """Why this person cannot take the decision back any more, or None. What it touched may
    have changed since; that is seen only when it is tried."""
    if decision is None or decision.undone_at is not None:
        return CannotUndo("That decision does not stand any more.")
    if decision.reviewer_id != user.pk:
        return NotAllowed("Only who decided can undo it.", code="not_your_decision")
    if not user.decides:
        return NotAllowed("Your role reads; it does not decide.", code="role_cannot_decide")
    if now > undoable_until(decision):
        return CannotUndo(
            f"A decision can be undone for {settings.UNDO_SECONDS} seconds; this one is "
            "older. Propose a change instead."
        )
    return None


def undo(decision_id: int, *, reviewer: User) -> Proposal:
    """Take a standing decision back, whole: it is kept, marked undone; what it did to
    memories is reversed, each at a new version; the proposal waits again as a new revision.

    Raises ``ProposalNotFound`` (or of an agent the reviewer may not see), ``NotAllowed``,
    and ``CannotUndo`` when it is too late, already undone, or anything it touched changed
    since. On any of them nothing is written.
    """
    found = Decision.objects.filter(pk=decision_id).values_list("proposal_id", flat=True)
    visible = Proposal.objects.visible_to(reviewer).filter(pk__in=found)
    try:
        with writing():
            proposal = visible.select_for_update(of=("self",)).first()
            if proposal is None:
                raise ProposalNotFound("There is no such decision.")
            decision = Decision.objects.filter(pk=decision_id, proposal=proposal).first()
            refusal = refusal_to_undo(decision, reviewer, timezone.now())
            if decision is None or refusal:
                raise refusal or CannotUndo("That decision does not stand any more.")
            _take_back(proposal, decision, reviewer)
    except NotAllowed:
        proposal_id = found.first()
        if proposal_id:
            note_refused_decision(proposal_id, by=reviewer, attempt="undo")
        raise
    return proposal


def _take_back(proposal: Proposal, decision: Decision, reviewer: User) -> None:
    now = timezone.now()
    touched = touched_ids(proposal, with_edits(proposal.change, decision.edits))
    closed = _closed_by_it(decision, touched)  # locked before the memories
    decision.undone_at = now
    decision.save(update_fields=["undone_at"])
    if not _reopen(proposal, now):
        raise CannotUndo(
            "The agent asked for the same again, and that waits now: decide it instead."
        )
    reopened = [one.pk for one in closed if _reopen(one, now)]
    event = audit.Event(
        action="decision.undone",
        actor=Actor.of(reviewer),
        agent=proposal.agent_id,
        proposal_id=proposal.pk,
        objects=tuple(f"proposal:{pk}" for pk in reopened),
        payload={
            "outcome": decision.outcome,
            "revision": proposal.revision,
            "reopened": [str(pk) for pk in reopened],
        },
    )
    if touched:
        made = proposal.memory_id if proposal.op in MAKES else None
        reverse_change(touched, made=made, event=event)
    else:
        audit.append([event])


def _closed_by_it(decision: Decision, touched: Collection[UUID]) -> list[Proposal]:
    """Proposals that closed themselves since, for what the decision took from them."""
    gone = Proposal.objects.filter(
        closed_reason=Proposal.ClosedReason.TARGET_GONE,
        closed_at__gte=decision.at,
        targets__memory__in=touched,
    )
    rows = Proposal.objects.filter(pk__in=gone.values("pk")).order_by("pk")
    return list(rows.select_for_update(of=("self",)))


def _reopen(proposal: Proposal, now: datetime) -> bool:
    """Whether it waits again; not where the agent's same request waits already."""
    proposal.status, proposal.closed_at = Proposal.Status.PENDING, None
    proposal.closed_reason = ""
    proposal.revision += 1
    proposal.updated_at = now
    try:
        with transaction.atomic():
            proposal.save()
    except IntegrityError:
        return False
    return True
