"""One request, one effect: the answer to a write is kept for a retry with the same key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, OperationalError, connection, transaction
from django.utils import timezone

from memories.errors import IdempotencyInProgress, IdempotencyMismatch
from memories.models import Agent, IdempotencyRecord
from memories.writing import writing

LOCK_TIMEOUT = "5s"  # how long a repeat waits for the first request to finish
LOCK_NOT_AVAILABLE = "55P03"  # PostgreSQL's name for having waited that long
BATCH = 1_000  # records deleted in one transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What is kept of an answer; no memory text is in it."""

    ids: tuple[UUID, ...] = ()
    approved: bool | None = None
    detail: str = ""
    proposal_id: UUID | None = None


def fingerprint(method: str, path: str, query: str, body: bytes) -> str:
    """Equal for the same request sent again, with or without the trailing slash."""
    head = "\n".join([method, path.rstrip("/"), query, ""])
    return sha256(head.encode() + body).hexdigest()


def once(
    agent: Agent, key: str, fingerprint: str, work: Callable[[], Kept]
) -> tuple[Kept, bool]:
    """Do the work, or give the answer it had before; the second value says which.

    Both in one transaction: what raises leaves neither effect nor record. Raises
    ``IdempotencyMismatch`` when the key came with another request, and
    ``IdempotencyInProgress`` while the first one is still being worked on.
    """
    with writing():
        record = _claim(agent, key, fingerprint)
        if record.kept:
            return record.kept, True
        kept = work()
        IdempotencyRecord.objects.filter(pk=record.pk).update(
            ids=[str(memory_id) for memory_id in kept.ids],
            approved=kept.approved,
            detail=kept.detail,
            proposal_id=kept.proposal_id,
        )
    return kept, False


def forget_expired() -> int:
    """Delete the records that no retry can ask for any more; return how many."""
    deleted = 0
    while True:
        expired = IdempotencyRecord.objects.filter(created_at__lt=_oldest())
        ids = list(expired.values_list("pk", flat=True)[:BATCH])
        if not ids:
            return deleted
        with writing():
            IdempotencyRecord.objects.filter(pk__in=ids).delete()
        deleted += len(ids)


@dataclass(frozen=True, slots=True)
class _Claim:
    """``kept`` is None where this request is the first."""

    pk: int
    kept: Kept | None = None


def _claim(agent: Agent, key: str, fingerprint: str) -> _Claim:
    while True:
        new = _insert(agent, key, fingerprint)
        if new is not None:
            return _Claim(new.pk)
        record = IdempotencyRecord.objects.filter(agent=agent, key=key).first()
        if record is None:
            continue  # it was let go of between the two looks
        if record.created_at < _oldest():
            record.delete()
            continue
        if record.fingerprint != fingerprint:
            raise IdempotencyMismatch(
                "This Idempotency-Key was used for another request; take a new one."
            )
        return _Claim(record.pk, _kept(record))


def _insert(agent: Agent, key: str, fingerprint: str) -> IdempotencyRecord | None:
    """None when the key has a record already. Another transaction that is about to commit
    one is waited for, not for long."""
    try:
        with transaction.atomic():
            _set_lock_timeout(LOCK_TIMEOUT)
            record = IdempotencyRecord.objects.create(
                agent=agent, key=key, fingerprint=fingerprint
            )
    except IntegrityError:
        return None
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", None) == LOCK_NOT_AVAILABLE:
            raise IdempotencyInProgress(
                "The first request with this Idempotency-Key is still being worked on; "
                "repeat it in a moment."
            ) from None
        raise
    _set_lock_timeout("DEFAULT")
    return record


def _set_lock_timeout(value: str) -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            text = value if value == "DEFAULT" else f"'{value}'"
            cursor.execute(f"SET LOCAL lock_timeout = {text}")


def _kept(record: IdempotencyRecord) -> Kept:
    return Kept(
        ids=tuple(UUID(text) for text in record.ids),
        approved=record.approved,
        detail=record.detail,
        proposal_id=record.proposal_id,
    )


def _oldest() -> datetime:
    return timezone.now() - timedelta(hours=settings.IDEMPOTENCY_HOURS)
