"""The gate: ``submit`` for every door, the decisions, and how proposals close.

The only writer of proposals and decisions.
"""

from __future__ import annotations

from approvals.services.allowed import (
    refusal_to_approve,
    refusal_to_approve_own,
    refusal_to_decide,
    refusal_to_propose,
    refusal_to_retry,
)
from approvals.services.close import close_overtaken, withdraw, withdraw_all
from approvals.services.decide import (
    approve,
    note_refused_decision,
    rebase,
    reject,
)
from approvals.services.edits import Edits, unix_lines
from approvals.services.landed import (
    IndexState,
    index_states,
    touched_ids,
    with_edits,
)
from approvals.services.propose import (
    Proposed,
    propose,
    revision_back_to,
    revision_by_hand,
    ruling_beforehand,
)
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
from approvals.services.undo import refusal_to_undo, undo, undoable_until

__all__ = [
    "OPERATIONS",
    "STATUSES",
    "Decided",
    "Edits",
    "IndexState",
    "Outcome",
    "Proposed",
    "Standing",
    "approve",
    "close_overtaken",
    "index_states",
    "is_pending",
    "note_refused_decision",
    "propose",
    "rebase",
    "refusal_to_approve",
    "refusal_to_approve_own",
    "refusal_to_decide",
    "refusal_to_propose",
    "refusal_to_retry",
    "refusal_to_undo",
    "reject",
    "revision_back_to",
    "revision_by_hand",
    "ruling_beforehand",
    "seen_digest",
    "standing",
    "standings",
    "submit",
    "touched_ids",
    "undo",
    "undoable_until",
    "unix_lines",
    "with_edits",
    "withdraw",
    "withdraw_all",
]
