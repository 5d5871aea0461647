"""Agents and the keys they come with."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Self

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models
from django.utils import timezone

from memories.ids import new_id

if TYPE_CHECKING:
    from memories.models.people import User

AGENT_ID_PATTERN = r"\A[A-Za-z0-9][A-Za-z0-9._:@/-]{0,254}\Z"


class AgentQuerySet(models.QuerySet["Agent"]):
    def visible_to(self, user: User) -> Self:
        """The agents a person may see: all of them, or those listed on the person."""
        return self.all() if user.all_agents else self.filter(people=user)


class Agent(models.Model):
    """A program that remembers. Memories and keys belong to exactly one agent."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    agent_id = models.CharField(
        max_length=255, unique=True, validators=[RegexValidator(AGENT_ID_PATTERN)]
    )
    name = models.CharField(max_length=255, blank=True)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="owned_agents",
    )
    is_active = models.BooleanField(default=True)
    is_paused = models.BooleanField(
        default=False, help_text="Every change waits for a person."
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = AgentQuerySet.as_manager()

    def __str__(self) -> str:
        return self.agent_id  # the name may hold anything, and show as nothing

    @property
    def state(self) -> str:
        """``off`` (switched off), ``paused`` or ``on``."""
        if not self.is_active:
            return "off"
        return "paused" if self.is_paused else "on"


class ApiKeyQuerySet(models.QuerySet["ApiKey"]):
    def usable(self, now: datetime) -> Self:
        """Keys that open a door: neither revoked nor expired, of an agent that is on."""
        unexpired = models.Q(expires_at=None) | models.Q(expires_at__gt=now)
        return self.filter(unexpired, revoked_at=None, agent__is_active=True)


class ApiKey(models.Model):
    """What an agent shows at the door. Only the SHA-256 of the secret is kept."""

    SCOPES = ("remember", "recall", "forget", "merge", "expire", "sessions", "frames")
    OFFERED = SCOPES[:5]  # what a new key gets; nothing is behind the others yet

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="keys")
    prefix = models.CharField(max_length=13, unique=True)
    digest = models.CharField(max_length=64)
    scopes = models.JSONField(default=list)
    name = models.CharField(max_length=255, blank=True)
    is_demo = models.BooleanField(default=False, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    objects = ApiKeyQuerySet.as_manager()

    class Meta:
        verbose_name, verbose_name_plural = "API key", "API keys"

    def __str__(self) -> str:
        return self.prefix

    def state_at(self, now: datetime) -> str:
        """``revoked``, ``expired``, or ``on``: what ``usable`` asks of the key itself."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at and self.expires_at <= now else "on"
