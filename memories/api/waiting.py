"""``Prefer: wait=N``: an answer that waits a while for what it is about."""

from __future__ import annotations

import logging
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, connection

logger = logging.getLogger(__name__)

LONGEST_SECONDS = 60
FIRST_PAUSE, LONGEST_PAUSE = 0.02, 0.25  # seconds between two looks

_lock = Lock()
_waiting: Counter[UUID] = Counter()
_stopping = Event()


def preferred_wait(prefer: str | None) -> int:
    """Seconds, 60 at most; 0 for a ``Prefer`` that is absent, malformed or repeated."""
    waits = []
    for preference in (prefer or "").split(","):
        name, _, value = preference.partition(";")[0].partition("=")
        if name.strip().lower() == "wait":
            waits.append(value.strip().strip('"'))
    if len(waits) != 1 or not re.fullmatch("[0-9]{1,9}", waits[0]):
        return 0
    return min(int(waits[0]), LONGEST_SECONDS)


def wait_until(done: Callable[[], bool], *, seconds: int, agent: UUID) -> bool | None:
    """Wait until ``done`` (True) or the time has passed (False).

    None, at once, when too many others wait already. ``done`` looks into the database; between
    two looks no transaction is open. What the answer is about is stored by now, so a
    database that fails meanwhile ends the wait, not the request.
    """
    with _place(agent) as free:
        if not free:
            return None
        deadline, pause = time.monotonic() + seconds, FIRST_PAUSE
        try:
            while not done():
                left = deadline - time.monotonic()
                if left <= 0 or _stopping.wait(min(pause, left)):
                    return False
                pause = min(pause * 1.5, LONGEST_PAUSE)
        except DatabaseError as error:
            logger.warning("a wait ended early: %s", type(error).__name__)
            connection.close_if_unusable_or_obsolete()
            return False
    return True


def stop_waiting() -> None:
    """Let everybody who waits answer now: the server stops."""
    _stopping.set()


@contextmanager
def _place(agent: UUID) -> Iterator[bool]:
    """A place among those who may wait, or False."""
    with _lock:
        free = (
            _waiting.total() < settings.MAX_WAITING_REQUESTS
            and _waiting[agent] < settings.MAX_WAITING_PER_AGENT
        )
        if free:
            _waiting[agent] += 1
    try:
        yield free
    finally:
        if free:
            with _lock:
                _waiting[agent] -= 1
                if not _waiting[agent]:
                    del _waiting[agent]
