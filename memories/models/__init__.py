"""What is known: people, agents and keys, memories and their history, and the audit."""

from __future__ import annotations

from memories.models.agents import Agent, ApiKey
from memories.models.audit import AuditEntry
from memories.models.collections import Collection
from memories.models.idempotency import IdempotencyRecord
from memories.models.index import IndexEntry
from memories.models.memories import Memory, MemoryRevision, MemoryType, live_at
from memories.models.people import LoginFailure, User

__all__ = [
    "Agent",
    "ApiKey",
    "AuditEntry",
    "Collection",
    "IdempotencyRecord",
    "IndexEntry",
    "LoginFailure",
    "Memory",
    "MemoryRevision",
    "MemoryType",
    "User",
    "live_at",
]
