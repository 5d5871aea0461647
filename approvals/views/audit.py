"""The audit: who did what, newest first, and each entry whole."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from approvals.audit_forms import AuditForm
from approvals.audit_pages import audit_for, entry_for
from approvals.http import DeskRequest, signed_in
from memories.cursors import BadCursor


@require_safe
@signed_in
def audit(request: DeskRequest) -> HttpResponse:
    form = AuditForm(request.GET, user=request.user)
    try:
        page = audit_for(request.user, form, after=request.GET.get("after", ""))
    except BadCursor:  # an address that was cut: the newest entries, not an error
        page = audit_for(request.user, form)
    status = 200 if form.is_valid() else 400
    return render(request, "audit/list.html", {"audit": page}, status=status)


@require_safe
@signed_in
def audit_entry(request: DeskRequest, chain: str, sequence: int) -> HttpResponse:
    line = entry_for(request.user, chain, sequence)
    if line is None:
        raise Http404("There is no such entry.")
    return render(request, "audit/entry.html", {"line": line})
