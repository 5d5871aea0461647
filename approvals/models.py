"""What is asked, and what people decided."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Self

from django.conf import settings
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from memories.changes import Change, from_json
from memories.ids import new_id
from memories.models import Agent, ApiKey, Memory, MemoryType, live_at

if TYPE_CHECKING:
    from memories.models import User


class ProposalQuerySet(models.QuerySet["Proposal"]):
    """The questions the product asks, each under its own name."""

    def pending(self) -> Self:
        return self.filter(status=Proposal.Status.PENDING)

    def visible_to(self, user: User) -> Self:
        return self if user.all_agents else self.filter(agent__people=user)

    def oldest_first(self) -> Self:
        return self.order_by("created_at", "pk")

    def newest_first(self) -> Self:
        return self.order_by("-created_at", "-pk")

    def with_staleness(self, now: datetime | None = None) -> Self:
        """Adds ``stale``: a target moved on, or is no longer live. Read, never stored."""
        return self.annotate(
            stale=Exists(ProposalTarget.objects.moved(now).filter(proposal=OuterRef("pk")))
        )

    def overtaken(self, now: datetime | None = None) -> Self:
        """Pending proposals that close themselves: lapsed, too late, or without a target."""
        now = now or timezone.now()
        live = ProposalTarget.objects.live(now).filter(proposal=OuterRef("pk"))
        none_left = Q(op__in=["forget", "expire", "revise"]) & ~Exists(live)
        one_left = Q(op="merge") & ~Exists(live[1:2])
        too_late = Q(lapses_at__lte=now) | Q(ends_at__lte=now)
        return self.pending().filter(too_late | none_left | one_left)


class Proposal(models.Model):
    """A change waiting for, or carrying, a decision.

    ``memory_id`` is the id that approval makes or changes. ``ends_at`` is the expiry
    instant of what is proposed: past it there is nothing left to decide.
    """

    class Op(models.TextChoices):
        REMEMBER = "remember"
        REVISE = "revise"
        FORGET = "forget"
        MERGE = "merge"
        EXPIRE = "expire"

    class Status(models.TextChoices):
        PENDING = "pending"
        APPROVED = "approved"
        REJECTED = "rejected"
        WITHDRAWN = "withdrawn"
        EXPIRED = "expired"

    class ClosedReason(models.TextChoices):
        BY_AGENT = "by_agent"
        REPLACED = "replaced"
        LAPSED = "lapsed"
        TTL_PASSED = "ttl_passed"
        TARGET_GONE = "target_gone"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="proposals")
    author_key = models.ForeignKey(
        ApiKey, on_delete=models.PROTECT, null=True, related_name="proposals"
    )
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        related_name="proposals",
    )
    op = models.CharField(max_length=16, choices=Op.choices)
    memory_type = models.CharField(max_length=16, choices=MemoryType.choices)
    status = models.CharField(max_length=16, choices=Status.choices, default=Status.PENDING)
    revision = models.PositiveIntegerField(default=1)
    change_json = models.JSONField()
    summary = models.CharField(max_length=200, blank=True)
    digest = models.CharField(max_length=64)
    text_fold = models.CharField(max_length=64, blank=True)
    memory_id = models.UUIDField(null=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now)
    closed_at = models.DateTimeField(null=True)
    closed_reason = models.CharField(
        max_length=16, choices=ClosedReason.choices, blank=True
    )
    lapses_at = models.DateTimeField(null=True)
    ends_at = models.DateTimeField(null=True)

    objects = ProposalQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="proposal_closed_iff_not_pending",
                condition=Q(status="pending", closed_at=None)
                | (~Q(status="pending") & Q(closed_at__isnull=False)),
            ),
            models.CheckConstraint(
                name="proposal_reason_iff_closed_undecided",
                condition=Q(status__in=["withdrawn", "expired"]) & ~Q(closed_reason="")
                | Q(status__in=["pending", "approved", "rejected"], closed_reason=""),
            ),
            models.CheckConstraint(
                name="proposal_has_one_author",
                condition=Q(author_key__isnull=False, author=None)
                | Q(author_key=None, author__isnull=False),
            ),
            models.CheckConstraint(
                name="proposal_names_its_memory",
                condition=Q(op__in=["remember", "merge", "revise"], memory_id__isnull=False)
                | Q(op__in=["forget", "expire"], memory_id=None),
            ),
            models.UniqueConstraint(
                fields=["agent", "digest"],
                name="proposal_pending_once",
                condition=Q(status="pending"),
            ),
            models.UniqueConstraint(
                fields=["memory_id"],
                name="proposal_reserves_once",
                condition=Q(op__in=["remember", "merge"]),
            ),
        ]
        indexes = [
            models.Index(
                fields=["created_at", "id"],
                name="proposal_queue",
                condition=Q(status="pending"),
            ),
            models.Index(
                fields=["agent", "created_at", "id"],
                name="proposal_agent_queue",
                condition=Q(status="pending"),
            ),
            models.Index(fields=["agent", "-created_at", "-id"], name="proposal_of_agent"),
            models.Index(fields=["agent", "closed_at"], name="proposal_closed_of_agent"),
            models.Index(fields=["memory_id"], name="proposal_of_memory"),
            models.Index(fields=["agent", "text_fold"], name="proposal_text"),
            models.Index(fields=["lapses_at"], name="proposal_lapse"),
            models.Index(fields=["ends_at"], name="proposal_end"),
        ]

    def __str__(self) -> str:
        return f"{self.op} {self.id}"

    @property
    def change(self) -> Change:
        return from_json(self.change_json)

    @property
    def is_pending(self) -> bool:
        return self.status == self.Status.PENDING


class ProposalTargetQuerySet(models.QuerySet["ProposalTarget"]):
    def live(self, now: datetime | None = None) -> Self:
        return self.filter(live_at(now or timezone.now(), "memory__"))

    def moved(self, now: datetime | None = None) -> Self:
        """Targets that are no longer at the drafted version, or no longer live."""
        same = Q(memory__version=models.F("version"))
        return self.exclude(same & live_at(now or timezone.now(), "memory__"))


class ProposalTarget(models.Model):
    """A memory a proposal would touch, and its version when that was drafted."""

    proposal = models.ForeignKey(Proposal, on_delete=models.CASCADE, related_name="targets")
    memory = models.ForeignKey(Memory, on_delete=models.PROTECT, related_name="+")
    version = models.PositiveIntegerField()
    position = models.PositiveSmallIntegerField()

    objects = ProposalTargetQuerySet.as_manager()

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["proposal", "memory"], name="target_once"),
        ]

    def __str__(self) -> str:
        return f"{self.memory_id} at version {self.version}"


class ProposalDraft(models.Model):
    """An earlier draft of a proposal, kept when a reviewer rebased it."""

    proposal = models.ForeignKey(Proposal, on_delete=models.CASCADE, related_name="drafts")
    revision = models.PositiveIntegerField()
    change_json = models.JSONField()
    targets_json = models.JSONField()  # [[memory id, version], ...]
    replaced_at = models.DateTimeField(default=timezone.now)
    replaced_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["proposal", "revision"], name="draft_once"),
        ]

    def __str__(self) -> str:
        return f"{self.proposal_id} revision {self.revision}"


class Decision(models.Model):
    """Approve, approve with edit, or reject, by one reviewer (None: by a policy).

    ``edits`` holds only what the reviewer changed: ``content``, ``tags``,
    ``memory_ids`` (those kept) and ``expires_at``.
    """

    class Outcome(models.TextChoices):
        APPROVED = "approved"
        REJECTED = "rejected"

    class Reason(models.TextChoices):
        UNTRUE = "untrue", "Untrue"
        OUTDATED = "outdated", "Outdated"
        DUPLICATE = "duplicate", "Duplicate"
        PRIVATE = "private", "Private"
        UNSAFE = "unsafe", "Unsafe"
        OUT_OF_SCOPE = "out_of_scope", "Out of scope"
        WRONG_TYPE = "wrong_type", "Wrong type"
        UNCLEAR = "unclear", "Unclear"
        OTHER = "other", "Other"

    proposal = models.ForeignKey(
        Proposal, on_delete=models.PROTECT, related_name="decisions"
    )
    revision = models.PositiveIntegerField()
    outcome = models.CharField(max_length=16, choices=Outcome.choices)
    reviewer = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        related_name="decisions",
    )
    edits = models.JSONField(default=dict)
    reason = models.CharField(max_length=16, choices=Reason.choices, blank=True)
    comment = models.TextField(blank=True)
    at = models.DateTimeField(default=timezone.now)
    undone_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["proposal"],
                name="decision_stands_once",
                condition=Q(undone_at=None),
            ),
            models.CheckConstraint(
                name="decision_reason_iff_rejected",
                condition=Q(outcome="rejected") & ~Q(reason="")
                | Q(outcome="approved", reason=""),
            ),
        ]
        indexes = [models.Index(fields=["reviewer", "-at"])]

    def __str__(self) -> str:
        return f"{self.outcome} {self.proposal_id}"

    @property
    def edited(self) -> bool:
        return bool(self.edits)
