"""One error shape for every door: a problem document (RFC 9457) that an AMP client can
read as a result."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from django.core.exceptions import BadRequest, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.views import defaults
from rest_framework.exceptions import APIException

from memories.errors import DomainError, Fault

logger = logging.getLogger(__name__)

PREFIXES = ("/api/", "/.well-known/")
TYPE = "urn:ampsite:problem:"
NOTHING_HERE = "There is nothing at this address."
CODES = {
    400: "malformed",
    401: "no_key",
    404: "not_found",
    405: "method_not_allowed",
    415: "not_json",
    429: "throttled",
}


def problem(
    *,
    status: int,
    code: str,
    detail: str,
    instance: str,
    title: str = "",
    faults: Sequence[Fault] = (),
    op: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> HttpResponse:
    """``errors`` point to each member at fault; ``code`` is stable and public."""
    document = {
        "type": TYPE + code,
        "title": title or HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "instance": instance,
        "code": code,
        "errors": [{"pointer": f.pointer, "message": f.message} for f in faults],
        **({"op": op} if op else {}),
        "ok": False,
    }
    return HttpResponse(
        json.dumps(document, ensure_ascii=False),
        status=status,
        content_type="application/problem+json",
        headers={"Cache-Control": "no-store", **(headers or {})},
    )


def exception_handler(error: Exception, context: Mapping[str, Any]) -> HttpResponse:
    """What became of a request that raised, for every door."""
    where = {
        "instance": context["request"].path,
        "op": getattr(context.get("view"), "op", None),
    }
    match error:
        case DomainError():
            return _of_domain(error, where)
        case APIException():
            return _of_framework(error, where)
        case Http404():
            return problem(status=404, code="not_found", detail=NOTHING_HERE, **where)
        case SuspiciousOperation() | BadRequest():
            return problem(
                status=400, code="malformed", detail="The request is malformed.", **where
            )
        case _:
            return _unexpected(error, where)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """Every address without a page: a problem under the API, a page elsewhere."""
    if is_api(request):
        return problem(
            status=404, code="not_found", detail=NOTHING_HERE, instance=request.path
        )
    return defaults.page_not_found(request, exception)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """What no view saw, such as a host name that is not ours."""
    if is_api(request):
        return problem(
            status=400,
            code="malformed",
            detail="The request is malformed; is its Host allowed (ALLOWED_HOSTS)?",
            instance=request.path,
        )
    return defaults.bad_request(request, exception)


def server_error(request: HttpRequest) -> HttpResponseBase:
    """An error that says nothing of what is inside."""
    if is_api(request):
        return _internal(instance=request.path)
    return defaults.server_error(request)


def is_api(request: HttpRequest) -> bool:
    """Whether an answer at this address is for a program."""
    return f"{request.path}/".startswith(PREFIXES)


def _of_domain(error: DomainError, where: Mapping[str, Any]) -> HttpResponse:
    retry_after = getattr(error, "retry_after", None)
    return problem(
        status=error.http_status,
        code=error.code,
        title=getattr(error, "title", ""),
        detail=str(error),
        faults=error.faults,
        headers={"Retry-After": str(retry_after)} if retry_after else {},
        **where,
    )


def _of_framework(error: APIException, where: Mapping[str, Any]) -> HttpResponse:
    headers = {}
    challenge = getattr(error, "auth_header", None)
    if challenge:
        headers["WWW-Authenticate"] = challenge
    wait = getattr(error, "wait", None)
    if wait:
        headers["Retry-After"] = str(int(wait))
    code = error.get_codes()
    if code != "bad_key":
        code = CODES.get(error.status_code, str(code))
    detail = str(error.detail)
    if code == "no_key":
        detail = "Send a key: Authorization: Bearer <key>, or X-API-Key: <key>."
    return problem(
        status=error.status_code, code=str(code), detail=detail, headers=headers, **where
    )


def _unexpected(error: Exception, where: Mapping[str, Any]) -> HttpResponse:
    """The stack goes to the log; the message does not, a database's quotes the row."""
    stack = "".join(traceback.format_tb(error.__traceback__))
    logger.error("%s failed: %s\n%s", where["instance"], type(error).__name__, stack)
    return _internal(**where)


def _internal(*, instance: str, op: str | None = None) -> HttpResponse:
    return problem(
        status=500,
        code="internal_error",
        detail="Something failed here. The log of the server says more.",
        instance=instance,
        op=op,
    )
