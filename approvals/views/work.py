"""My work: the own decisions, and what one may still take back."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from approvals.http import DeskRequest, signed_in
from approvals.work import RATE_DAYS, work_of
from memories.cursors import BadCursor


@require_safe
@signed_in
def work(request: DeskRequest) -> HttpResponse:
    after = request.GET.get("after", "")
    try:
        mine = work_of(request.user, after=after)
    except BadCursor:
        return redirect("approvals:work")
    context = {
        "work": mine,
        "days": RATE_DAYS,
        "after": after,
        "undo_seconds": settings.UNDO_SECONDS,
    }
    return render(request, "work/work.html", context)
