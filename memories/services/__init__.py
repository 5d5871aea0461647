"""The only writer of memories, agents, keys and people."""

from __future__ import annotations

from memories.services.agents import (
    authenticate,
    create_agent,
    create_key,
    revoke_key,
    set_active,
    set_paused,
)
from memories.services.apply import apply_change, lock_targets
from memories.services.expiry import expire_due
from memories.services.indexing import retry_indexing
from memories.services.people import (
    change_password,
    create_person,
    login_blocked,
    note_login_failure,
)
from memories.services.reverse import reverse_change

__all__ = [
    "apply_change",
    "authenticate",
    "change_password",
    "create_agent",
    "create_key",
    "create_person",
    "expire_due",
    "lock_targets",
    "login_blocked",
    "note_login_failure",
    "retry_indexing",
    "reverse_change",
    "revoke_key",
    "set_active",
    "set_paused",
]
