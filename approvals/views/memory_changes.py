"""What a person does about one memory: propose a change, forget it, restore a version."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from approvals import diffs, sentences, services
from approvals.http import DeskRequest, signed_in
from approvals.memory_pages import (
    MemoryPage,
    ProposeForm,
    SeenForm,
    page_of,
    restoring_of,
)
from approvals.views.diff_view import diff_view
from approvals.views.memories import memory_or_404, render_memory
from memories.changes import Forget, Revise
from memories.errors import DomainError, MemoryNotFound, StaleVersion
from memories.models import Memory

PAGE_OR_FORM = require_http_methods(["GET", "HEAD", "POST"])
TEXT_SECONDS = 0.3
MOVED = (
    "The memory moved on to version {version} since this was shown. Nothing was written; "
    "look at it as it is now, then send it again."
)


@PAGE_OR_FORM
@signed_in
def propose_change(request: DeskRequest, memory_id: UUID) -> HttpResponse:
    memory = memory_or_404(request, memory_id)
    page = page_of(memory, request.user)
    if not page.can_change:
        return _refused(request, page)
    if request.method != "POST":
        form = ProposeForm(None, memory=memory)
        return _render_form(request, page, form)
    form = ProposeForm(request.POST, memory=memory)
    if not form.is_valid():
        return _render_form(request, page, form, status=422)
    typed = form.cleaned_data
    if typed["base_version"] != memory.version:
        return _render_moved(request, memory, form)
    try:
        change = services.revision_by_hand(
            memory,
            content=typed["content"],
            tags=typed["tags"],
            expires_at=typed["expires_at"],
        )
        if change is None:
            messages.info(request, "Nothing changed, so nothing was written.")
            return redirect("approvals:memory", memory_id)
        return _proposed(request, memory, change, form)
    except StaleVersion:
        return _render_moved(request, memory_or_404(request, memory_id), form)
    except DomainError as error:
        return _render_form(request, page, form, error=error, status=error.http_status)


@PAGE_OR_FORM
@signed_in
def forget_memory(request: DeskRequest, memory_id: UUID) -> HttpResponse:
    memory = memory_or_404(request, memory_id)
    page = page_of(memory, request.user)
    if not page.can_change:
        return _refused(request, page)
    change = Forget(
        agent=memory.agent_id, memory_type=memory.memory_type, memory_ids=(memory.pk,)
    )
    return _confirmed(request, page, change, "memories/forget.html", {})


@PAGE_OR_FORM
@signed_in
def restore_version(request: DeskRequest, memory_id: UUID, version: int) -> HttpResponse:
    memory = memory_or_404(request, memory_id)
    page = page_of(memory, request.user)
    try:
        restoring = restoring_of(memory, version)
    except MemoryNotFound as error:
        raise Http404(str(error)) from None
    if not page.can_change:
        return _refused(request, page)
    change = services.revision_back_to(restoring.revision, memory)
    if change is None:
        messages.info(request, f"Version {version} says what the memory says now.")
        return redirect("approvals:memory", memory_id)
    context = {"restoring": restoring}
    return _confirmed(request, page, change, "memories/restore.html", context)


def _confirmed(
    request: DeskRequest,
    page: MemoryPage,
    change: Revise | Forget,
    template: str,
    context: dict[str, Any],
) -> HttpResponse:
    """The page that asks, or what became of it."""
    memory, error = page.memory, None
    context = {**context, "page": page, "view": diff_view(request)}
    if request.method != "POST":
        return render(request, template, context)
    form = SeenForm(request.POST)
    try:
        if not form.is_valid() or form.cleaned_data["base_version"] != memory.version:
            raise StaleVersion(MOVED.format(version=memory.version))
        return _proposed(request, memory, change, form)
    except MemoryNotFound:  # it ended a moment ago
        return _refused(request, page_of(memory_or_404(request, memory.pk), request.user))
    except DomainError as refused:
        error = refused
    context |= {"page": page_of(memory_or_404(request, memory.pk), request.user)}
    context |= {"error": error}
    return render(request, template, context, status=error.http_status)


def _proposed(
    request: DeskRequest, memory: Memory, change: Revise | Forget, form: forms.Form
) -> HttpResponse:
    """Raises the ``DomainError`` of the service."""
    said = sentences.sentence(
        change, memory.agent.agent_id, timezone.now(), touched={memory.memory_type}
    )
    made = services.propose(
        change,
        author=request.user,
        seen_version=form.cleaned_data["base_version"],
        approve=form.cleaned_data["approve"],
    )
    if made.decision:
        messages.success(request, f"{sentences.outcome(made.decision)}: {said}.")
    elif made.waits:
        messages.success(request, f"Proposed: {said}. {made.waits}")
    elif made.outcome.ok:
        messages.success(request, f"Done: {said}.")
    else:
        messages.warning(request, f"Refused: {made.outcome.why}.")
    return redirect("approvals:memory", memory.pk)


def _refused(request: DeskRequest, page: MemoryPage) -> HttpResponse:
    """The memory's page with the reason: not this person, or nothing left to change."""
    error = page.refusal or StaleVersion(
        f"The memory is {page.state}; only a live one can be changed."
    )
    return render_memory(request, page.memory, error=error)


def _render_moved(request: DeskRequest, memory: Memory, form: ProposeForm) -> HttpResponse:
    """409 with the fresh text, and what was typed kept over it."""
    page = page_of(memory, request.user)
    if not page.can_change:
        return _refused(request, page)
    typed = services.unix_lines(form.cleaned_data["content"])
    error = StaleVersion(MOVED.format(version=memory.version))
    against = diffs.diff_text(memory.content, typed, deadline_seconds=TEXT_SECONDS)
    return _render_form(
        request, page, form, error=error, against=against, status=error.http_status
    )


def _render_form(
    request: DeskRequest,
    page: MemoryPage,
    form: ProposeForm,
    *,
    error: DomainError | None = None,
    against: diffs.TextDiff | None = None,
    status: int = 200,
) -> HttpResponse:
    """``against`` is what was typed against the text as it is now."""
    # A form that failed for another reason still speaks of the version it was drafted on.
    base_version = page.memory.version if against else form["base_version"].value()
    context = {
        "page": page,
        "form": form,
        "base_version": base_version,
        "error": error,
        "against": against,
        "view": diff_view(request),
    }
    return render(request, "memories/propose.html", context, status=status)
