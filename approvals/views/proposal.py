"""One proposal beside the queue, and the whole text of a memory it would touch."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_safe

from approvals.cards import Card, card_for
from approvals.decisions import last_undoable
from approvals.http import DeskRequest, render_either, signed_in
from approvals.models import Decision
from approvals.views.diff_view import diff_view, remember_diff_view
from approvals.views.queue import queue_of
from approvals.views.typed import typed_into
from memories.errors import DomainError, ProposalNotFound


@require_safe
@signed_in
def proposal(request: DeskRequest, proposal_id: UUID) -> HttpResponse:
    return render_card(request, proposal_id)


@require_safe
@signed_in
def target(request: DeskRequest, proposal_id: UUID, memory_id: UUID) -> HttpResponse:
    """A text too long for the card, in full."""
    card = find_card(request, proposal_id)
    for one in card.targets:
        if one.memory.pk == memory_id:
            return render(request, "approvals/target.html", {"card": card, "target": one})
    raise Http404


def find_card(request: DeskRequest, proposal_id: UUID) -> Card:
    """Raises ``Http404``, also for what the person may not see."""
    try:
        return card_for(proposal_id, request.user)
    except ProposalNotFound as error:
        raise Http404(str(error)) from None


def render_card(
    request: DeskRequest,
    proposal_id: UUID,
    *,
    error: DomainError | None = None,
    form: forms.Form | None = None,
    posted: QueryDict | None = None,
    said: str = "",
    status: int = 200,
) -> HttpResponse:
    """The proposal as it is now, with whatever was typed kept in its form."""
    card = find_card(request, proposal_id)
    context: dict[str, Any] = {
        "card": card,
        "queue": queue_of(request),
        "error": error,
        "form": form,
        "typed": typed_into(card, posted),
        "reasons": Decision.Reason.choices,
        "said": said,
        "view": diff_view(request),
        "undoable": last_undoable(request.user),
    }
    response = render_either(
        request,
        context,
        page="approvals/proposal.html",
        partial="approvals/_proposal_swap.html",
        status=status,
    )
    return remember_diff_view(request, response)
