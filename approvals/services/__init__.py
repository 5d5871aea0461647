"""The gate: ``submit`` for every door, the decisions, and how proposals close.

The only writer of proposals and decisions.
"""

from __future__ import annotations

from approvals.services.close import close_overtaken, withdraw
from approvals.services.decide import (
    approve,
    note_refused_decision,
    rebase,
    reject,
)
from approvals.services.edits import Edits
from approvals.services.seen import seen_digest
from approvals.services.standing import (
    OPERATIONS,
    STATUSES,
    Decided,
    Standing,
    is_pending,
    standing,
    standings,
)
from approvals.services.submit import Outcome, submit

__all__ = [
    "OPERATIONS",
    "STATUSES",
    "Decided",
    "Edits",
    "Outcome",
    "Standing",
    "approve",
    "close_overtaken",
    "is_pending",
    "note_refused_decision",
    "rebase",
    "reject",
    "seen_digest",
    "standing",
    "standings",
    "submit",
    "withdraw",
]
