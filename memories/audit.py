"""The audit: append-only, hash-chained, one chain per agent and one for the site.

A hash covers sequence, time, actor, action, objects, a salted digest of the payload and
the previous hash, so a payload can be erased later without breaking the chain.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import groupby
from typing import Any
from uuid import UUID

from django.db import connection
from django.utils import timezone

from memories.actors import Actor
from memories.models import AuditEntry

SITE = "site"
FIRST = ""  # the hash before the first entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What happened. ``agent`` None means the site's own chain."""

    action: str
    actor: Actor
    agent: UUID | None
    proposal_id: UUID | None = None
    objects: tuple[str, ...] = ()
    payload: Mapping[str, Any] = field(default_factory=dict)

    @property
    def chain(self) -> str:
        return str(self.agent) if self.agent else SITE


@dataclass(frozen=True, slots=True)
class Break:
    """The first entry of a chain that does not hold, and why."""

    chain: str
    sequence: int
    why: str


@dataclass(frozen=True, slots=True)
class Head:
    chain: str
    sequence: int
    hash: str


def append(events: Sequence[Event]) -> None:
    """Write the entries of one transaction, as its last step.

    Takes the lock of each chain it touches and holds it until the commit, so nothing
    slow may follow. Chains are locked in one order; two writers cannot wait in a ring.
    """
    now = timezone.now()
    rows: list[AuditEntry] = []
    for chain, of_chain in groupby(
        sorted(events, key=lambda e: e.chain), lambda e: e.chain
    ):
        _lock(chain)
        entries = AuditEntry.objects.filter(chain=chain).order_by("-sequence")
        head = entries.values_list("sequence", "hash").first()  # not its payload
        sequence, previous = head or (0, FIRST)
        for event in of_chain:
            sequence += 1
            row = _entry(event, sequence=sequence, previous=previous)
            row.at = now
            row.hash = previous = _hash(row)
            rows.append(row)
    AuditEntry.objects.bulk_create(rows)


def verify() -> Iterator[Head | Break]:
    """Walk every chain: its ``Head``, or the first ``Break`` in it.

    A cut tail shows only against a head that was kept elsewhere.
    """
    chains = AuditEntry.objects.order_by("chain").values_list("chain", flat=True).distinct()
    for chain in chains:
        yield _verify_chain(chain)


def _verify_chain(chain: str) -> Head | Break:
    sequence, previous = 0, FIRST
    for row in AuditEntry.objects.filter(chain=chain).order_by("sequence").iterator():
        sequence += 1
        if row.sequence != sequence:
            return Break(chain, sequence, f"entry {sequence} is missing")
        if row.previous_hash != previous:
            return Break(chain, sequence, "it does not follow the entry before it")
        if row.payload is not None and row.payload_digest != _digest(row.salt, row.payload):
            return Break(chain, sequence, "its payload was changed")
        if row.hash != _hash(row):
            return Break(chain, sequence, "it was changed")
        if row.chain != (str(row.agent_id) if row.agent_id else SITE):
            return Break(chain, sequence, "it was moved to another agent")
        previous = row.hash
    return Head(chain, sequence, previous)


def _entry(event: Event, *, sequence: int, previous: str) -> AuditEntry:
    payload = _canonical(dict(event.payload))
    salt = secrets.token_hex(16)
    return AuditEntry(
        chain=event.chain,
        sequence=sequence,
        agent_id=event.agent,
        actor_kind=event.actor.kind,
        actor_id=event.actor.id,
        actor_label=event.actor.label,
        action=event.action,
        proposal_id=event.proposal_id,
        objects_json=_canonical(_objects(event)),
        payload=payload,
        salt=salt,
        payload_digest=_digest(salt, payload),
        previous_hash=previous,
    )


def _objects(event: Event) -> list[str]:
    key = (f"key:{event.actor.key_prefix}",) if event.actor.key_prefix else ()
    proposal = (f"proposal:{event.proposal_id}",) if event.proposal_id else ()
    return [*key, *proposal, *event.objects]


def _hash(row: AuditEntry) -> str:
    covered = [
        row.chain,
        row.sequence,
        row.at.isoformat(),
        row.actor_kind,
        row.actor_id,
        row.actor_label,
        row.action,
        str(row.proposal_id or ""),
        row.objects_json,
        row.payload_digest,
        row.previous_hash,
    ]
    return sha256(_canonical(covered).encode()).hexdigest()


def _digest(salt: str, payload: str) -> str:
    return sha256(f"{salt}\0{payload}".encode()).hexdigest()


def _canonical(value: Any) -> str:
    return json.dumps(
        value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str
    )


def _lock(chain: str) -> None:
    """Until the commit only this transaction appends to the chain (SQLite: IMMEDIATE)."""
    if connection.vendor == "postgresql":
        number = int.from_bytes(sha256(chain.encode()).digest()[:8], "big", signed=True)
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [number])


def memory_objects(ids: Iterable[UUID]) -> tuple[str, ...]:
    return tuple(f"memory:{memory_id}" for memory_id in ids)
