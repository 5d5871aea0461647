"""The decisions, as posted from a card."""

from __future__ import annotations

from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.urls import reverse

from approvals import sentences, services
from approvals.cards import Card
from approvals.forms import ApproveForm, FilterForm, RejectForm, UndoForm
from approvals.http import DeskRequest, decision, go_to, proposal_address, wants_partial
from approvals.models import Decision
from approvals.queues import next_pending
from approvals.views.proposal import find_card, render_card
from approvals.views.queue import queue_of
from memories.errors import DomainError, ProposalNotFound
from memories.services import retry_indexing

CARRIED = {"content", "tags", "comment"}


@decision("approve")
def approve(request: DeskRequest, proposal_id: UUID) -> HttpResponse:
    """As it stands, or with the edits that were posted along."""
    card = find_card(request, proposal_id)
    form = ApproveForm(request.POST, change=card.change)
    if not form.is_valid():
        return render_card(request, proposal_id, form=form, posted=request.POST, status=422)
    try:
        made = services.approve(
            proposal_id,
            reviewer=request.user,
            seen=form.cleaned_data["seen"],
            edits=form.edits(),
        )
    except DomainError as error:
        return _refused(request, proposal_id, error, form)
    return _on_to_the_next(request, card, made)


@decision("reject")
def reject(request: DeskRequest, proposal_id: UUID) -> HttpResponse:
    card = find_card(request, proposal_id)
    form = RejectForm(request.POST)
    if not form.is_valid():
        return render_card(request, proposal_id, form=form, posted=request.POST, status=422)
    try:
        made = services.reject(proposal_id, reviewer=request.user, **form.cleaned_data)
    except DomainError as error:
        return _refused(request, proposal_id, error, form)
    return _on_to_the_next(request, card, made)


@decision("rebase")
def rebase(request: DeskRequest, proposal_id: UUID) -> HttpResponse:
    seen = request.POST.get("seen", "")
    try:
        services.rebase(proposal_id, reviewer=request.user, seen=seen)
    except DomainError as error:
        return _refused(request, proposal_id, error)
    said = "Rebased on what is true now. Look again, then decide."
    if CARRIED & set(request.POST):  # a redirect would lose what was typed before
        return render_card(request, proposal_id, posted=request.POST, said=said)
    return _stay(request, proposal_id, said)


@decision("retry")
def retry(request: DeskRequest, proposal_id: UUID) -> HttpResponse:
    """Ask again for an approved memory that could not be indexed."""
    card = find_card(request, proposal_id)
    error = services.refusal_to_retry(request.user)
    if error:
        return render_card(request, proposal_id, error=error, status=403)
    asked = retry_indexing(card.touched_ids)
    said = "Asked the index to try again." if asked else "Nothing has failed any more."
    return _stay(request, proposal_id, said)


@decision("undo")
def undo(request: DeskRequest, proposal_id: UUID) -> HttpResponse:
    """Take the own decision back that the form names."""
    card = find_card(request, proposal_id)
    form = UndoForm(request.POST)
    made = form.is_valid() and card.proposal.decisions.filter(**form.cleaned_data).first()
    if not made:
        raise Http404("There is no such decision.")
    try:
        services.undo(made.pk, reviewer=request.user)
    except DomainError as error:
        return _refused(request, proposal_id, error)
    return _stay(request, proposal_id, f"Undone: {card.sentence}. It waits again.")


def _refused(
    request: DeskRequest,
    proposal_id: UUID,
    error: DomainError,
    form: forms.Form | None = None,
) -> HttpResponse:
    """The card as it is now, why it was not decided, and what was typed."""
    if isinstance(error, ProposalNotFound):
        raise Http404(str(error))
    return render_card(
        request,
        proposal_id,
        error=error,
        form=form,
        posted=request.POST,
        status=error.http_status,
    )


def _stay(request: DeskRequest, proposal_id: UUID, said: str) -> HttpResponse:
    if wants_partial(request):
        return render_card(request, proposal_id, said=said)
    messages.success(request, said)
    return go_to(request, proposal_address(proposal_id, request))


def _on_to_the_next(request: DeskRequest, card: Card, made: Decision) -> HttpResponse:
    """Open the next pending proposal of the filter and say what happened."""
    said = f"{sentences.outcome(made)}: {card.as_decided(made)}."
    form = FilterForm(request.GET, user=request.user)
    following = next_pending(request.user, form, card.proposal)
    if wants_partial(request) and following:
        response = render_card(request, following.pk, said=said)
        response["HX-Push-Url"] = proposal_address(following.pk, request)
        return response
    messages.success(request, said)
    if following:
        return go_to(request, proposal_address(following.pk, request))
    query = queue_of(request).query
    return go_to(request, reverse("approvals:queue") + (f"?{query}" if query else ""))
