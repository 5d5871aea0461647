"""Reading a body: its size, then its type; the JSON is judged after."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest

from memories.errors import DomainError


class BodyTooLarge(DomainError):
    code = "body_too_large"
    http_status = 413
    title = "The body is too large"

    def __init__(self) -> None:
        limit = f"{settings.MAX_BODY_BYTES:,}"
        super().__init__(f"The body may have {limit} bytes (MAX_BODY_BYTES).")


class NotJSON(DomainError):
    code = "not_json"
    http_status = 415
    title = "The body is not JSON"

    def __init__(self) -> None:
        super().__init__("Send JSON in UTF-8 with Content-Type: application/json.")


def read_body(request: HttpRequest) -> bytes:
    """The raw body of a JSON request. Raises ``BodyTooLarge`` or ``NotJSON``.

    A declared length is believed when it is too large, never when it is small enough.
    """
    declared = request.META.get("CONTENT_LENGTH") or "0"
    if declared.isdecimal() and int(declared) > settings.MAX_BODY_BYTES:
        raise BodyTooLarge
    body: bytes = request.read(settings.MAX_BODY_BYTES + 1)
    if len(body) > settings.MAX_BODY_BYTES:
        raise BodyTooLarge
    charset = (request.content_params or {}).get("charset", "utf-8").strip('"').lower()
    if request.content_type != "application/json" or charset not in {"utf-8", "utf8"}:
        raise NotJSON
    return body
