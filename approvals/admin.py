"""The admin pages of proposals and decisions: shown, and written by the desk alone."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import admin

from approvals.models import Decision, Proposal, ProposalDraft, ProposalTarget
from memories.admin_pages import LONG_IN_MEMORY, Record, agent_of, text

LONG_IN_PROPOSAL = "proposal__change_json"


@admin.register(Proposal)
class ProposalAdmin(Record):
    list_display = ("id", "agent", "op", "memory_type", "status", "words", "created_at")
    list_filter = ("status", "op", "memory_type")
    list_select_related = ("agent",)
    long = ("change_json",)
    search_fields = ("id", "memory_id", "agent__agent_id")
    search_help_text = "The whole id of a proposal, of its memory or of an agent."
    fields = (
        "id",
        agent_of("agent"),
        "author_key",
        "author",
        "op",
        "memory_type",
        "status",
        "revision",
        text("change_json"),
        "memory_id",
        "created_at",
        "updated_at",
        "closed_at",
        "closed_reason",
        "lapses_at",
        "ends_at",
    )

    @admin.display(description="text")
    def words(self, proposal: Any) -> str:
        return text("summary")(proposal)

    def about(self, row: Any) -> str:
        return f"proposal:{row.pk}"


class OfProposal(Record):
    """Rows that belong to a proposal."""

    agent_path = "proposal__agent"
    fields: ClassVar[Any] = None  # asked anew in each class: the stubs know no callables
    list_select_related: ClassVar[Any] = ("proposal",)
    long: ClassVar[tuple[str, ...]] = (LONG_IN_PROPOSAL,)
    search_fields: ClassVar[Any] = ("proposal__id",)
    search_help_text = "The whole id of a proposal."

    def about(self, row: Any) -> str:
        return f"proposal:{row.proposal_id}"


@admin.register(ProposalTarget)
class TargetAdmin(OfProposal):
    list_display = ("id", "proposal", "memory", "version", "position")
    list_select_related = ("proposal", "memory")
    long = (LONG_IN_PROPOSAL, *LONG_IN_MEMORY)
    search_fields = ("proposal__id", "memory__id")
    search_help_text = "The whole id of a proposal or of a memory."
    fields = ("proposal", "memory", "version", "position")


@admin.register(ProposalDraft)
class DraftAdmin(OfProposal):
    list_display = ("id", "proposal", "revision", "replaced_at", "replaced_by")
    list_select_related = ("proposal", "replaced_by")
    long = (LONG_IN_PROPOSAL, "change_json", "targets_json")
    fields = (
        "proposal",
        "revision",
        text("change_json"),
        text("targets_json"),
        "replaced_at",
        "replaced_by",
    )


@admin.register(Decision)
class DecisionAdmin(OfProposal):
    list_display = ("id", "proposal", "outcome", "reviewer", "reason", "at", "undone_at")
    list_filter = ("outcome", "reason")
    list_select_related = ("proposal", "reviewer")
    long = (LONG_IN_PROPOSAL, "edits", "comment")
    fields = (
        "proposal",
        "revision",
        "outcome",
        "reviewer",
        text("edits"),
        "reason",
        text("comment"),
        "at",
        "undone_at",
    )
