"""What every door of the API has in common."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest
from django.urls import URLPattern, re_path, reverse
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memories import idempotency
from memories.api.auth import key_of
from memories.api.body import read_body
from memories.changes import JSON
from memories.errors import Malformed
from memories.idempotency import Kept
from memories.strict import loads

_BARE_KEY = re.compile(r"[\x21\x23-\x7e][\x20-\x7e]{0,254}")
_QUOTED_KEY = re.compile(r'"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])+)"')
LONGEST_KEY = 255


class AlwaysJSON(BaseContentNegotiation):
    """There is one representation of everything, whatever ``Accept`` says."""

    def select_parser(self, _request: Request, _parsers: Iterable[BaseParser]) -> None:
        """None: a door reads its own body."""

    def select_renderer(
        self,
        _request: Request,
        renderers: Iterable[BaseRenderer],
        _format_suffix: str | None = None,
    ) -> tuple[BaseRenderer, str]:
        renderer = next(iter(renderers))
        return renderer, renderer.media_type or ""


class Door(APIView):
    """A view of the API. ``op`` is the AMP operation, once it is known, for errors."""

    content_negotiation_class = AlwaysJSON
    op: str | None = None
    body = b""

    def json(self, request: Request) -> JSON:
        """The body, strict so far that what is left to judge is in ``memories.strict``."""
        self.body = read_body(request._request)
        return loads(self.body)

    def write(self, request: Request, work: Callable[[], Kept]) -> tuple[Kept, bool]:
        """Do the work once for its ``Idempotency-Key``; True when this was a repeat."""
        idempotency_key = idempotency_key_of(request)
        if idempotency_key is None:
            return work(), False
        same = idempotency.fingerprint(
            str(request.method),
            request.path,
            request.META.get("QUERY_STRING", ""),
            self.body,
        )
        return idempotency.once(key_of(request).agent, idempotency_key, same, work)

    def options(self, request: Any, *args: Any, **kwargs: Any) -> Response:  # noqa: ARG002  # its signature is given
        return Response(status=204, headers={"Allow": ", ".join(self.allowed_methods)})

    def finalize_response(
        self, request: Request, response: Response, *args: Any, **kwargs: Any
    ) -> Response:
        final = super().finalize_response(request, response, *args, **kwargs)
        final.headers.setdefault("Cache-Control", "no-store")
        return final


def door(route: str, view: type[APIView], name: str) -> URLPattern:
    """The address with and without its trailing slash, both answered directly.

    ``<id>`` in the route stands for one segment, passed on as text.
    """
    pattern = re.escape(route).replace("<id>", "(?P<id>[^/]+)")
    return re_path(rf"\A{pattern}/?\Z", view.as_view(), name=name)


def idempotency_key_of(request: Request) -> str | None:
    """Quoted or bare. Raises ``Malformed`` for what is no key."""
    sent = request.headers.get("Idempotency-Key")
    if sent is None:
        return None
    quoted = _QUOTED_KEY.fullmatch(sent.strip())
    key = re.sub(r'\\(["\\])', r"\1", quoted[1]) if quoted else sent.strip()
    if len(key) > LONGEST_KEY or not (quoted or _BARE_KEY.fullmatch(key)):
        raise Malformed(
            f"An Idempotency-Key has 1 to {LONGEST_KEY} printable ASCII characters.",
            code="bad_idempotency_key",
        )
    return key


def bad_parameter(name: str, message: str) -> Malformed:
    """A query parameter that cannot be understood."""
    return Malformed(f"{name}: {message}", code="bad_parameter")


def instant(at: datetime) -> str:
    """RFC 3339, in UTC."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def base_url(request: HttpRequest | Request) -> str:
    """Where this site is reached, without a trailing slash."""
    return str(settings.PUBLIC_URL) or f"{request.scheme}://{request.get_host()}"


def proposal_links(request: Request, proposal_id: UUID) -> dict[str, str]:
    """``url`` for the agent and ``review_url`` for a person, both absolute."""
    base = base_url(request)
    return {
        "url": f"{base}/api/v1/proposals/{proposal_id}",
        "review_url": base + reverse("approvals:proposal", args=[proposal_id]),
    }
