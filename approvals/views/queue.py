"""The queue: what waits, filtered, fifty at a time."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from approvals.decisions import last_undoable
from approvals.forms import FilterForm
from approvals.http import DeskRequest, render_either, signed_in
from approvals.queues import Queue, queue_for
from memories.cursors import BadCursor


@require_safe
def home(_request: HttpRequest) -> HttpResponse:
    return redirect("approvals:queue")


@require_safe
@signed_in
def queue(request: DeskRequest) -> HttpResponse:
    page = queue_of(request)
    return render_either(
        request,
        {"queue": page, "undoable": last_undoable(request.user)},
        page="approvals/queue.html",
        partial="approvals/_queue_list.html",
        status=200 if page.form.is_valid() else 400,
    )


def queue_of(request: DeskRequest) -> Queue:
    """The page of the queue that the request's address names."""
    form = FilterForm(request.GET, user=request.user)
    try:
        return queue_for(request.user, form, after=request.GET.get("after", ""))
    except BadCursor:
        return queue_for(request.user, form)
