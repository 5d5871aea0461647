"""Who may decide, in one place: the services raise it, the pages say it beforehand."""

from __future__ import annotations

from django.conf import settings

from approvals.models import Proposal
from memories.errors import NotAllowed
from memories.models import User


def refusal_to_decide(proposal: Proposal, user: User) -> NotAllowed | None:
    """Why this person decides nothing about the proposal, or None."""
    if not user.decides:
        return NotAllowed("Your role reads; it does not decide.", code="role_cannot_decide")
    if proposal.agent.owner_id == user.pk:
        return NotAllowed(
            "You own this agent; somebody else decides its proposals.",
            code="owner_cannot_decide",
        )
    return None


def refusal_to_approve(proposal: Proposal, user: User) -> NotAllowed | None:
    """Why somebody who may decide can only reject, or None."""
    if not proposal.agent.is_active:
        return NotAllowed(
            "The agent is switched off; its proposals can only be rejected.",
            code="agent_inactive",
        )
    if settings.REQUIRE_SECOND_PERSON and proposal.author_id == user.pk:
        return NotAllowed(
            "You proposed this; a second person approves it.", code="second_person"
        )
    return None


def refusal_to_retry(user: User) -> NotAllowed | None:
    """Why this person cannot ask the index to try again, or None. It is no decision, so
    the owner of an agent may."""
    if user.decides:
        return None
    return NotAllowed("Your role reads; a reviewer asks for a retry.")
