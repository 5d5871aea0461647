"""Who may decide, in one place: the services raise it, the pages say it beforehand."""

from __future__ import annotations

from django.conf import settings

from approvals.models import Proposal
from memories.errors import NotAllowed
from memories.models import Agent, User


def refusal_to_decide(proposal: Proposal, user: User) -> NotAllowed | None:
    """Why this person decides nothing about the proposal, or None."""
    if not user.decides:
        return NotAllowed("Your role reads; it does not decide.", code="role_cannot_decide")
    return _refusal_of_owner(proposal.agent, user)


def refusal_to_approve(proposal: Proposal, user: User) -> NotAllowed | None:
    """Why somebody who may decide can only reject, or None."""
    if not proposal.agent.is_active:
        return NotAllowed(
            "The agent is switched off; its proposals can only be rejected.",
            code="agent_inactive",
        )
    return _refusal_of_author() if proposal.author_id == user.pk else None


def refusal_to_propose(agent: Agent, user: User) -> NotAllowed | None:
    """Why this person proposes no change of the agent's memories, or None. It is no
    decision, so the owner of the agent may."""
    if not user.decides:
        return NotAllowed(
            "Your role reads; it does not propose changes.", code="role_cannot_propose"
        )
    if not agent.is_active:
        return NotAllowed(
            "The agent is switched off; its memories stay as they are.",
            code="agent_inactive",
        )
    return None


def refusal_to_approve_own(agent: Agent, user: User) -> NotAllowed | None:
    """Why this person cannot approve in the same act what they propose, or None."""
    return _refusal_of_owner(agent, user) or _refusal_of_author()


def decides_alone(user: User) -> bool:
    """Whether this person takes a memory away in one step, without a proposal."""
    return user.manages and not settings.REQUIRE_SECOND_PERSON


def refusal_to_retry(user: User) -> NotAllowed | None:
    """Why this person cannot ask the index to try again, or None. It is no decision, so
    the owner of an agent may."""
    if user.decides:
        return None
    return NotAllowed("Your role reads; a reviewer asks for a retry.")


def _refusal_of_owner(agent: Agent, user: User) -> NotAllowed | None:
    if agent.owner_id != user.pk:
        return None
    return NotAllowed(
        "You own this agent; somebody else decides its proposals.",
        code="owner_cannot_decide",
    )


def _refusal_of_author() -> NotAllowed | None:
    if not settings.REQUIRE_SECOND_PERSON:
        return None
    return NotAllowed(
        "You proposed this; a second person approves it.", code="second_person"
    )
