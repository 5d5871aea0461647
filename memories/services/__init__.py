"""The only writer of memories, agents, keys and people."""

from __future__ import annotations

from memories.services.agents import (
    create_agent,
    edit_agent,
    possible_owners,
    refusal_to_make_agents,
    refusal_to_manage,
    set_active,
    set_paused,
)
from memories.services.apply import apply_change, lock_targets
from memories.services.expiry import expire_due
from memories.services.indexing import retry_indexing
from memories.services.keys import (
    authenticate,
    create_key,
    introduce_agent,
    revoke_key,
)
from memories.services.people import (
    change_password,
    create_person,
    edit_person,
    login_blocked,
    note_login_failure,
    refusal_to_edit,
    refusal_to_manage_people,
)
from memories.services.reverse import reverse_change

__all__ = [
    "apply_change",
    "authenticate",
    "change_password",
    "create_agent",
    "create_key",
    "create_person",
    "edit_agent",
    "edit_person",
    "expire_due",
    "introduce_agent",
    "lock_targets",
    "login_blocked",
    "note_login_failure",
    "possible_owners",
    "refusal_to_edit",
    "refusal_to_make_agents",
    "refusal_to_manage",
    "refusal_to_manage_people",
    "retry_indexing",
    "reverse_change",
    "revoke_key",
    "set_active",
    "set_paused",
]
