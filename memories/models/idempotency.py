"""Answers kept for a retry."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from memories.models.agents import Agent


class IdempotencyRecord(models.Model):
    """The answer to one request with an ``Idempotency-Key``; no memory text in it."""

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=255)
    fingerprint = models.CharField(max_length=64)
    ids = models.JSONField(default=list)
    approved = models.BooleanField(null=True)
    detail = models.TextField(blank=True)
    proposal_id = models.UUIDField(null=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["agent", "key"], name="idempotency_key_once"),
        ]
        indexes = [models.Index(fields=["created_at"])]

    def __str__(self) -> str:
        return self.key
