"""Data for tests, made through the services: a builder cannot make an impossible row."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.test import Client
from django.utils import timezone

from approvals import services
from approvals.models import Decision, Proposal
from memories.actors import SYSTEM
from memories.changes import JSON, Expire, Forget, Merge, Remember, Revise
from memories.models import Agent, ApiKey, Memory, User
from memories.services import create_agent, create_key, create_person
from memories.tasks import drain_index

HTMX = {"HX-Request": "true"}
_number = itertools.count(1)


def agent(agent_id: str = "", *, owner: User | None = None) -> Agent:
    return create_agent(agent_id or f"bot-{next(_number)}", owner=owner, actor=SYSTEM)


def key(agent: Agent, scopes: Sequence[str] = ApiKey.OFFERED) -> ApiKey:
    return create_key(agent, scopes=scopes, actor=SYSTEM)[0]


def person(
    username: str = "", *, role: str = "reviewer", agents: Sequence[str] | None = None
) -> User:
    name = username or f"person-{next(_number)}"
    return create_person(
        name, password="correct horse", role=role, agents=agents, actor=SYSTEM
    )


def held(
    agent: Agent,
    content: str = "Refunds take five days.",
    *,
    memory_type: str = "semantic",
    tags: Sequence[str] = (),
    metadata: Mapping[str, JSON] | None = None,
    supersedes: Sequence[UUID] = (),
    ttl_seconds: int | None = None,
) -> Proposal:
    """A remember that waits."""
    change = Remember(
        agent=agent.pk,
        memory_type=memory_type,
        content=content,
        tags=tuple(tags),
        metadata=metadata or {},
        supersedes=tuple(supersedes),
        ttl_seconds=ttl_seconds,
    )
    return _proposal(change, agent)


def forgetting(agent: Agent, *memories: Memory) -> Proposal:
    ids = tuple(memory.pk for memory in memories)
    return _proposal(Forget(agent=agent.pk, memory_type="semantic", memory_ids=ids), agent)


def forget_now(agent: Agent, *memories: Memory) -> services.Outcome:
    """A forget that nobody has to look at."""
    ids = tuple(memory.pk for memory in memories)
    change = Forget(agent=agent.pk, memory_type="episodic", memory_ids=ids)
    return services.submit(change, by=_any_key(agent))


def merging(agent: Agent, *memories: Memory, content: str | None = None) -> Proposal:
    ids = tuple(memory.pk for memory in memories)
    change = Merge(agent=agent.pk, memory_type="semantic", memory_ids=ids, content=content)
    return _proposal(change, agent)


def expiring(agent: Agent, *memories: Memory, ttl_seconds: int | None = None) -> Proposal:
    change = Expire(
        agent=agent.pk,
        memory_type="semantic",
        memory_ids=tuple(memory.pk for memory in memories),
        ttl_seconds=ttl_seconds,
    )
    return _proposal(change, agent)


def revising(memory: Memory, content: str) -> Proposal:
    change = Revise(
        agent=memory.agent_id,
        memory_type=memory.memory_type,
        memory_id=memory.pk,
        base_version=memory.version,
        content=content,
        tags=tuple(memory.tags),
        metadata=memory.metadata,
        expires_at=memory.expires_at,
    )
    return _proposal(change, memory.agent)


def memory(
    agent: Agent,
    content: str = "Alice prefers tea.",
    *,
    reviewer: User | None = None,
    **more: Any,
) -> Memory:
    """A live long-term memory that a person approved."""
    proposal = held(agent, content, **more)
    approve(proposal, reviewer)
    return made_by(proposal)


def made_by(proposal: Proposal) -> Memory:
    """The memory that approving the proposal made or changed."""
    assert proposal.memory_id is not None
    return Memory.objects.get(pk=proposal.memory_id)


def short_term(
    agent: Agent,
    content: str = "The user said hello.",
    *,
    memory_type: str = "episodic",
    tags: Sequence[str] = (),
    ttl_seconds: int | None = None,
) -> Memory:
    change = Remember(
        agent=agent.pk,
        memory_type=memory_type,
        content=content,
        tags=tuple(tags),
        ttl_seconds=ttl_seconds,
    )
    outcome = services.submit(change, by=_any_key(agent))
    return Memory.objects.get(pk=outcome.ids[0])


def seen(proposal: Proposal) -> str:
    """The digest that a card shown right now would carry."""
    fresh = Proposal.objects.get(pk=proposal.pk)
    targets = [target.memory for target in fresh.targets.select_related("memory")]
    return services.seen_digest(fresh, targets, timezone.now())


def approve(proposal: Proposal, reviewer: User | None = None, **edits: Any) -> Decision:
    return services.approve(
        proposal.pk,
        reviewer=reviewer or _any_reviewer(),
        seen=seen(proposal),
        edits=services.Edits(**edits),
    )


def reject(
    proposal: Proposal,
    reviewer: User | None = None,
    *,
    reason: str = "other",
    comment: str = "",
) -> Decision:
    return services.reject(
        proposal.pk,
        reviewer=reviewer or _any_reviewer(),
        seen=seen(proposal),
        reason=reason,
        comment=comment,
    )


def drain() -> int:
    """Bring the index up to date, as the worker would."""
    return int(drain_index.run())


class Api:
    """The REST API with one key."""

    def __init__(self, agent: Agent, scopes: Sequence[str] = ApiKey.OFFERED) -> None:
        self.agent = agent
        self.key, self.text = create_key(agent, scopes=scopes, actor=SYSTEM)
        self.client = Client(headers={"Authorization": f"Bearer {self.text}"})

    def amp(
        self, op: str, memory_type: str = "semantic", *, query: str = "", **members: Any
    ) -> Any:
        """POST an envelope; ``query`` is the recall query (``url_query`` the URL's)."""
        url_query = members.pop("url_query", "")
        headers = members.pop("headers", {})
        envelope = {"op": op, "memory_type": memory_type, **members}
        if op == "recall":
            envelope["query"] = query
        return self.client.post(
            f"/api/v1/amp{url_query}",
            json.dumps(envelope),
            content_type="application/json",
            headers=headers,
        )


def _proposal(change: Any, agent: Agent) -> Proposal:
    outcome = services.submit(change, by=_any_key(agent))
    assert outcome.proposal is not None
    return outcome.proposal


def _any_key(agent: Agent) -> ApiKey:
    existing = ApiKey.objects.filter(agent=agent).select_related("agent").first()
    return existing or key(agent)


def _any_reviewer() -> User:
    return User.objects.filter(username="default-reviewer").first() or person(
        "default-reviewer"
    )
