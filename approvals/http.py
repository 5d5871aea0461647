"""What the pages share about requests: who asks, by what door, page or partial."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, cast
from urllib.parse import urlencode
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect, render, resolve_url
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django_htmx.http import HttpResponseClientRedirect

from approvals import services
from memories.api.auth import shown_keys
from memories.api.problems import problem
from memories.models import User
from memories.services import authenticate

if TYPE_CHECKING:
    from django_htmx.middleware import HtmxDetails

P = ParamSpec("P")


class DeskRequest(HttpRequest):
    """A request of a person who is signed in, after ``HtmxMiddleware``."""

    user: User
    htmx: HtmxDetails


View = Callable[Concatenate[DeskRequest, P], HttpResponse]
AnyView = Callable[Concatenate[HttpRequest, P], HttpResponse]


def wants_partial(request: HttpRequest) -> bool:
    """True when htmx will swap the answer into a page that is already there."""
    htmx = cast(DeskRequest, request).htmx
    return bool(htmx) and not htmx.boosted and not htmx.history_restore_request


def render_either(
    request: HttpRequest,
    context: dict[str, Any],
    *,
    page: str,
    partial: str,
    status: int = 200,
) -> HttpResponse:
    """The page, or the part of it that htmx swaps: same address, same context."""
    template = partial if wants_partial(request) else page
    context["is_partial"] = wants_partial(request)
    response = render(request, template, context, status=status)
    patch_vary_headers(response, ["HX-Request"])
    return response


def go_to(request: HttpRequest, address: str) -> HttpResponse:
    """Send the browser to another page, whether it or htmx asked."""
    if wants_partial(request):
        return HttpResponseClientRedirect(address)
    return redirect(address)


def signed_in(view: View[P]) -> AnyView[P]:
    """For people with a session; others meet a full login page and come back."""

    @wraps(view)
    def wrapper(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if not request.user.is_authenticated:
            about = next((a for a in args if isinstance(a, UUID)), None)  # by ``decision``
            back = urlencode({"next": _way_back(request, about)})
            return go_to(request, f"{resolve_url(settings.LOGIN_URL)}?{back}")
        return view(cast(DeskRequest, request), *args, **kwargs)

    return wrapper


def decision(
    attempt: str,
) -> Callable[
    [Callable[[DeskRequest, UUID], HttpResponse]],
    Callable[[HttpRequest, UUID], HttpResponse],
]:
    """A POST by which a person decides. A key is refused before anything else.

    The key is judged ahead of the CSRF token, or an agent would be told about a cookie.
    """

    def decorate(
        view: Callable[[DeskRequest, UUID], HttpResponse],
    ) -> Callable[[HttpRequest, UUID], HttpResponse]:
        guarded = csrf_protect(signed_in(view))

        @csrf_exempt  # only until the key is judged: `guarded` checks the token
        @wraps(view)
        def wrapper(request: HttpRequest, proposal_id: UUID) -> HttpResponse:
            if shown_keys(request):
                return _refuse_key(request, proposal_id, attempt)
            if request.method in {"GET", "HEAD"}:  # an address typed again, or reloaded
                return redirect(proposal_address(proposal_id, request))
            if request.method != "POST":
                return HttpResponseNotAllowed(["POST"])
            return guarded(request, proposal_id)

        return wrapper

    return decorate


def proposal_address(proposal_id: UUID, request: HttpRequest) -> str:
    """The proposal's page, with the filter of the request's address."""
    query = request.META.get("QUERY_STRING", "")
    address = reverse("approvals:proposal", args=[proposal_id])
    return f"{address}?{query}" if query else address


def client_address(request: HttpRequest) -> str:
    """Where the request came from, as far as that can be believed."""
    forwarded = request.headers.get("X-Forwarded-For", "") if settings.TRUST_PROXY else ""
    last = forwarded.rpartition(",")[2].strip()
    if last.startswith("["):  # some proxies add a port, another one at each attempt
        last = last[1:].partition("]")[0]
    elif last.count(":") == 1:
        last = last.partition(":")[0]
    return last or str(request.META.get("REMOTE_ADDR", ""))


def shown_page(request: HttpRequest) -> str:
    """The path of the page that htmx works in; "/" where that leads to another site."""
    path = cast("DeskRequest", request).htmx.current_url_abs_path or "/"
    return path if url_has_allowed_host_and_scheme(path, allowed_hosts=None) else "/"


def _way_back(request: HttpRequest, proposal_id: UUID | None) -> str:
    if request.method in {"GET", "HEAD"}:
        return request.get_full_path()
    if proposal_id:  # where a form that was posted stands
        return proposal_address(proposal_id, request)
    if wants_partial(request):
        return shown_page(request)
    return request.path  # any other form is posted to the address that shows it


def _refuse_key(request: HttpRequest, proposal_id: UUID, attempt: str) -> HttpResponse:
    for text in sorted(shown_keys(request)):
        key = authenticate(text)
        if key is not None:
            services.note_refused_decision(proposal_id, by=key, attempt=attempt)
    return problem(
        status=403,
        code="agents_cannot_decide",
        detail="An agent cannot decide a proposal; a person does, in the browser.",
        instance=request.path,
    )
