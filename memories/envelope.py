"""An ``amp/1`` envelope: from JSON to a change or a question, or to what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from memories import limits
from memories.changes import JSON, Change, Expire, Forget, Merge, Remember
from memories.errors import Impossible
from memories.recall import Question
from memories.schema import parse_id, well_formed
from memories.strict import require_plain

DEFAULT_TOP_K = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """A request that can be carried out, as far as one can say without the database."""

    op: str
    memory_type: str
    agent_id: str | None = None
    content: str | None = None
    query: str = ""
    memory_ids: tuple[UUID, ...] = ()
    top_k: int = DEFAULT_TOP_K
    tags: tuple[str, ...] = ()
    ttl_seconds: int | None = None
    metadata: Mapping[str, JSON]
    supersedes: tuple[UUID, ...] = ()

    def change(self, agent: UUID) -> Change:
        """What the envelope asks to do to memories of ``agent``; not for a recall."""
        match self.op:
            case "remember":
                return Remember(
                    agent=agent,
                    memory_type=self.memory_type,
                    content=self.content or "",
                    tags=self.tags,
                    metadata=self.metadata,
                    ttl_seconds=self.ttl_seconds,
                    supersedes=self.supersedes,
                )
            case "merge":
                return Merge(
                    agent=agent,
                    memory_type=self.memory_type,
                    memory_ids=tuple(dict.fromkeys(self.memory_ids)),
                    content=self.content,
                    own_tags=self.tags,
                    metadata=self.metadata,
                    ttl_seconds=self.ttl_seconds,
                )
            case "forget":
                return Forget(
                    agent=agent, memory_type=self.memory_type, memory_ids=self.memory_ids
                )
            case "expire":
                return Expire(
                    agent=agent,
                    memory_type=self.memory_type,
                    memory_ids=tuple(dict.fromkeys(self.memory_ids)),
                    ttl_seconds=self.ttl_seconds,
                )
        raise ValueError(f"{self.op} changes nothing")

    def question(self, agent: UUID, *, least: float | None, relevance: bool) -> Question:
        """What a recall asks; ``least`` is the least relevance of a hit."""
        return Question(
            agent=agent,
            memory_types=(self.memory_type,),
            query=self.query,
            top_k=self.top_k,
            tags=self.tags,
            min_relevance=least,
            with_relevance=relevance,
        )


def read(data: JSON) -> Envelope:
    """Raises ``Malformed`` for what the schema or strict JSON refuses, and ``Impossible``
    for what is well formed but cannot be done; both point to each member at fault.

    Whatever could be slow on hostile input comes after the limits that bound it.
    """
    members = well_formed(data)
    tags = tuple(members.get("tags", ()))
    limits.check_tags(tags)
    named = members.get("memory_ids", ())
    if named:
        limits.check_ids(named)
    envelope = Envelope(
        op=members["op"],
        memory_type=members["memory_type"],
        agent_id=members.get("agent_id"),
        content=members.get("content"),
        query=members.get("query") or "",
        memory_ids=tuple(UUID(text.lower()) for text in named),
        top_k=_whole(members.get("top_k")) or DEFAULT_TOP_K,
        tags=tags,
        ttl_seconds=_whole(members.get("ttl_seconds")),
        metadata=members.get("metadata") or {},
        supersedes=_supersedes(members),
    )
    _require_possible(envelope, members)
    limits.check_metadata(envelope.metadata)
    require_plain(dict(envelope.metadata), pointer="/metadata", depth=2)
    return envelope


def _whole(number: float | None) -> int | None:
    """The schema takes 5.0 and 1e2 for the integers they are."""
    return None if number is None else int(number)


def _supersedes(members: Mapping[str, Any]) -> tuple[UUID, ...]:
    """The memories of a remember that the new one replaces, from its metadata."""
    named = (members.get("metadata") or {}).get("supersedes")
    if members["op"] != "remember" or named is None:
        return ()
    texts = named if isinstance(named, list) else [None]
    ids = [parse_id(text) if isinstance(text, str) else None for text in texts]
    known = tuple(dict.fromkeys(found for found in ids if found is not None))
    if None in ids:
        raise Impossible(
            "supersedes is a list of ids of your memories.",
            pointer="/metadata/supersedes",
            code="bad_supersedes",
        )
    if known:
        limits.check_ids(known, pointer="/metadata/supersedes")
    return known


def _require_possible(envelope: Envelope, members: Mapping[str, Any]) -> None:
    op = envelope.op
    if op == "recall" and members["query"] is None:
        raise Impossible("A recall needs a query.", pointer="/query", code="query_missing")
    if op in {"forget", "merge", "expire"}:
        limits.check_ids(envelope.memory_ids)
    if op == "merge" and len(set(envelope.memory_ids)) < 2:
        raise Impossible(
            "A merge needs at least two different ids.",
            pointer="/memory_ids",
            code="too_few_ids",
        )
    if op == "remember" or (op == "merge" and envelope.content is not None):
        limits.check_content(envelope.content or "")
    if op in {"remember", "merge"} and envelope.ttl_seconds == 0:
        raise Impossible(
            "A memory that expires at once cannot be made; send at least 1.",
            pointer="/ttl_seconds",
            code="ttl_zero",
        )
