"""The append-only record of who did what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from django.db import models
from django.db.models import Q

from memories.models.agents import Agent

if TYPE_CHECKING:
    from memories.models.people import User


class AuditEntryQuerySet(models.QuerySet["AuditEntry"]):
    def visible_to(self, user: User) -> Self:
        """An agent's entries to those who may see it; the site's own to who sees all."""
        if user.all_agents:
            return self
        # As a list: joined, PostgreSQL reads the whole table for those who see little of it.
        return self.filter(agent__in=list(user.agents.values_list("pk", flat=True)))


class AuditEntry(models.Model):
    """One line of a hash chain; written by ``memories.audit`` alone, never changed.

    ``payload`` is the exact JSON text that was digested (a JSON column may respell
    numbers); it may be erased without breaking the chain, which covers the digest only.
    """

    chain = models.CharField(max_length=36)  # an agent's row id, or "site"
    sequence = models.PositiveBigIntegerField()
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, null=True, related_name="+")
    at = models.DateTimeField()
    actor_kind = models.CharField(max_length=16)
    actor_id = models.CharField(max_length=64)
    actor_label = models.CharField(max_length=255)
    action = models.CharField(max_length=64)
    proposal_id = models.UUIDField(null=True)
    objects_json = models.TextField(default="[]")  # JSON list of "kind:id"
    payload = models.TextField(null=True)
    salt = models.CharField(max_length=32)
    payload_digest = models.CharField(max_length=64)
    previous_hash = models.CharField(max_length=64, blank=True)
    hash = models.CharField(max_length=64)

    objects = AuditEntryQuerySet.as_manager()

    class Meta:
        verbose_name, verbose_name_plural = "audit entry", "audit entries"
        constraints = [
            models.UniqueConstraint(
                fields=["chain", "sequence"], name="audit_sequence_once"
            ),
            models.UniqueConstraint(
                fields=["chain", "previous_hash"], name="audit_chain_does_not_fork"
            ),
            models.CheckConstraint(
                name="audit_sequence_positive", condition=Q(sequence__gte=1)
            ),
        ]
        indexes = [
            models.Index(fields=["agent", "-id"]),
            models.Index(fields=["action", "-id"]),
            models.Index(fields=["proposal_id"], name="audit_of_proposal"),
            models.Index(fields=["actor_kind", "actor_id", "-id"], name="audit_of_actor"),
            models.Index(fields=["at"], name="audit_at"),
        ]

    def __str__(self) -> str:
        return f"{self.chain} {self.sequence} {self.action}"
