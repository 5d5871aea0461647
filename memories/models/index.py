"""What the index still has to learn: the outbox of the vector store."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Self

from django.db import models, transaction
from django.db.models import F, Q
from django.utils import timezone

from memories.models.memories import Memory


class IndexEntryQuerySet(models.QuerySet["IndexEntry"]):
    def behind(self) -> Self:
        return self.filter(indexed_version__lt=F("wanted_version"))

    def due(self, collection: str) -> Self:
        """Entries whose index copy is behind and whose time has come, decisions first."""
        due = self.behind().filter(collection=collection, due_at__lte=timezone.now())
        return due.order_by("priority", "due_at")

    def claim(self, limit: int, *, collection: str, lease: timedelta) -> list[IndexEntry]:
        """Take up to ``limit`` due entries that no other worker holds.

        A claim is only a later ``due_at``: if this worker dies, the entries come due
        again by themselves once ``lease`` has passed. It clears the last error, so an
        entry that has one is waiting and in nobody's hands.
        """
        with transaction.atomic():
            due = self.due(collection).select_for_update(skip_locked=True, of=("self",))
            entries = list(due[:limit])
            self.filter(pk__in=[entry.pk for entry in entries]).update(
                due_at=timezone.now() + lease, attempts=F("attempts") + 1, last_error=""
            )
        return entries

    def want(self, memories: Iterable[Memory], *, collection: str, priority: int) -> None:
        """Ask for the current version of each memory to be indexed.

        Raises only ``wanted_version``: ``due_at`` belongs to the worker that holds the
        entry, or a second one could send a version while the first is still sending an
        older one. An entry that failed is in nobody's hands; its new text may fare better.
        """
        memories = sorted(memories, key=lambda memory: memory.pk)
        self.bulk_create(
            [
                IndexEntry(
                    memory=memory,
                    collection=collection,
                    wanted_version=memory.version,
                    priority=priority,
                )
                for memory in memories
            ],
            update_conflicts=True,
            unique_fields=["memory", "collection"],
            update_fields=["wanted_version", "priority"],
        )
        changed = [memory.pk for memory in memories if memory.version > 1]
        if changed:
            self.filter(collection=collection, memory__in=changed).retry()

    def retry(self) -> int:
        """Make the entries that failed due at once; return how many there were."""
        failed = self.behind().exclude(last_error="")
        held = self.hold(failed.values_list("pk", flat=True))
        return held.update(due_at=timezone.now(), attempts=0, last_error="")

    def put_last(self) -> int:
        """Let everything else be indexed before these; return how many they are."""
        return self.update(priority=IndexEntry.Priority.REBUILD)

    def distrust(self) -> int:
        """Make every entry due as if nothing were in the index; return how many. Only for
        who knows that no worker is at it."""
        return self.update(
            indexed_version=0,
            due_at=timezone.now(),
            attempts=0,
            last_error="",
            priority=IndexEntry.Priority.REBUILD,
        )

    def hold(self, entries: Iterable[int]) -> Self:
        """These entries, locked in order of their memory until the transaction ends: who
        takes several takes them in that order, as ``want`` does, or two wait in a ring."""
        rows = self.filter(pk__in=list(entries))
        list(rows.order_by("memory_id").select_for_update(of=("self",)).values_list("pk"))
        return rows


class IndexEntry(models.Model):
    """One memory's copy in one collection: which version is wanted, which is there."""

    class Priority(models.IntegerChoices):
        DECISION = 0
        SHORT_TERM = 1
        REBUILD = 2

    memory = models.ForeignKey(
        Memory, on_delete=models.CASCADE, related_name="index_entries"
    )
    collection = models.CharField(max_length=128)
    wanted_version = models.PositiveIntegerField()
    indexed_version = models.PositiveIntegerField(default=0)
    priority = models.SmallIntegerField(
        choices=Priority.choices, default=Priority.SHORT_TERM
    )
    due_at = models.DateTimeField(default=timezone.now)
    attempts = models.PositiveIntegerField(default=0)
    last_error = models.TextField(blank=True)

    objects = IndexEntryQuerySet.as_manager()

    class Meta:
        verbose_name, verbose_name_plural = "index entry", "index entries"
        constraints = [
            models.UniqueConstraint(
                fields=["memory", "collection"], name="index_entry_once"
            ),
            models.CheckConstraint(
                name="index_entry_not_ahead",
                condition=Q(indexed_version__lte=F("wanted_version")),
            ),
        ]
        indexes = [
            models.Index(
                fields=["collection", "priority", "due_at"],
                name="index_entry_behind",
                condition=Q(indexed_version__lt=F("wanted_version")),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.memory_id} in {self.collection}"

    @property
    def state(self) -> str:
        """``queued``, ``indexed`` or ``failed`` (this memory's own text could not be indexed)."""
        if self.indexed_version >= self.wanted_version:
            return "indexed"
        return "failed" if self.last_error else "queued"
