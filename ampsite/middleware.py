"""What every request passes through, beyond what Django brings."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import add_never_cache_headers

from memories.api.problems import is_api, problem

GetResponse = Callable[[HttpRequest], HttpResponseBase]


def bare_head(get_response: GetResponse) -> GetResponse:
    """The answer to HEAD is that to GET without its body. The server leaves that to us,
    and a client that keeps its connection would read the body as the next answer."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        if request.method == "HEAD" and isinstance(response, HttpResponse):
            length = len(response.content)
            response.content = b""
            response["Content-Length"] = str(length)
        return response

    return middleware


def refuse_nul(get_response: GetResponse) -> GetResponse:
    """NUL is no text: 404 in a path, 400 in a query string, before a database sees it.

    PostgreSQL refuses NUL and SQLite keeps it, so without this the two would differ.
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if "\0" in request.path:
            return _refusal(request, 404, "not_found", "There is nothing at this address.")
        if "%00" in request.META.get("QUERY_STRING", "") or "\0" in request.META.get(
            "QUERY_STRING", ""
        ):
            return _refusal(
                request, 400, "nul", "The query string contains a NUL character."
            )
        return get_response(request)

    return middleware


def refuse_charsets(get_response: GetResponse) -> GetResponse:
    """400 for a form that is not UTF-8. Django raises at each look at such a form, also at
    the one that its page for the first error takes."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        charset = (request.content_params or {}).get("charset", "utf-8")
        is_form = request.content_type == "application/x-www-form-urlencoded"
        if is_form and charset.lower() != "utf-8":
            return _refusal(request, 400, "malformed", "A form has to be UTF-8.")
        return get_response(request)

    return middleware


def _refusal(request: HttpRequest, status: int, code: str, detail: str) -> HttpResponse:
    if is_api(request):
        return problem(status=status, code=code, detail=detail, instance=request.path)
    return HttpResponse(detail, status=status, content_type="text/plain; charset=utf-8")


def no_store(get_response: GetResponse) -> GetResponse:
    """Signed-in pages are not kept by any cache, the browser's included."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        session = getattr(request, "session", None)
        if session is None or not session.accessed:
            return response  # asking who is there would read the session just for that
        user = getattr(request, "user", None)  # None behind the API, which has no people
        if user is not None and user.is_authenticated:
            add_never_cache_headers(response)
        return response

    return middleware
