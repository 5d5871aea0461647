"""Periodic work on memories: no arguments, no open transaction on the network, safe to
run twice, late, or in two workers."""

from __future__ import annotations

import logging

from celery import shared_task
from django.conf import settings

from memories import idempotency, reindex, services
from memories.drain import drain
from memories.index import IndexUnavailable
from memories.nudge import nudge

logger = logging.getLogger(__name__)


@shared_task(ignore_result=True)
def drain_index() -> int:
    """Bring the index up to date with the database; return entries written.

    The work is in the table, not in the message. A long backlog lets other tasks in
    between: in one process there may be one worker thread for all.
    """
    written, more = drain(settings.INDEX_DRAIN_SECONDS)
    if more:
        nudge()
    return written


@shared_task(ignore_result=True)
def expire_memories() -> int:
    """Write down the expiries that the clock already made true; return how many."""
    return services.expire_due()


@shared_task(ignore_result=True)
def reconcile_index() -> int:
    """Repair what differs between database and index, compared id by id; return how many
    points were missing or had no live memory."""
    try:
        difference = reindex.compare()
        reindex.repair(difference)
    except IndexUnavailable as error:
        logger.warning("the index cannot be compared: %s", error)
        return 0
    found = len(difference.missing) + len(difference.orphans)
    if found:
        logger.warning(
            "the index lacked %d points and had %d too many; repaired",
            len(difference.missing),
            len(difference.orphans),
        )
    return found


@shared_task(ignore_result=True)
def forget_idempotency_keys() -> int:
    """Let go of answers kept for retries that can no longer come; return how many."""
    return idempotency.forget_expired()
