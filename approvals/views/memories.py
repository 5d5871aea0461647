"""What agents remember: listed, searched, one at a time."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from approvals import services
from approvals.http import DeskRequest, signed_in
from approvals.memory_pages import (
    MemoryFilterForm,
    find_memory,
    listing_for,
    page_of,
    search_for,
)
from approvals.views.diff_view import diff_view, remember_diff_view
from memories.cursors import BadCursor
from memories.errors import DomainError, MemoryNotFound, RecallUnavailable
from memories.models import Agent, Memory
from memories.services import retry_indexing


@require_safe
@signed_in
def memories(request: DeskRequest) -> HttpResponse:
    """The list, or with a text the search that agents have."""
    form = MemoryFilterForm(request.GET, user=request.user)
    context: dict[str, Any] = {"form": form}
    if not form.is_valid():
        return render(request, "memories/memories.html", context, status=400)
    if form.searches:
        search = search_for(_chosen_agent(request, form), form)
        context["search"] = search
        status = RecallUnavailable.http_status if search.problem else 200
        return render(request, "memories/memories.html", context, status=status)
    try:
        context["listing"] = listing_for(
            request.user, form, after=request.GET.get("after", "")
        )
    except BadCursor:
        context["listing"] = listing_for(request.user, form)
    return render(request, "memories/memories.html", context)


@require_safe
@signed_in
def memory(request: DeskRequest, memory_id: UUID) -> HttpResponse:
    return render_memory(request, memory_or_404(request, memory_id))


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def retry_memory(request: DeskRequest, memory_id: UUID) -> HttpResponse:
    """Ask again for a memory that could not be indexed."""
    memory = memory_or_404(request, memory_id)
    if request.method != "POST":  # an address typed again, or come back to
        return redirect("approvals:memory", memory_id)
    error = services.refusal_to_retry(request.user)
    if error:
        return render_memory(request, memory, error=error)
    asked = retry_indexing([memory.pk])
    said = "Asked the index to try again." if asked else "Nothing has failed any more."
    messages.success(request, said)
    return redirect("approvals:memory", memory_id)


def memory_or_404(request: DeskRequest, memory_id: UUID) -> Memory:
    """Raises ``Http404``, also for what the person may not see."""
    try:
        return find_memory(memory_id, request.user)
    except MemoryNotFound as error:
        raise Http404(str(error)) from None


def render_memory(
    request: DeskRequest, memory: Memory, *, error: DomainError | None = None
) -> HttpResponse:
    """The memory as it is now, and why something was not done with it."""
    upto = request.GET.get("upto", "")
    version = int(upto) if upto.isascii() and upto.isdigit() and len(upto) < 10 else None
    context = {
        "page": page_of(memory, request.user, upto=version or None),
        "view": diff_view(request),
        "error": error,
    }
    status = error.http_status if error else 200
    response = render(request, "memories/memory.html", context, status=status)
    return remember_diff_view(request, response)


def _chosen_agent(request: DeskRequest, form: MemoryFilterForm) -> Agent | None:
    """The one of the filter, else the only one there is."""
    chosen: Agent | None = form.cleaned_data["agent"]
    if chosen:
        return chosen
    few = list(Agent.objects.visible_to(request.user)[:2])
    return few[0] if len(few) == 1 else None
