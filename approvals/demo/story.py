"""What a demo agent and its reviewer do, each through the service that everybody uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from django.utils import timezone

from approvals import services
from approvals.models import Proposal
from memories.actors import SYSTEM
from memories.changes import JSON, Change, Expire, Forget, Merge, Remember, Revise
from memories.models import Memory, User
from memories.services import create_agent, create_key

DAY = 24 * 3600  # seconds


class Story:
    """One agent. It asks with its key; what has to be there before, ``reviewer`` decides.

    ``text`` is the key's. Raises ``Impossible`` when the agent exists already.
    """

    def __init__(self, agent_id: str, name: str, *, reviewer: User) -> None:
        self.reviewer = reviewer
        self.agent = create_agent(agent_id, name=name, actor=SYSTEM)
        self.key, self.text = create_key(
            self.agent, name="Demo", is_demo=True, actor=SYSTEM
        )

    def asks(
        self,
        content: str,
        *,
        memory_type: str = "semantic",
        tags: Sequence[str] = (),
        source: str = "document",
        replaces: Sequence[Memory] = (),
        days: int | None = None,
        claims: Mapping[str, JSON] | None = None,
    ) -> Proposal:
        """A remember that waits. ``claims`` are more metadata."""
        supersedes = tuple(memory.pk for memory in replaces)
        metadata: dict[str, JSON] = {"source": source, **(claims or {})}
        if supersedes:
            metadata["supersedes"] = [str(pk) for pk in supersedes]
        return self._held(
            Remember(
                agent=self.agent.pk,
                memory_type=memory_type,
                content=content,
                tags=tuple(tags),
                metadata=metadata,
                ttl_seconds=days and days * DAY,
                supersedes=supersedes,
            )
        )

    def asks_to_revise(
        self, memory: Memory, content: str, *, tags: Sequence[str] | None = None
    ) -> Proposal:
        return self._held(
            Revise(
                agent=self.agent.pk,
                memory_type=memory.memory_type,
                memory_id=memory.pk,
                base_version=memory.version,
                content=content,
                tags=tuple(memory.tags if tags is None else tags),
                metadata=memory.metadata,
                expires_at=memory.expires_at,
            )
        )

    def asks_to_merge(
        self, *memories: Memory, content: str | None = None, tags: Sequence[str] = ()
    ) -> Proposal:
        return self._held(
            Merge(
                agent=self.agent.pk,
                memory_type=memories[0].memory_type,
                memory_ids=_ids(memories),
                content=content,
                own_tags=tuple(tags),
            )
        )

    def asks_to_forget(self, *memories: Memory) -> Proposal:
        return self._held(
            Forget(
                agent=self.agent.pk,
                memory_type=memories[0].memory_type,
                memory_ids=_ids(memories),
            )
        )

    def asks_to_expire(self, *memories: Memory, days: int) -> Proposal:
        """``days`` 0 is now."""
        return self._held(
            Expire(
                agent=self.agent.pk,
                memory_type=memories[0].memory_type,
                memory_ids=_ids(memories),
                ttl_seconds=days * DAY,
            )
        )

    def knows(
        self,
        content: str,
        *,
        memory_type: str = "semantic",
        tags: Sequence[str] = (),
        source: str = "document",
        replaces: Sequence[Memory] = (),
        days: int | None = None,
    ) -> Memory:
        """A long-term memory that the reviewer let in."""
        return self.lets_in(
            self.asks(
                content,
                memory_type=memory_type,
                tags=tags,
                source=source,
                replaces=replaces,
                days=days,
            )
        )

    def notes(
        self,
        content: str,
        *,
        memory_type: str = "episodic",
        tags: Sequence[str] = (),
        source: str = "tool",
        hours: int | None = None,
    ) -> None:
        """A short-term memory, which nobody has to look at."""
        services.submit(
            Remember(
                agent=self.agent.pk,
                memory_type=memory_type,
                content=content,
                tags=tuple(tags),
                metadata={"source": source},
                ttl_seconds=hours and hours * 3600,
            ),
            by=self.key,
        )

    def takes_back(self, proposal: Proposal) -> None:
        services.withdraw(proposal.pk, by=self.key)

    def lets_in(self, proposal: Proposal, *, content: str | None = None) -> Memory:
        """The memory that approval makes or changes; ``content`` in place of what was
        asked, where it is given."""
        if proposal.memory_id is None:
            raise ValueError("A forget and an expiry make no memory: use approves().")
        self.approves(proposal, content=content)
        return Memory.objects.get(pk=proposal.memory_id)

    def approves(self, proposal: Proposal, *, content: str | None = None) -> None:
        services.approve(
            proposal.pk,
            reviewer=self.reviewer,
            seen=self._seen(proposal),
            edits=services.Edits(content=content),
        )

    def turns_down(self, proposal: Proposal, *, reason: str, comment: str) -> None:
        services.reject(
            proposal.pk,
            reviewer=self.reviewer,
            seen=self._seen(proposal),
            reason=reason,
            comment=comment,
        )

    def _seen(self, proposal: Proposal) -> str:
        targets = [target.memory for target in proposal.targets.select_related("memory")]
        return services.seen_digest(proposal, targets, timezone.now())

    def _held(self, change: Change) -> Proposal:
        proposal = services.submit(change, by=self.key).proposal
        if proposal is None:
            raise RuntimeError(f"The gate held no {change.op} of long-term memory.")
        return proposal


def _ids(memories: Sequence[Memory]) -> tuple[UUID, ...]:
    return tuple(memory.pk for memory in memories)
