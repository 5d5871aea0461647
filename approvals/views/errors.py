"""What cannot be done, said on a page that looks like the others."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django_htmx.http import HttpResponseClientRedirect

from approvals.http import shown_page, wants_partial


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:  # noqa: ARG001  (Django names it)
    """The form is older than the session: nothing was done, and the way on is a reload.

    In a page that htmx works in, reload it, so that no error page lands in a card.
    """
    if wants_partial(request):
        messages.warning(
            request,
            "This page was older than your session, so nothing was decided. Look again.",
        )
        response: HttpResponse = HttpResponseClientRedirect(shown_page(request))
        response.status_code = 403
        return response
    return render(request, "csrf.html", status=403)
