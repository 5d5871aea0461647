"""What an operation would do to memories, as plain values. No Django in here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any
from uuid import UUID

JSON = None | bool | int | float | str | list[Any] | dict[str, Any]

SOURCES = frozenset({"user", "model", "tool", "web", "document", "agent", "system"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Remember:
    """A new memory of ``agent``; those in ``supersedes`` retire when it lands."""

    agent: UUID
    memory_type: str
    content: str
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, JSON] = field(default_factory=dict)
    ttl_seconds: int | None = None
    expires_at: datetime | None = None
    supersedes: tuple[UUID, ...] = ()
    user_id: str = ""

    op = "remember"

    @property
    def target_ids(self) -> tuple[UUID, ...]:
        return self.supersedes


@dataclass(frozen=True, slots=True, kw_only=True)
class Revise:
    """The text, tags, metadata and expiry a memory shall have; its id stays.

    ``base_version`` is the version the author saw.
    """

    agent: UUID
    memory_type: str
    memory_id: UUID
    base_version: int
    content: str
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, JSON] = field(default_factory=dict)
    expires_at: datetime | None = None

    op = "revise"

    @property
    def target_ids(self) -> tuple[UUID, ...]:
        return (self.memory_id,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forget:
    agent: UUID
    memory_type: str
    memory_ids: tuple[UUID, ...]

    op = "forget"

    @property
    def target_ids(self) -> tuple[UUID, ...]:
        return self.memory_ids


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """Sources become one new memory and retire.

    ``content`` is None until the sources were read (amp.md: merge); ``derived`` then
    says that it was put together from them, so that a rebase puts it together again.
    ``own_tags`` are the envelope's; ``tags`` are those and the sources', in order.
    """

    agent: UUID
    memory_type: str
    memory_ids: tuple[UUID, ...]
    content: str | None = None
    derived: bool = False
    own_tags: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, JSON] = field(default_factory=dict)
    ttl_seconds: int | None = None
    expires_at: datetime | None = None

    op = "merge"

    @property
    def target_ids(self) -> tuple[UUID, ...]:
        return self.memory_ids


@dataclass(frozen=True, slots=True, kw_only=True)
class Expire:
    """``expires_at`` is the instant, fixed on receipt from ``ttl_seconds`` (None: now)."""

    agent: UUID
    memory_type: str
    memory_ids: tuple[UUID, ...]
    ttl_seconds: int | None = None
    expires_at: datetime | None = None

    op = "expire"

    @property
    def target_ids(self) -> tuple[UUID, ...]:
        return self.memory_ids


Change = Remember | Revise | Forget | Merge | Expire
_KINDS: dict[str, type[Change]] = {
    kind.op: kind for kind in (Remember, Revise, Forget, Merge, Expire)
}


def to_json(change: Change) -> dict[str, JSON]:
    """The change as JSON values, for a row; ``from_json`` gives an equal change back."""
    out: dict[str, JSON] = {"op": change.op}
    for member in fields(change):
        out[member.name] = _plain(getattr(change, member.name))
    return out


def _plain(value: Any) -> JSON:
    match value:
        case UUID():
            return str(value)
        case datetime():
            return value.isoformat()
        case tuple():
            return [_plain(item) for item in value]
        case Mapping():
            return dict(value)
        case _:
            return value  # type: ignore[no-any-return]  # str, int, bool or None by now


def from_json(stored: Mapping[str, Any]) -> Change:
    """Raises ``KeyError`` or ``ValueError`` when ``stored`` was not made by ``to_json``."""
    values = dict(stored)
    kind = _KINDS[values.pop("op")]
    for name in ("agent", "memory_id"):
        if name in values:
            values[name] = UUID(values[name])
    for name in ("memory_ids", "supersedes"):
        if name in values:
            values[name] = tuple(UUID(item) for item in values[name])
    for name in ("tags", "own_tags"):
        if name in values:
            values[name] = tuple(values[name])
    if values.get("expires_at"):
        values["expires_at"] = datetime.fromisoformat(values["expires_at"])
    return kind(**values)
