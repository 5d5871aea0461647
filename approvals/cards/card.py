"""One proposal as one person sees it at one moment. Each part is read once, when asked."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.functional import cached_property

from approvals import diffs
from approvals.cards.claims import Claims, claims_in
from approvals.cards.moved import AllMoved, moved_among
from approvals.cards.sources import Sources, sources_of
from approvals.cards.targets import NOTHING, Target, Version, targets_of
from approvals.cards.text_warnings import TextWarnings, warnings_about
from approvals.forms import format_tags, shown_instant
from approvals.memory_types import types_of
from approvals.models import Decision, Proposal, ProposalDraft
from approvals.sentences import ENDINGS, outcome, sentence
from approvals.services import (
    IndexState,
    index_states,
    refusal_to_approve,
    refusal_to_decide,
    refusal_to_retry,
    seen_digest,
    touched_ids,
    with_edits,
)
from memories.changes import Change, Expire, Forget, Merge, Remember, Revise
from memories.errors import ProposalNotFound
from memories.models import Memory, User

TEXT_SECONDS = 0.3  # a card is read in under a second, whatever an agent sent


def card_for(proposal_id: UUID, user: User) -> Card:
    """Raises ``ProposalNotFound``, also for what ``user`` may not see."""
    visible = Proposal.objects.visible_to(user).filter(pk=proposal_id)
    proposal = visible.select_related("agent", "author_key", "author").first()
    if proposal is None:
        raise ProposalNotFound(f"There is no proposal {proposal_id}.")
    return Card(proposal, user=user, now=timezone.now())


class Card:
    """``change`` is what was proposed, ``landed`` the same with the reviewer's edits."""

    def __init__(self, proposal: Proposal, *, user: User, now: datetime) -> None:
        self.proposal, self.user, self.now = proposal, user, now
        self.agent = proposal.agent
        self.change: Change = proposal.change

    @cached_property
    def decision(self) -> Decision | None:
        if self.proposal.is_pending:
            return None
        standing = self.proposal.decisions.filter(undone_at=None)
        return standing.select_related("reviewer").first()

    @cached_property
    def landed(self) -> Change:
        return with_edits(self.change, self.decision.edits if self.decision else {})

    @property
    def sentence(self) -> str:
        # Once closed, "now" is what was now when it was asked.
        now = self.now if self.proposal.is_pending else self.proposal.created_at
        return self._sentence(self.landed, now)

    def as_decided(self, decision: Decision) -> str:
        """The sentence of what was decided just now; the card may be from before it."""
        return self._sentence(with_edits(self.change, decision.edits), self.now)

    def _sentence(self, change: Change, now: datetime) -> str:
        ids = set(change.target_ids)
        touched = {t.memory.memory_type for t in self.targets if t.memory.pk in ids}
        return sentence(change, self.agent.agent_id, now, touched=touched)

    @property
    def types(self) -> tuple[str, ...]:
        """The memory types this is about, long-term ones first."""
        return types_of(self.proposal, (t.memory.memory_type for t in self.targets))

    @cached_property
    def targets(self) -> list[Target]:
        kept = set(self.landed.target_ids)
        return targets_of(self.proposal, kept=kept, now=self.now)

    @cached_property
    def seen(self) -> str:
        memories = [target.memory for target in self.targets]
        return seen_digest(self.proposal, memories, self.now)

    @cached_property
    def stale(self) -> bool:
        return self.proposal.is_pending and any(t.has_moved for t in self.targets)

    @property
    def why_not_decide(self) -> str:
        """A sentence instead of buttons, or ""."""
        return str(refusal_to_decide(self.proposal, self.user) or "")

    @property
    def why_not_approve(self) -> str:
        """Why only *Reject* (or *Rebase*) is open, or ""."""
        refusal = refusal_to_approve(self.proposal, self.user)
        if refusal is None and self.stale:
            return "Rebase it before you approve it."
        return str(refusal or "")

    @property
    def can_retry(self) -> bool:
        failed = self.index is not None and self.index.name == "failed"
        return failed and refusal_to_retry(self.user) is None

    @property
    def can_decide(self) -> bool:
        return self.proposal.is_pending and not self.why_not_decide

    @property
    def can_edit(self) -> bool:
        editable = self.has_text or self.can_untick or self.can_set_instant
        return self.can_decide and not self.why_not_approve and editable

    @property
    def has_text(self) -> bool:
        return isinstance(self.change, Remember | Merge | Revise)

    @property
    def can_untick(self) -> bool:
        least = 2 if isinstance(self.change, Merge) else 1
        many = len(self.change.target_ids) > least
        return isinstance(self.change, Forget | Merge | Expire) and many

    @property
    def can_set_instant(self) -> bool:
        return isinstance(self.change, Expire)

    @property
    def content(self) -> str:
        return getattr(self.landed, "content", None) or ""

    @property
    def metadata(self) -> Mapping[str, Any]:
        return getattr(self.landed, "metadata", {})

    @property
    def tags_text(self) -> str:
        """The proposed tags as the form shows them."""
        return format_tags(getattr(self.change, "tags", ()))

    @property
    def instant_text(self) -> str:
        """The proposed instant as its input shows it, UTC."""
        instant = shown_instant(getattr(self.change, "expires_at", None))
        return instant.replace(tzinfo=None).isoformat() if instant else ""

    @cached_property
    def before(self) -> Version:
        """The one text that the proposed text replaces."""
        return self.targets[0].shown if len(self.targets) == 1 else NOTHING

    @cached_property
    def text_diff(self) -> diffs.TextDiff:
        return diffs.diff_text(
            self.before.content, self.content, deadline_seconds=TEXT_SECONDS
        )

    @cached_property
    def sources_diff(self) -> Sources | None:
        """Several texts that become one, or None."""
        if not self.has_text or len(self.targets) < 2:
            return None
        return sources_of(self.targets, self.content, seconds=TEXT_SECONDS)

    @cached_property
    def edit_diff(self) -> diffs.TextDiff | None:
        """What the reviewer changed in the proposed text, or None."""
        if not self.decision or "content" not in self.decision.edits:
            return None
        proposed = getattr(self.change, "content", None) or ""
        return diffs.diff_text(proposed, self.content, deadline_seconds=TEXT_SECONDS)

    @cached_property
    def tags_diff(self) -> diffs.TagsDiff:
        before = dict.fromkeys(tag for t in self.targets for tag in t.shown.tags)
        return diffs.diff_tags(tuple(before), getattr(self.landed, "tags", ()))

    @cached_property
    def metadata_diff(self) -> tuple[diffs.MetadataRow, ...]:
        return diffs.diff_metadata(self.before.metadata, self.metadata)

    @property
    def expires_at(self) -> datetime | None:
        return getattr(self.landed, "expires_at", None)

    @cached_property
    def moved(self) -> AllMoved:
        one = self.has_text and len(self.targets) == 1
        return moved_among(self.targets, self.content if one else None)

    @cached_property
    def warnings(self) -> TextWarnings:
        return warnings_about(self.change, self.agent.name)

    @cached_property
    def claims(self) -> Claims:
        return claims_in(getattr(self.change, "metadata", {}), self.agent.pk)

    @cached_property
    def drafts(self) -> list[ProposalDraft]:
        """Earlier drafts that a reviewer rebased, oldest first."""
        if self.proposal.revision == 1:
            return []
        return list(self.proposal.drafts.select_related("replaced_by").order_by("revision"))

    @property
    def outcome(self) -> str:
        return outcome(self.decision) if self.decision else ""

    @property
    def ending(self) -> str:
        """Why it closed without a decision, or ""."""
        reason = self.proposal.closed_reason
        return ENDINGS[Proposal.ClosedReason(reason)] if reason else ""

    @property
    def touched_ids(self) -> tuple[UUID, ...]:
        """The memories that the decision made or changed."""
        return touched_ids(self.proposal, self.landed)

    @cached_property
    def index(self) -> IndexState | None:
        """None where the decision touched nothing."""
        pk = self.proposal.pk
        return index_states({pk: self.touched_ids}).get(pk)

    @cached_property
    def is_recalled(self) -> bool:
        """Whether agents find what the decision made, this very moment."""
        made, index = self.proposal.memory_id, self.index
        if made is None or index is None or index.name != "indexed":
            return False
        return Memory.objects.live(self.now).filter(pk=made).exists()
