"""The one service of every door: apply now, hold for a person, or refuse."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import assert_never
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from approvals.models import Proposal, ProposalTarget
from approvals.policies import Facts, Verdict, judge
from approvals.services.allowed import decides_alone
from approvals.services.close import withdraw_locked
from approvals.services.draft import digest_of, draft, ends_at, summary_of, text_fold_of
from memories import audit
from memories.actors import Actor
from memories.changes import Change, Expire, Forget, Merge, Remember, Revise, to_json
from memories.errors import Fault, Impossible, MemoryNotFound, QueueFull, StaleVersion
from memories.ids import new_id
from memories.models import Agent, ApiKey, Memory, User
from memories.services import apply_change, lock_targets
from memories.writing import writing


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a change.

    ``ids`` are the memories made or changed now, or the reserved id of what is held.
    ``approved`` is None where no approval was needed, False while held or refused.
    ``proposal`` is set while a person is needed. ``withdrawn`` counts own pending
    proposals taken back, ``unknown`` the ids of a forget that named nothing live.
    """

    ok: bool = True
    ids: tuple[UUID, ...] = ()
    approved: bool | None = None
    proposal: Proposal | None = None
    why: str = ""
    withdrawn: int = 0
    unknown: int = 0
    expires_at: datetime | None = None


def submit(change: Change, *, by: ApiKey | User, agent: Agent | None = None) -> Outcome:
    """Let a change in, hold it, or refuse it, in one transaction.

    ``agent`` is needed where a person asks; a key brings its own. Raises
    ``MemoryNotFound`` when a named memory is unknown (of a forget: those are counted
    instead), ``StaleVersion`` when a revise was written against another version,
    ``Impossible`` for a bad ``supersedes`` and ``QueueFull``; then nothing is written.
    """
    agent = by.agent if isinstance(by, ApiKey) else agent
    if agent is None or agent.pk != change.agent:
        raise ValueError("A change is submitted for the agent it names.")
    submission = _Submission(change, by=by, agent=agent)
    with writing():
        return submission.run()


class _Submission:
    """One change on its way in. ``asked`` is the change as sent, for the digest."""

    def __init__(self, change: Change, *, by: ApiKey | User, agent: Agent) -> None:
        self.asked, self.by, self.agent = change, by, agent
        self.actor = Actor.of(by)
        self.asked_fold = text_fold_of(change)  # may take long, so before any lock
        self.now = timezone.now()

    def run(self) -> Outcome:
        match self.asked:
            case Forget():
                return self._forget(self.asked)
            case Remember():
                return self._remember(self.asked)
            case Revise():
                targets = self._known(self.asked.target_ids)
                _require_current(self.asked, targets[self.asked.memory_id])
                return self._judge(self.asked, targets)
            case Merge() | Expire():
                targets = self._known(self.asked.target_ids)
                return self._judge(self.asked, targets)
            case _:
                assert_never(self.asked)

    def _known(self, ids: Iterable[UUID]) -> dict[UUID, Memory]:
        targets = self._live(ids)
        for memory_id in ids:
            if memory_id not in targets:
                message = f"There is no live memory {memory_id}."
                raise MemoryNotFound(message, faults=[Fault("/memory_ids", message)])
        return targets

    def _live(self, ids: Iterable[UUID]) -> dict[UUID, Memory]:
        found = lock_targets(self.agent.pk, ids)
        return {pk: memory for pk, memory in found.items() if memory.is_live(self.now)}

    def _reserved(self, ids: Iterable[UUID]) -> dict[UUID, Proposal]:
        """Own pending proposals by the id they reserve, locked in order of id."""
        mine = Proposal.objects.pending().filter(agent=self.agent, memory_id__in=set(ids))
        made = mine.filter(op__in=[Proposal.Op.REMEMBER, Proposal.Op.MERGE])
        locked = made.order_by("pk").select_for_update(of=("self",))
        return {proposal.memory_id: proposal for proposal in locked if proposal.memory_id}

    def _remember(self, change: Remember) -> Outcome:
        if not change.supersedes:
            return self._judge(change, {})
        pending = self._reserved(change.supersedes)
        targets = self._live(change.supersedes)
        # After the locks: the same, sent at the same moment, may have withdrawn them.
        same = self._same_pending(change)
        if same:
            return _held(same)
        for memory_id in change.supersedes:
            if memory_id not in targets and memory_id not in pending:
                raise Impossible(
                    f"There is no live memory {memory_id} to supersede.",
                    pointer="/metadata/supersedes",
                    code="bad_supersedes",
                )
        events = [
            withdraw_locked(proposal, by=self.by, reason=Proposal.ClosedReason.REPLACED)
            for proposal in pending.values()
        ]
        kept = tuple(i for i in change.supersedes if i in targets)
        return self._judge(replace(change, supersedes=kept), targets, events)

    def _forget(self, change: Forget) -> Outcome:
        named = tuple(dict.fromkeys(change.memory_ids))
        pending = self._reserved(named)
        targets = self._live(named)
        events = [
            withdraw_locked(proposal, by=self.by, reason=Proposal.ClosedReason.BY_AGENT)
            for proposal in pending.values()
        ]
        held: list[UUID] = []
        now: list[UUID] = []
        for memory_id in named:
            if memory_id in targets:
                facts = self._facts(change, [targets[memory_id]])
                (now if judge(facts).verdict is Verdict.APPLY else held).append(memory_id)
        if now:
            self._apply(replace(change, memory_ids=tuple(now)), targets)
        outcome = self._forget_held(change, held, targets)
        if events:
            audit.append(events)
        done = tuple(i for i in named if i in now or i in pending)
        unknown = len(named) - len(targets) - len(pending)
        return replace(outcome, ids=done, withdrawn=len(pending), unknown=unknown)

    def _forget_held(
        self, change: Forget, held: list[UUID], targets: Mapping[UUID, Memory]
    ) -> Outcome:
        if not held:
            return Outcome()
        part = replace(change, memory_ids=tuple(held))
        why = judge(self._facts(part, [targets[i] for i in held])).why
        return self._hold(part, digest_of(part), targets, why)

    def _judge(
        self,
        change: Change,
        targets: Mapping[UUID, Memory],
        events: list[audit.Event] | None = None,
    ) -> Outcome:
        drafted = draft(change, targets, self.now)
        ruling = judge(self._facts(drafted, targets.values()))
        if ruling.verdict is Verdict.APPLY:
            outcome = self._apply(drafted, targets)
        elif ruling.verdict is Verdict.HOLD:
            outcome = self._hold(drafted, digest_of(self.asked), targets, ruling.why)
        else:
            outcome = self._refuse(drafted, ruling.why)
        if events:
            audit.append(events)
        return outcome

    def _facts(self, change: Change, targets: Iterable[Memory]) -> Facts:
        types = {memory.memory_type for memory in targets}
        if isinstance(change, Remember | Merge):
            types.add(change.memory_type)
        return Facts(
            op=change.op,
            types=frozenset(types),
            agent_paused=self.agent.is_paused,
            echoes_rejected=self._echoes_rejected(change),
            decides_alone=isinstance(self.by, User) and decides_alone(self.by),
        )

    def _echoes_rejected(self, change: Change) -> bool:
        fold = self._fold(change)
        if not fold:
            return False
        since = self.now - timedelta(days=settings.REJECTED_ECHO_DAYS)
        rejected = Proposal.objects.filter(agent=self.agent, text_fold=fold)
        return rejected.filter(
            status=Proposal.Status.REJECTED, closed_at__gte=since
        ).exists()

    def _fold(self, change: Change) -> str:
        same_text = getattr(change, "content", None) == getattr(self.asked, "content", None)
        return self.asked_fold if same_text else text_fold_of(change)

    def _apply(self, change: Change, targets: Mapping[UUID, Memory]) -> Outcome:
        event = self._event(change, "applied")
        made = apply_change(change, targets=targets, event=event)
        ids = (made.pk,) if made else change.target_ids
        return Outcome(ids=ids, expires_at=getattr(change, "expires_at", None))

    def _refuse(self, change: Change, why: str) -> Outcome:
        audit.append([self._event(change, "refused", why=why)])
        return Outcome(ok=False, approved=False, why=why)

    def _event(self, change: Change, what: str, **more: object) -> audit.Event:
        return audit.Event(
            action=f"{change.op}.{what}",
            actor=self.actor,
            agent=self.agent.pk,
            payload={"change": to_json(change), **more},
        )

    def _same_pending(self, change: Change) -> Proposal | None:
        pending = Proposal.objects.pending().filter(agent=self.agent)
        return pending.filter(digest=digest_of(change)).first()

    def _hold(
        self, change: Change, digest: str, targets: Mapping[UUID, Memory], why: str
    ) -> Outcome:
        mine = Proposal.objects.pending().filter(agent=self.agent)
        same = mine.filter(digest=digest).first()
        if same:
            return _held(same)
        limit = settings.MAX_PENDING_PER_AGENT
        if mine.count() >= limit:
            raise QueueFull(
                f"{limit:,} proposals of this agent are waiting (MAX_PENDING_PER_AGENT)."
            )
        proposal = self._new_proposal(change, digest)
        try:
            with transaction.atomic():
                proposal.save(force_insert=True)
        except IntegrityError:
            same = mine.filter(digest=digest).first()
            if same:  # sent at the same moment
                return _held(same)
            proposal.save(force_insert=True)  # and decided since
        ProposalTarget.objects.bulk_create(
            ProposalTarget(
                proposal=proposal,
                memory=targets[memory_id],
                version=targets[memory_id].version,
                position=position,
            )
            for position, memory_id in enumerate(dict.fromkeys(change.target_ids))
        )
        event = self._event(change, "held", why=why)
        audit.append([replace(event, proposal_id=proposal.pk)])
        return replace(_held(proposal), why=why)

    def _new_proposal(self, change: Change, digest: str) -> Proposal:
        days = settings.PROPOSAL_TTL_DAYS
        if isinstance(change, Revise):
            memory_id: UUID | None = change.memory_id
        else:
            memory_id = new_id() if isinstance(change, Remember | Merge) else None
        return Proposal(
            agent=self.agent,
            author_key=self.by if isinstance(self.by, ApiKey) else None,
            author=self.by if isinstance(self.by, User) else None,
            op=change.op,
            memory_type=change.memory_type,
            change_json=to_json(change),
            summary=summary_of(change),
            digest=digest,
            text_fold=self._fold(change),
            memory_id=memory_id,
            created_at=self.now,
            updated_at=self.now,
            lapses_at=self.now + timedelta(days=days) if days else None,
            ends_at=ends_at(change),
        )


def _require_current(change: Revise, memory: Memory) -> None:
    if memory.version != change.base_version:
        raise StaleVersion(
            f"The memory is at version {memory.version}, not {change.base_version}."
        )


def _held(proposal: Proposal) -> Outcome:
    makes = proposal.op in {Proposal.Op.REMEMBER, Proposal.Op.MERGE}
    ids = (proposal.memory_id,) if makes and proposal.memory_id else ()
    return Outcome(ids=ids, approved=False, proposal=proposal)
