"""Lists: ``limit``, an opaque cursor, and the address of the next page."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NoReturn

from django.utils.dateparse import parse_datetime
from rest_framework.request import Request

from memories.api.door import bad_parameter, base_url
from memories.cursors import BadCursor, Place, in_utc, read_cursor, write_cursor
from memories.errors import Malformed

DEFAULT_LIMIT, MOST = 50, 200


def limit_of(request: Request) -> int:
    text = request.query_params.get("limit", str(DEFAULT_LIMIT))
    if not (text.isascii() and text.isdigit() and len(text) < 5 and 1 <= int(text) <= MOST):
        raise bad_parameter("limit", f"a whole number from 1 to {MOST}.")
    return int(text)


def instant_of(request: Request, name: str) -> datetime | None:
    """An instant with its offset (RFC 3339)."""
    text = request.query_params.get(name)
    if text is None:
        return None
    # A "+" that was not escaped arrives as a space.
    text = text.replace(" ", "+") if text[10:11] != " " else text
    try:
        at = parse_datetime(text)
        return in_utc(at) if at else _no_instant(name)
    except ValueError:
        return _no_instant(name)


def choice_of(request: Request, name: str, choices: tuple[str, ...]) -> str:
    """One of the choices, or "" when it is not asked for."""
    text = request.query_params.get(name, "")
    if text and text not in choices:
        raise bad_parameter(name, f"one of {', '.join(choices)}.")
    return text


def cursor_of(request: Request) -> Place | None:
    """Where the page before ended. Raises ``Malformed`` for what is no cursor of ours."""
    text = request.query_params.get("cursor")
    try:
        return None if text is None else read_cursor(text)
    except BadCursor:
        raise Malformed(
            "The cursor is not one of ours; take it from next, or leave it out.",
            code="bad_cursor",
        ) from None


def page(request: Request, results: list[Any], last: Place | None) -> dict[str, Any]:
    """``last`` is the place of the last result where more may follow, else None."""
    following = None
    if last:
        query = request.query_params.copy()
        query["cursor"] = write_cursor(last)
        following = f"{base_url(request)}{request.path}?{query.urlencode()}"
    return {"results": results, "next": following}


def _no_instant(name: str) -> NoReturn:
    raise bad_parameter(name, "an instant such as 2030-01-31T12:00:00Z.") from None
