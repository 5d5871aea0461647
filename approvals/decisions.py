"""A person's own decisions, read for the pages."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from approvals.models import Decision, Proposal
from approvals.services import refusal_to_undo, undoable_until
from memories.models import User


@dataclass(frozen=True, slots=True, kw_only=True)
class Undoable:
    """A decision that its reviewer may still take back, until an instant."""

    decision: Decision
    until: datetime


def last_undoable(user: User) -> Undoable | None:
    """The decision this person took last, while it can still be undone."""
    visible = Proposal.objects.visible_to(user)
    mine = Decision.objects.filter(reviewer=user, undone_at=None, proposal__in=visible)
    last = mine.select_related("proposal__agent").order_by("-at", "-pk").first()
    if last is None or refusal_to_undo(last, user, timezone.now()):
        return None
    return Undoable(decision=last, until=undoable_until(last))
