"""Signing in and out, and the own password."""

from __future__ import annotations

from django.conf import settings
from django.contrib import auth, messages
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render, resolve_url
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from approvals.http import DeskRequest, client_address, signed_in
from memories.actors import Actor
from memories.services import change_password, login_blocked, note_login_failure


@sensitive_post_parameters("password")
@csrf_protect
@require_http_methods(["GET", "HEAD", "POST"])
def log_in(request: HttpRequest) -> HttpResponse:
    """Throttled by name and by address; then 429, also for the right password."""
    if request.method != "POST":
        if request.user.is_authenticated:
            return redirect(_next(request))
        return _login_page(request, AuthenticationForm(request))
    username = request.POST.get("username", "")
    if "\0" in username:  # no database is asked about it
        form = AuthenticationForm(request)
        return _login_page(request, form, "A name has no NUL character.", status=400)
    if login_blocked(username, client_address(request)):
        return _too_many(request)
    form = AuthenticationForm(request, request.POST)
    if not form.is_valid():
        note_login_failure(username, client_address(request))
        return _login_page(request, form, status=422)
    auth.login(request, form.get_user())
    return redirect(_next(request))


@require_POST
def log_out(request: HttpRequest) -> HttpResponse:
    auth.logout(request)
    return redirect(settings.LOGOUT_REDIRECT_URL)


@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def password(request: DeskRequest) -> HttpResponse:
    """Change the own password; other sessions of this person end by it."""
    posted = request.POST if request.method == "POST" else None
    form = PasswordChangeForm(request.user, posted)
    if posted is None or not form.is_valid():
        status = 200 if posted is None else 422
        return render(request, "approvals/password.html", {"form": form}, status=status)
    change_password(
        request.user,
        form.cleaned_data["new_password1"],
        actor=Actor.of(request.user),
    )
    auth.update_session_auth_hash(request, request.user)
    messages.success(request, "Your password is changed.")
    return redirect("approvals:queue")


def _login_page(
    request: HttpRequest, form: AuthenticationForm, error: str = "", *, status: int = 200
) -> HttpResponse:
    context = {"form": form, "error": error, "next": _next(request, default="")}
    return render(request, "approvals/login.html", context, status=status)


def _too_many(request: HttpRequest) -> HttpResponse:
    seconds = settings.LOGIN_FAILURE_WINDOW_SECONDS
    minutes = max(1, round(seconds / 60))
    error = (
        f"Too many attempts failed. Wait {minutes} minute{'s' * (minutes != 1)}, then try "
        "again."
    )
    response = _login_page(request, AuthenticationForm(request), error, status=429)
    response["Retry-After"] = str(seconds)
    return response


def _next(request: HttpRequest, *, default: str | None = None) -> str:
    """Where to go after signing in; never to another site."""
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    is_safe = url_has_allowed_host_and_scheme(
        wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    if is_safe:
        return wanted
    return resolve_url(settings.LOGIN_REDIRECT_URL) if default is None else default
