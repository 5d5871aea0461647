"""Periodic work on proposals; safe to run twice, late, or in two workers."""

from __future__ import annotations

from celery import shared_task

from approvals import services


@shared_task(ignore_result=True)
def close_overtaken() -> int:
    """Close the proposals that lapsed or lost their targets; return how many."""
    return services.close_overtaken()
