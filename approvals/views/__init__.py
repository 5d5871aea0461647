"""The pages: parse, call one service, render."""

from __future__ import annotations

from approvals.views.decide import approve, rebase, reject, retry, undo
from approvals.views.errors import csrf_failure
from approvals.views.people import log_in, log_out, password
from approvals.views.proposal import proposal, target
from approvals.views.queue import home, queue

__all__ = [
    "approve",
    "csrf_failure",
    "home",
    "log_in",
    "log_out",
    "password",
    "proposal",
    "queue",
    "rebase",
    "reject",
    "retry",
    "target",
    "undo",
]
