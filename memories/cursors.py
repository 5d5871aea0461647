"""Opaque cursors of lists: where a page ended."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime
from uuid import UUID

Place = tuple[datetime, UUID]  # instant and id of the last row of a page


class BadCursor(ValueError):
    """The cursor is not one that was handed out."""


def write_cursor(place: Place) -> str:
    at, pk = place
    return urlsafe_b64encode(f"{at.isoformat()} {pk.hex}".encode()).decode().rstrip("=")


def read_cursor(cursor: str) -> Place:
    """The instant in UTC. Raises ``BadCursor``."""
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        at, _, pk = urlsafe_b64decode(padded).decode().partition(" ")
        return in_utc(datetime.fromisoformat(at)), UUID(hex=pk)
    except ValueError as error:  # bad base64 and bad Unicode are such as well
        raise BadCursor(cursor) from error


def in_utc(at: datetime) -> datetime:
    """An instant with its offset, in UTC. Raises ``ValueError`` without an offset, and where
    the offset leads out of the calendar: no database can be asked about that."""
    if at.tzinfo is None:
        raise ValueError("An instant has an offset.")
    try:
        return at.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("The instant is beyond the calendar.") from error
