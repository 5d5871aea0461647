"""Row ids: UUIDv7, so that they sort by time and index well (RFC 9562)."""

from __future__ import annotations

from uuid import UUID

import uuid_utils.compat


def new_id() -> UUID:
    """A new UUIDv7; later ids of one process are greater than earlier ones."""
    return uuid_utils.compat.uuid7()
