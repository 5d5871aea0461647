"""What a person proposes about one memory, and may approve in the same act."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from django.utils import timezone

from approvals.models import Decision, Proposal
from approvals.policies import Facts, Ruling, judge
from approvals.services.allowed import (
    decides_alone,
    refusal_to_approve,
    refusal_to_decide,
    refusal_to_propose,
)
from approvals.services.decide import approve as approve_proposal
from approvals.services.edits import Edits, apply_edits
from approvals.services.seen import seen_digest
from approvals.services.submit import Outcome, submit
from memories.changes import Forget, Revise
from memories.errors import Impossible, MemoryNotFound, StaleVersion
from memories.models import Agent, Memory, MemoryRevision, User
from memories.writing import writing

AboutOne = Revise | Forget
WAITS = "It waits in the queue."


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """``decision`` is set where the author approved it in the same act. ``waits`` says
    so where a proposal waits, "" where nobody has to decide any more."""

    outcome: Outcome
    decision: Decision | None = None
    waits: str = ""


def propose(
    change: AboutOne, *, author: User, seen_version: int, approve: bool
) -> Proposed:
    """Submit a person's change of the memory they saw at ``seen_version``, and approve it
    in the same transaction where they may and ask for it.

    Raises ``MemoryNotFound`` (or of an agent the person may not see), ``NotAllowed``,
    ``StaleVersion`` when the memory is at another version, and what ``submit`` raises;
    then nothing is written.
    """
    (memory_id,) = change.target_ids
    agent = Agent.objects.visible_to(author).filter(pk=change.agent).first()
    if agent is None:
        raise MemoryNotFound(f"There is no memory {memory_id}.")
    refusal = refusal_to_propose(agent, author)
    if refusal:
        raise refusal
    with writing():
        outcome = submit(change, by=author, agent=agent)
        _require_seen(change, outcome, seen_version)
        if outcome.proposal is None:
            return Proposed(outcome=outcome)
        return _held(outcome, outcome.proposal, author, approve=approve)


def revision_by_hand(
    memory: Memory,
    *,
    content: str,
    tags: tuple[str, ...],
    expires_at: datetime | None,
) -> Revise | None:
    """The change that brings the memory to what was typed, None when nothing differs.

    A browser's line ends are no difference. Raises ``Impossible`` for a text or tags
    beyond the limits and for an expiry that is over.
    """
    now = timezone.now()
    current = _as_it_is(memory)
    change, edited = apply_edits(current, Edits(content=content, tags=tags))
    if expires_at != memory.expires_at:
        if expires_at is not None and expires_at <= now:
            raise Impossible(
                "The instant is over. To end a memory now, forget it.",
                pointer="/expires_at",
            )
    elif not edited:
        return None
    assert isinstance(change, Revise)
    return replace(change, expires_at=expires_at)


def revision_back_to(revision: MemoryRevision, memory: Memory) -> Revise | None:
    """The change that gives the memory the text, tags and metadata of an earlier version;
    its expiry stays. None when it has them."""
    current = _as_it_is(memory)
    change = replace(
        current,
        content=revision.content,
        tags=tuple(revision.tags),
        metadata=revision.metadata,
    )
    return None if change == current else change


def ruling_beforehand(op: str, memory: Memory, agent: Agent, user: User) -> Ruling:
    """The policy's ruling on a change of the memory by this person, as far as can be said
    without its text."""
    facts = Facts(
        op=op,
        types=frozenset({memory.memory_type}),
        agent_paused=agent.is_paused,
        decides_alone=decides_alone(user),
    )
    return judge(facts)


def _as_it_is(memory: Memory) -> Revise:
    return Revise(
        agent=memory.agent_id,
        memory_type=memory.memory_type,
        memory_id=memory.pk,
        base_version=memory.version,
        content=memory.content,
        tags=tuple(memory.tags),
        metadata=memory.metadata,
        expires_at=memory.expires_at,
    )


def _require_seen(change: AboutOne, outcome: Outcome, seen_version: int) -> None:
    """``submit`` has locked the memory by now, so its version stays what it is here."""
    (memory_id,) = change.target_ids
    if outcome.unknown:
        raise MemoryNotFound("The memory is no longer live; there is nothing to forget.")
    versions = Memory.objects.filter(pk=memory_id).values_list("version", flat=True)
    before = versions.get() - (outcome.proposal is None and outcome.ok)
    if before != seen_version:
        raise StaleVersion(f"The memory is at version {before}, not {seen_version}.")


def _held(outcome: Outcome, proposal: Proposal, author: User, *, approve: bool) -> Proposed:
    if not outcome.why:
        # Another's row, which must not be locked after the memory it is about.
        return Proposed(outcome=outcome, waits=f"The same is proposed already. {WAITS}")
    refusal = refusal_to_decide(proposal, author) or refusal_to_approve(proposal, author)
    if refusal or not approve:
        return Proposed(outcome=outcome, waits=f"{WAITS} {refusal or ''}".rstrip())
    targets = proposal.targets.select_related("memory")
    memories = [target.memory for target in targets]
    seen = seen_digest(proposal, memories, timezone.now())
    decision = approve_proposal(proposal.pk, reviewer=author, seen=seen)
    return Proposed(outcome=outcome, decision=decision)
