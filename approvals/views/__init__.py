"""The pages: parse, call one service, render."""

from __future__ import annotations

from approvals.views.agents import agent, agents, edit_agent, pause_agent, switch_agent
from approvals.views.audit import audit, audit_entry
from approvals.views.decide import approve, rebase, reject, retry, undo
from approvals.views.errors import csrf_failure
from approvals.views.keys import create_key, new_agent, revoke_key
from approvals.views.memories import memories, memory, retry_memory
from approvals.views.memory_changes import (
    forget_memory,
    propose_change,
    restore_version,
)
from approvals.views.people import log_in, log_out, password
from approvals.views.proposal import proposal, target
from approvals.views.queue import home, queue
from approvals.views.work import work

__all__ = [
    "agent",
    "agents",
    "approve",
    "audit",
    "audit_entry",
    "create_key",
    "csrf_failure",
    "edit_agent",
    "forget_memory",
    "home",
    "log_in",
    "log_out",
    "memories",
    "memory",
    "new_agent",
    "password",
    "pause_agent",
    "proposal",
    "propose_change",
    "queue",
    "rebase",
    "reject",
    "restore_version",
    "retry",
    "retry_memory",
    "revoke_key",
    "switch_agent",
    "target",
    "undo",
    "work",
]
