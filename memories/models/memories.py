"""Memories and every version they ever had."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Self

from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from memories.ids import new_id
from memories.models.agents import Agent

if TYPE_CHECKING:
    from memories.models.people import User


class MemoryType(models.TextChoices):
    """The four types of ``amp/1``. Long-term is what steers an agent for good."""

    EPISODIC = "episodic"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"
    WORKING = "working"

    @property
    def is_long_term(self) -> bool:
        return self in LONG_TERM


LONG_TERM = frozenset({MemoryType.SEMANTIC, MemoryType.PROCEDURAL})


def live_at(now: datetime, memory: str = "") -> Q:
    """What may be recalled at that instant: not forgotten, retired or past its expiry.
    ``memory`` is the path to it, as in ``memory__``."""
    unexpired = Q(**{f"{memory}expires_at": None}) | Q(**{f"{memory}expires_at__gt": now})
    return Q(**{f"{memory}state": Memory.State.LIVE}) & unexpired


class MemoryQuerySet(models.QuerySet["Memory"]):
    def live(self, now: datetime | None = None) -> Self:
        """What may be recalled: not forgotten, retired or past its expiry."""
        return self.filter(live_at(now or timezone.now()))

    def visible_to(self, user: User) -> Self:
        return self if user.all_agents else self.filter(agent__people=user)


class Memory(models.Model):
    """One remembered text. Every change of any field but these dates raises ``version``."""

    class State(models.TextChoices):
        LIVE = "live"
        RETIRED = "retired"
        FORGOTTEN = "forgotten"
        EXPIRED = "expired"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="memories")
    memory_type = models.CharField(max_length=16, choices=MemoryType.choices)
    state = models.CharField(max_length=16, choices=State.choices, default=State.LIVE)
    version = models.PositiveIntegerField(default=1)
    content = models.TextField()
    tags = models.JSONField(default=list)
    metadata = models.JSONField(default=dict)
    source = models.CharField(max_length=16, blank=True)
    user_id = models.CharField(max_length=255, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    superseded_by = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="supersedes"
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = MemoryQuerySet.as_manager()

    class Meta:
        verbose_name, verbose_name_plural = "memory", "memories"
        constraints = [
            models.CheckConstraint(
                name="memory_version_positive", condition=Q(version__gte=1)
            ),
            models.CheckConstraint(
                name="memory_type_known",
                condition=Q(
                    memory_type__in=["episodic", "semantic", "procedural", "working"]
                ),
            ),
            models.CheckConstraint(
                name="memory_superseded_only_if_retired",
                condition=Q(state="retired") | Q(superseded_by=None),
            ),
            models.CheckConstraint(
                name="memory_not_its_own_successor",
                condition=Q(superseded_by=None) | ~Q(superseded_by=F("id")),
            ),
            models.CheckConstraint(
                name="memory_content_not_empty", condition=~Q(content="")
            ),
        ]
        indexes = [
            models.Index(fields=["agent", "memory_type", "state", "-created_at"]),
            models.Index(fields=["-created_at", "-id"], name="memory_newest"),
            models.Index(fields=["agent", "-created_at", "-id"], name="memory_of_agent"),
            models.Index(
                fields=["expires_at"], name="memory_expiring", condition=Q(state="live")
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)

    def is_live(self, now: datetime) -> bool:
        expired = self.expires_at is not None and self.expires_at <= now
        return self.state == self.State.LIVE and not expired

    def state_at(self, now: datetime) -> str:
        """The state by the clock: expiry is true before any sweep has written it down."""
        if self.state == self.State.LIVE and not self.is_live(now):
            return self.State.EXPIRED
        return self.state


class MemoryRevision(models.Model):
    """A memory as it was at one version, and who let that version in."""

    memory = models.ForeignKey(Memory, on_delete=models.PROTECT, related_name="revisions")
    version = models.PositiveIntegerField()
    action = models.CharField(max_length=32)
    state = models.CharField(max_length=16, choices=Memory.State.choices)
    content = models.TextField()
    tags = models.JSONField(default=list)
    metadata = models.JSONField(default=dict)
    expires_at = models.DateTimeField(null=True)
    proposal_id = models.UUIDField(null=True)
    actor_kind = models.CharField(max_length=16)
    actor_id = models.CharField(max_length=64)
    actor_label = models.CharField(max_length=255)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name, verbose_name_plural = "memory version", "memory versions"
        constraints = [
            models.UniqueConstraint(fields=["memory", "version"], name="revision_once"),
        ]

    def __str__(self) -> str:
        return f"{self.memory_id} version {self.version}"
