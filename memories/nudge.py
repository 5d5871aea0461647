"""A hint, after a commit, that a task has work. Losing one loses nothing: beat asks too.

Never published from the request: a broker that does not answer would hold it, and on
SQLite everybody else, for seconds.
"""

from __future__ import annotations

import logging
import os
import time
from functools import partial
from threading import Condition, Thread

from celery import current_app
from django.db import transaction

logger = logging.getLogger(__name__)

DRAIN = "memories.tasks.drain_index"
LINGER_SECONDS = 0.02  # one task for a burst of writes instead of one each
EXPIRES_SECONDS = 10  # beat has asked again by then

_wanted: set[str] = set()
_changed = Condition()
_publisher: tuple[int, Thread] | None = (
    None  # with the pid: a thread does not survive a fork
)


def nudge_after_commit(task: str = DRAIN) -> None:
    """Ask for the task once the surrounding transaction is committed."""
    transaction.on_commit(partial(nudge, task), robust=True)


def nudge(task: str = DRAIN) -> None:
    """Ask for the task soon. Takes microseconds; many at once become one."""
    global _publisher
    with _changed:
        _wanted.add(task)
        if not (_publisher and _publisher[0] == os.getpid() and _publisher[1].is_alive()):
            thread = Thread(target=_publish, name="nudge-publisher", daemon=True)
            _publisher = (os.getpid(), thread)
            thread.start()
        _changed.notify()


def _publish() -> None:
    while True:
        with _changed:
            _changed.wait_for(lambda: _wanted)
        time.sleep(LINGER_SECONDS)
        with _changed:
            tasks = sorted(_wanted)
            _wanted.clear()
        try:
            for task in tasks:
                current_app.send_task(task, expires=EXPIRES_SECONDS)
        except Exception:
            logger.warning("cannot reach the broker; beat will ask instead", exc_info=True)
            time.sleep(1)
