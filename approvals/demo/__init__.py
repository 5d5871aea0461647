"""A queue to try the desk with: three agents, what they know and what they ask for.

All of it is made by the services, as agents and people would, so every entry of the audit
is true. The agents that have a key of the demo are the demo's.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q
from django.utils import timezone

from approvals.demo import billing, coding, support
from approvals.demo.story import Story
from approvals.demo.support import FIRST, QUESTION
from approvals.models import Proposal
from approvals.services import withdraw_all
from memories.actors import SYSTEM
from memories.models import Agent, ApiKey, IndexEntry, User
from memories.services import revoke_key, set_active
from memories.writing import writing

__all__ = ["AGENT_ID", "FIRST", "QUESTION", "Ended", "Seeded", "end", "is_seeded", "seed"]

AGENT_ID = "support-bot"


@dataclass(frozen=True, slots=True)
class Seeded:
    """The first proposal, a plain remember, and the text of its agent's key."""

    proposal: Proposal
    key: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The ids of the ``agents`` that were on until now, how many proposals were
    ``withdrawn``, and how many still wait, because no key was left to withdraw them."""

    agents: list[str]
    withdrawn: int
    waiting: int


def is_seeded() -> bool:
    return ApiKey.objects.filter(is_demo=True).exists()


def seed(*, reviewer: User) -> Seeded:
    """Make the agents and fill their queues; ``reviewer`` decides what is decided.

    All or nothing. Raises ``Impossible`` when one of the agents exists already: the demo
    adds nothing to what somebody else's agent knows.
    """
    with writing():
        story = Story(AGENT_ID, "Support bot (demo)", reviewer=reviewer)
        proposal = support.tell(story)
        billing.tell(Story("billing-bot", "Billing bot (demo)", reviewer=reviewer))
        coding.tell(Story("coding-agent", "Coding agent (demo)", reviewer=reviewer))
        # So that what the newcomer approves is recalled before all of it is indexed.
        IndexEntry.objects.filter(memory__agent__keys__is_demo=True).put_last()
    return Seeded(proposal, story.text)


def end() -> Ended:
    """Withdraw what waits, revoke the demo's keys and switch its agents off. What they
    remember and what was decided stays, as it does for every agent."""
    with writing():
        usable = ApiKey.objects.usable(timezone.now()).filter(is_demo=True)
        withdrawn = sum(withdraw_all(by=key) for key in usable.select_related("agent"))
        agents = Agent.objects.filter(keys__is_demo=True)
        is_on = Q(is_active=True) | Q(keys__revoked_at=None, keys__is_demo=True)
        ended = list(agents.filter(is_on).distinct().order_by("agent_id"))
        for key in ApiKey.objects.filter(is_demo=True).select_related("agent"):
            revoke_key(key, actor=SYSTEM)
        for agent in ended:
            set_active(agent, False, actor=SYSTEM)
        waiting = Proposal.objects.pending().filter(agent__in=agents).count()
    return Ended([agent.agent_id for agent in ended], withdrawn, waiting)
