"""The admin pages of what is remembered: shown, and never written.

Those of people and agents are in ``admin_people``. Nothing is ever deleted by any.
"""

# ruff: noqa: ARG002  (Django names the arguments)

from __future__ import annotations

from typing import Any, cast

from django.contrib import admin
from django.db.models import QuerySet
from django.db.models.functions import Substr
from django.http import HttpRequest

from memories.admin_pages import LONG_IN_MEMORY, Record, agent_of, text
from memories.admin_people import AgentAdmin, PersonAdmin
from memories.models import ApiKey, AuditEntry, IndexEntry, Memory, MemoryRevision

__all__ = [
    "AgentAdmin",
    "ApiKeyAdmin",
    "AuditEntryAdmin",
    "IndexEntryAdmin",
    "MemoryAdmin",
    "PersonAdmin",
    "RevisionAdmin",
]

BEGINNING = 80  # characters of a text in a list


@admin.register(Memory)
class MemoryAdmin(Record):
    list_display = ("id", "agent", "memory_type", "state", "version", "words", "created_at")
    list_filter = ("memory_type", "state")
    list_select_related = ("agent",)
    long = ("content", "metadata")
    search_fields = ("id", "agent__agent_id")
    search_help_text = "The whole id of a memory or of an agent."
    fields = (
        "id",
        agent_of("agent"),
        "memory_type",
        "state",
        "version",
        text("content"),
        text("tags"),
        text("metadata"),
        "source",
        text("user_id"),
        "expires_at",
        "superseded_by",
        "created_at",
        "updated_at",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        words = Substr("content", 1, BEGINNING)
        return cast("QuerySet[Any]", super().get_queryset(request).annotate(words=words))

    @admin.display(description="text")
    def words(self, memory: Any) -> str:
        return text("words")(memory)

    def about(self, row: Any) -> str:
        return f"memory:{row.pk}"


@admin.register(MemoryRevision)
class RevisionAdmin(Record):
    agent_path = "memory__agent"
    list_display = (
        "id",
        "memory",
        "version",
        "action",
        "state",
        text("actor_label"),
        "at",
    )
    list_filter = ("state",)
    list_select_related = ("memory",)
    long = ("content", "metadata", *LONG_IN_MEMORY)
    search_fields = ("memory__id",)
    search_help_text = "The whole id of a memory."
    fields = (
        "memory",
        "version",
        "action",
        "state",
        text("content"),
        text("tags"),
        text("metadata"),
        "expires_at",
        "proposal_id",
        "actor_kind",
        "actor_id",
        text("actor_label"),
        "at",
    )

    def about(self, row: Any) -> str:
        return f"memory:{row.memory_id}"


@admin.register(IndexEntry)
class IndexEntryAdmin(Record):
    agent_path = "memory__agent"
    list_display = (
        "memory",
        "collection",
        "state",
        "wanted_version",
        "indexed_version",
        "attempts",
        "due_at",
    )
    list_select_related = ("memory",)
    long = LONG_IN_MEMORY
    search_fields = ("memory__id",)
    search_help_text = "The whole id of a memory."
    fields = (*list_display, "priority", text("last_error"))

    def about(self, row: Any) -> str:
        return f"memory:{row.memory_id}"


@admin.register(ApiKey)
class ApiKeyAdmin(Record):
    """Keys are made and revoked on the page of their agent."""

    list_display = (
        "prefix",
        "agent",
        text("name"),
        "last_used_at",
        "expires_at",
        "revoked_at",
    )
    list_select_related = ("agent",)
    search_fields = ("prefix", "agent__agent_id")
    search_help_text = "The beginning of a key (amps_ and 8 characters), or an agent's id."
    fields = (
        "prefix",
        agent_of("agent"),
        text("name"),
        "scopes",
        "created_at",
        "expires_at",
        "revoked_at",
        "last_used_at",
    )

    def about(self, row: Any) -> str:
        return f"key:{row.prefix}"


@admin.register(AuditEntry)
class AuditEntryAdmin(Record):
    list_display = (
        "chain",
        "sequence",
        "at",
        text("actor_label"),
        "action",
        "proposal_id",
    )
    long = ("payload", "objects_json")
    search_fields = ("proposal_id", "agent__agent_id", "action")
    search_help_text = "The whole id of a proposal or of an agent, or an action."
    fields = (
        "chain",
        "sequence",
        "at",
        "action",
        "actor_kind",
        "actor_id",
        text("actor_label"),
        "proposal_id",
        text("objects_json"),
        text("payload"),
        "payload_digest",
        "previous_hash",
        "hash",
    )

    def about(self, row: Any) -> str:
        return ""
