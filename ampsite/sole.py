"""One server at a time where one process does everything."""

from __future__ import annotations

import fcntl
import os

from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper

# Of PostgreSQL's advisory locks; any number that nothing else here uses.
LOCK = 0x616D7073697465

_held: list[BaseDatabaseWrapper] = []  # connections that keep a lock until the process ends


class AlreadyServed(Exception):
    """Another process serves this database already."""


def serve_alone() -> None:
    """Hold this database for the rest of the process. Raises ``AlreadyServed``.

    Two servers with an index each would both bring a part of what was approved into
    their own, and each recall only that part.
    """
    got = _lock_database() if connection.vendor == "postgresql" else _lock_file()
    if not got:
        raise AlreadyServed(
            "Another server already uses this database: stop it, or set CELERY_BROKER_URL "
            "and QDRANT_URL so that several can share the work and the index."
        )


def _lock_database() -> bool:
    own = connection.copy()  # not among those that are closed after a request
    with own.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [LOCK])
        (got,) = cursor.fetchone()
    if got:
        _held.append(own)
    else:
        own.close()
    return bool(got)


def _lock_file() -> bool:
    """A file beside SQLite's own: a lock on that one would be SQLite's to lose. Held as long
    as it is open, which is until the process ends."""
    path = f"{connection.settings_dict['NAME']}-serve"
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        return False
    return True
