"""Who acts: an agent by its key, a person by a session, a policy, or the system itself."""

from __future__ import annotations

from dataclasses import dataclass

from memories.models import ApiKey, User


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """``kind`` is ``agent``, ``user``, ``policy`` or ``system``; ``label`` is for people."""

    kind: str
    id: str
    label: str
    key_prefix: str = ""

    @classmethod
    def of(cls, by: ApiKey | User) -> Actor:
        if isinstance(by, ApiKey):
            return cls(
                kind="agent",
                id=str(by.agent_id),
                label=by.agent.agent_id,
                key_prefix=by.prefix,
            )
        return cls(kind="user", id=str(by.pk), label=by.get_username())


SYSTEM = Actor(kind="system", id="system", label="Ampsite")
