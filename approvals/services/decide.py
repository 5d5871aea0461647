"""The decisions: lock, judge, write. Each is one transaction; losing a race writes nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.utils import timezone

from approvals.models import Decision, Proposal, ProposalDraft
from approvals.services.allowed import refusal_to_approve, refusal_to_decide
from approvals.services.close import close_overtaken
from approvals.services.draft import (
    as_asked,
    digest_of,
    draft,
    ends_at,
    narrowed,
    summary_of,
    text_fold_of,
)
from approvals.services.edits import Edits, apply_edits
from approvals.services.seen import seen_digest
from memories import audit
from memories.actors import Actor
from memories.changes import JSON, Change, Revise, to_json
from memories.errors import (
    AlreadyDecided,
    ChangedSinceShown,
    NotAllowed,
    ProposalNotFound,
    StaleVersion,
)
from memories.models import ApiKey, IndexEntry, Memory, User
from memories.nudge import nudge_after_commit
from memories.services import apply_change, lock_targets
from memories.writing import writing

CLOSE_OVERTAKEN = "approvals.tasks.close_overtaken"
NO_EDITS = Edits()


@dataclass(slots=True)
class _Case:
    """A pending proposal with its targets, locked in this transaction."""

    proposal: Proposal
    targets: dict[UUID, Memory]
    drafted: dict[UUID, int]
    now: datetime

    @property
    def stale(self) -> list[UUID]:
        """Targets that moved on or are no longer live."""
        return [
            memory_id
            for memory_id, version in self.drafted.items()
            if self.targets[memory_id].version != version
            or not self.targets[memory_id].is_live(self.now)
        ]


class _Overtaken(Exception):
    """The proposal should have closed itself; it does so once this transaction is gone."""


def approve(
    proposal_id: UUID, *, reviewer: User, seen: str, edits: Edits = NO_EDITS
) -> Decision:
    """Carry out a pending proposal, as it stands or as edited, and record who let it in.

    Raises ``ProposalNotFound`` (or of an agent the reviewer may not see), ``NotAllowed``,
    ``AlreadyDecided``, ``StaleVersion``, ``ChangedSinceShown`` when ``seen`` is not the
    digest of the proposal as it is, and ``Impossible`` for an edit it cannot take. On any
    of them nothing is written.
    """
    try:
        with writing():
            case = _open(proposal_id, reviewer)
            _require_approvable(case, reviewer)
            _require_seen(case, seen)
            change, kept = apply_edits(case.proposal.change, edits)
            decision = _record(case, Decision.Outcome.APPROVED, reviewer, edits=kept)
            apply_change(
                change,
                targets=case.targets,
                event=_approved(case.proposal, reviewer, change, kept),
                memory_id=None if isinstance(change, Revise) else case.proposal.memory_id,
                priority=IndexEntry.Priority.DECISION,
            )
            nudge_after_commit(CLOSE_OVERTAKEN)
    except (NotAllowed, _Overtaken) as error:
        raise _after_rollback(error, proposal_id, reviewer, "approve") from None
    return decision


def reject(
    proposal_id: UUID, *, reviewer: User, seen: str, reason: str, comment: str = ""
) -> Decision:
    """Turn a pending proposal down; ``reason`` and ``comment`` both reach the agent.

    Raises as ``approve`` does, but a stale proposal, one of an agent that is switched
    off, and the reviewer's own can be rejected.
    """
    try:
        with writing():
            case = _open(proposal_id, reviewer)
            _require_seen(case, seen)
            decision = _record(
                case, Decision.Outcome.REJECTED, reviewer, reason=reason, comment=comment
            )
            why = {"reason": reason, "comment": comment}
            audit.append([_event("proposal.rejected", case.proposal, reviewer, **why)])
    except (NotAllowed, _Overtaken) as error:
        raise _after_rollback(error, proposal_id, reviewer, "reject") from None
    return decision


def rebase(proposal_id: UUID, *, reviewer: User, seen: str) -> Proposal:
    """Draft a stale proposal again on top of what is true now; no decision.

    Its id stays, ``revision`` rises, the earlier draft is kept, targets that are gone
    are left out. Raises as ``approve`` does, and ``ChangedSinceShown`` when it is not
    stale.
    """
    try:
        with writing():
            case = _open(proposal_id, reviewer)
            _require_seen(case, seen)
            if not case.stale:
                raise ChangedSinceShown("The proposal is not stale; decide it as it is.")
            _keep_draft(case, reviewer)
            _redraft(case)
            audit.append(
                [
                    _event(
                        "proposal.rebased",
                        case.proposal,
                        reviewer,
                        change=case.proposal.change_json,
                    )
                ]
            )
    except (NotAllowed, _Overtaken) as error:
        raise _after_rollback(error, proposal_id, reviewer, "rebase") from None
    return case.proposal


def note_refused_decision(proposal_id: UUID, *, by: ApiKey | User, attempt: str) -> None:
    """Keep in the audit that somebody tried to decide who may not.

    The entry goes to the chain of whoever tried: an unknown or foreign proposal id must
    not write into another agent's record.
    """
    agent = by.agent_id if isinstance(by, ApiKey) else _agent_of(proposal_id)
    with writing():
        event = audit.Event(
            action="decision.refused",
            actor=Actor.of(by),
            agent=agent,
            proposal_id=proposal_id,
            payload={"attempt": attempt},
        )
        audit.append([event])


def _agent_of(proposal_id: UUID) -> UUID | None:
    return (
        Proposal.objects.filter(pk=proposal_id).values_list("agent_id", flat=True).first()
    )


def _open(proposal_id: UUID, reviewer: User) -> _Case:
    """Lock the proposal, then its memories in order of id, and judge who asks."""
    visible = Proposal.objects.visible_to(reviewer).filter(pk=proposal_id)
    proposal = visible.select_for_update(of=("self",)).select_related("agent").first()
    if proposal is None:
        raise ProposalNotFound(f"There is no proposal {proposal_id}.")
    refusal = refusal_to_decide(proposal, reviewer)
    if refusal:
        raise refusal
    if not proposal.is_pending:
        raise AlreadyDecided(_how_it_ended(proposal))
    now = timezone.now()
    if Proposal.objects.overtaken(now).filter(pk=proposal_id).exists():
        raise _Overtaken
    drafted = dict(proposal.targets.values_list("memory_id", "version"))
    # Also what an undone approval had made, which lives again: in the same order of ids.
    reserved = {proposal.memory_id} if proposal.memory_id else set()
    locked = lock_targets(proposal.agent_id, drafted.keys() | reserved)
    targets = {pk: memory for pk, memory in locked.items() if pk in drafted}
    return _Case(proposal, targets, drafted, now)


def _how_it_ended(proposal: Proposal) -> str:
    decision = proposal.decisions.filter(undone_at=None).select_related("reviewer").first()
    if decision is None:
        return f"The proposal is {proposal.status}; there is nothing left to decide."
    who = decision.reviewer.get_username() if decision.reviewer else "a policy"
    return f"Already {decision.outcome} by {who} at {decision.at:%H:%M} UTC."


def _require_approvable(case: _Case, reviewer: User) -> None:
    refusal = refusal_to_approve(case.proposal, reviewer)
    if refusal:
        raise refusal
    if case.stale:
        raise StaleVersion(
            "The memory moved on since this was drafted. Rebase it for a fresh look, or "
            "reject it."
        )


def _require_seen(case: _Case, seen: str) -> None:
    if seen != seen_digest(case.proposal, case.targets.values(), case.now):
        raise ChangedSinceShown("The proposal changed since it was shown. Look again.")


def _record(
    case: _Case,
    outcome: Decision.Outcome,
    reviewer: User,
    *,
    edits: dict[str, JSON] | None = None,
    reason: str = "",
    comment: str = "",
) -> Decision:
    proposal = case.proposal
    proposal.status = Proposal.Status(outcome.value)
    proposal.closed_at = proposal.updated_at = case.now
    proposal.save(update_fields=["status", "closed_at", "updated_at"])
    return Decision.objects.create(
        proposal=proposal,
        revision=proposal.revision,
        outcome=outcome,
        reviewer=reviewer,
        edits=edits or {},
        reason=reason,
        comment=comment,
        at=case.now,
    )


def _keep_draft(case: _Case, reviewer: User) -> None:
    ProposalDraft.objects.create(
        proposal=case.proposal,
        revision=case.proposal.revision,
        change_json=case.proposal.change_json,
        targets_json=[[str(pk), version] for pk, version in case.drafted.items()],
        replaced_at=case.now,
        replaced_by=reviewer,
    )


def _redraft(case: _Case) -> None:
    proposal = case.proposal
    live = {pk: m for pk, m in case.targets.items() if m.is_live(case.now)}
    change = _on_top(draft(narrowed(proposal.change, live), live, case.now), live)
    proposal.change_json = to_json(change)
    proposal.summary = summary_of(change)
    proposal.text_fold = text_fold_of(change)
    proposal.ends_at = ends_at(change)
    proposal.revision += 1
    proposal.updated_at = case.now
    digest = digest_of(as_asked(change))
    others = Proposal.objects.pending().filter(agent=proposal.agent_id, digest=digest)
    if not others.exclude(pk=proposal.pk).exists():
        proposal.digest = digest  # so that the same, sent again, gives this one back
    proposal.save()
    proposal.targets.exclude(memory_id__in=live).delete()
    for memory_id, memory in live.items():
        proposal.targets.filter(memory_id=memory_id).update(version=memory.version)


def _on_top(change: Change, live: dict[UUID, Memory]) -> Change:
    if not isinstance(change, Revise):
        return change
    return replace(change, base_version=live[change.memory_id].version)


def _approved(
    proposal: Proposal, reviewer: User, change: Change, edits: dict[str, JSON]
) -> audit.Event:
    """With an edit, the audit holds both texts."""
    both = {"edits": edits, "proposed": proposal.change_json} if edits else {}
    return _event("proposal.approved", proposal, reviewer, change=to_json(change), **both)


def _event(
    action: str, proposal: Proposal, reviewer: User, **payload: object
) -> audit.Event:
    return audit.Event(
        action=action,
        actor=Actor.of(reviewer),
        agent=proposal.agent_id,
        proposal_id=proposal.pk,
        payload={"revision": proposal.revision, **payload},
    )


def _after_rollback(
    error: NotAllowed | _Overtaken, proposal_id: UUID, reviewer: User, attempt: str
) -> NotAllowed | AlreadyDecided:
    """What has to be written although the decision was not."""
    if isinstance(error, NotAllowed):
        note_refused_decision(proposal_id, by=reviewer, attempt=attempt)
        return error
    close_overtaken(only=proposal_id)
    return AlreadyDecided("The proposal closed itself; there is nothing left to decide.")
