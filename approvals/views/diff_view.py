"""How a person has changes shown: inline or side by side, remembered in a cookie."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse

VIEWS = ("inline", "split")
COOKIE = "diff_view"
REMEMBERED_SECONDS = 365 * 86_400


def diff_view(request: HttpRequest) -> str:
    """The view the address asks for, else the one chosen last."""
    for chosen in (request.GET.get("view"), request.COOKIES.get(COOKIE)):
        if chosen in VIEWS:
            return chosen
    return VIEWS[0]


def remember_diff_view(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    if request.GET.get("view") in VIEWS:
        response.set_cookie(
            COOKIE,
            diff_view(request),
            max_age=REMEMBERED_SECONDS,
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Lax",
        )
    return response
