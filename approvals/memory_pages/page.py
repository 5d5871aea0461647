"""One memory as one person sees it at one moment. Each part is read once, when asked."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db.models import Q
from django.utils import timezone
from django.utils.functional import cached_property

from approvals import diffs
from approvals.cards.claims import Claims, claims_in
from approvals.memory_pages.listing import shown_state
from approvals.memory_pages.versions import History, history_of
from approvals.models import Proposal, ProposalTarget
from approvals.policies import Ruling
from approvals.services import (
    IndexState,
    index_states,
    refusal_to_approve_own,
    refusal_to_propose,
    refusal_to_retry,
    ruling_beforehand,
)
from memories.errors import MemoryNotFound, NotAllowed
from memories.models import Memory, User

MOST_RELATED = 20  # of each kind, named on the page


def find_memory(memory_id: UUID, user: User) -> Memory:
    """Raises ``MemoryNotFound``, also for what the person may not see."""
    visible = Memory.objects.visible_to(user).filter(pk=memory_id)
    memory = visible.select_related("agent", "superseded_by").first()
    if memory is None:
        raise MemoryNotFound(f"There is no memory {memory_id}.")
    return memory


def page_of(memory: Memory, user: User, *, upto: int | None = None) -> MemoryPage:
    """``upto`` is the newest version whose history is shown; None: the current one."""
    return MemoryPage(memory, user=user, now=timezone.now(), upto=upto)


class MemoryPage:
    def __init__(
        self, memory: Memory, *, user: User, now: datetime, upto: int | None
    ) -> None:
        self.memory, self.user, self.now, self.upto = memory, user, now, upto
        self.agent = memory.agent

    @property
    def state(self) -> str:
        """``live``, ``expires``, ``retired``, ``forgotten`` or ``expired``."""
        return shown_state(self.memory, self.now)

    @property
    def is_live(self) -> bool:
        return self.memory.is_live(self.now)

    @cached_property
    def index(self) -> IndexState | None:
        """None where agents do not recall it anyway."""
        if not self.is_live:
            return None
        return index_states({self.memory.pk: [self.memory.pk]}).get(self.memory.pk)

    @property
    def can_retry(self) -> bool:
        failed = self.index is not None and self.index.name == "failed"
        return failed and refusal_to_retry(self.user) is None

    @cached_property
    def refusal(self) -> NotAllowed | None:
        """Why this person proposes no change of it, or None."""
        return refusal_to_propose(self.agent, self.user)

    @property
    def can_change(self) -> bool:
        return self.is_live and self.refusal is None

    @property
    def why_not_change(self) -> str:
        """For those whose role would let them, or ""."""
        return str(self.refusal or "") if self.user.decides else ""

    @cached_property
    def revising(self) -> Ruling:
        """Whether a person has to let a change of it in, or why not."""
        return ruling_beforehand("revise", self.memory, self.agent, self.user)

    @cached_property
    def forgetting(self) -> Ruling:
        return ruling_beforehand("forget", self.memory, self.agent, self.user)

    @cached_property
    def why_not_approve(self) -> str:
        """Why somebody else approves what this person proposes, or ""."""
        return str(refusal_to_approve_own(self.agent, self.user) or "")

    @cached_property
    def tags_diff(self) -> diffs.TagsDiff:
        return diffs.diff_tags(self.memory.tags, self.memory.tags)

    @cached_property
    def metadata_rows(self) -> tuple[diffs.MetadataRow, ...]:
        return diffs.diff_metadata(self.memory.metadata, self.memory.metadata)

    @cached_property
    def claims(self) -> Claims:
        return claims_in(self.memory.metadata, self.agent.pk)

    @cached_property
    def supersedes(self) -> Sequence[Memory]:
        """What retired when this one came; one more than ``MOST_RELATED`` at most."""
        replaced = Memory.objects.filter(superseded_by=self.memory, agent=self.agent)
        return list(replaced.order_by("created_at", "pk")[: MOST_RELATED + 1])

    @property
    def is_merged(self) -> bool:
        return "amp_merged_from" in self.memory.metadata

    @cached_property
    def waiting(self) -> Sequence[Proposal]:
        """Pending proposals that would touch it, oldest first; one more than
        ``MOST_RELATED`` at most."""
        touching = ProposalTarget.objects.filter(memory=self.memory).values("proposal_id")
        about = Q(pk__in=touching) | Q(memory_id=self.memory.pk)
        pending = Proposal.objects.pending().filter(about, agent=self.agent)
        shown = pending.select_related("author", "author_key").defer("change_json")
        return list(shown.oldest_first()[: MOST_RELATED + 1])

    @cached_property
    def history(self) -> History:
        return history_of(self.memory, self.user, upto=self.upto, now=self.now)
