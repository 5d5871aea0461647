"""Bringing the index back in line with the database, which is the truth."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from memories.collections import (
    answering_progress,
    building_progress,
    catch_up,
    settle,
)
from memories.drain import drain
from memories.index import get_index, serving
from memories.index.base import batches
from memories.models import Collection, IndexEntry, Memory
from memories.writing import writing


@dataclass(frozen=True, slots=True)
class Difference:
    """``missing`` live memories that the database believes are in the index and that are
    not; ``orphans`` points of no live memory; ``behind`` entries that wait to be sent."""

    missing: tuple[UUID, ...]
    orphans: tuple[UUID, ...]
    behind: int

    def __bool__(self) -> bool:
        return bool(self.missing or self.orphans or self.behind)


def release_claims() -> None:
    """Make everything that is behind due now. Only for who knows that no worker holds a
    claim: a process that owns the index and has just started."""
    behind = IndexEntry.objects.behind()
    for batch in batches(list(behind.values_list("pk", flat=True))):
        with writing():
            IndexEntry.objects.hold(batch).update(due_at=timezone.now())


def heal(collection: Collection | None = None) -> Difference:
    """Repair what a look at every id finds; return what was found.

    Looks only when the numbers differ, since it reads every id.
    """
    collection = collection or serving()
    if get_index(collection).count() == _indexed(collection).count():
        return Difference((), (), 0)
    difference = compare(collection)
    repair(difference, collection)
    return difference


def compare(collection: Collection | None = None) -> Difference:
    """Database against index, id by id; safe while others write. Raises
    ``IndexUnavailable``."""
    collection = collection or serving()
    indexed = _indexed(collection)
    believed = set(indexed.values_list("memory_id", flat=True))
    stored = set(get_index(collection).ids())
    # What changed between the two looks is no difference: judged again as it is now.
    missing = _among(_indexed(collection), believed - stored)
    unexplained = stored - believed
    known = _among(_explained(collection), unexplained)
    return Difference(
        missing=tuple(sorted(missing)),
        orphans=tuple(sorted(unexplained - known)),
        behind=IndexEntry.objects.behind().filter(collection=collection.name).count(),
    )


def repair(difference: Difference, collection: Collection | None = None) -> None:
    """Send what is missing again and drop the orphans. Raises ``IndexUnavailable``."""
    collection = collection or serving()
    _send_again(difference.missing, collection)
    get_index(collection).drop(difference.orphans)


def rebuild(report: Callable[[str], None] = lambda _: None) -> Difference:
    """Send every live memory again, here and now, and drop the orphans; return what is
    still different, which is what could not be embedded or came meanwhile.

    After a change of the embedder that is a collection of its own, put in the place of the
    old one at the end. Recall goes on meanwhile: a point stays until its successor replaces
    it. ``report`` hears, about every second, "412 of 10,000". Raises ``IndexUnavailable``.
    """
    get_index()  # owned by another process, it has to be left alone before anything else
    if settle(at_start=True) is None:
        collection = serving()
        catch_up(collection)
        get_index(collection).drop(compare(collection).orphans)
        _send_again(_indexed(collection).values_list("memory_id", flat=True), collection)
    while drain(1.0)[1]:
        report(str(building_progress() or answering_progress()))
    return compare()


def _entries(collection: Collection) -> QuerySet[IndexEntry]:
    return IndexEntry.objects.filter(collection=collection.name)


def _indexed(collection: Collection) -> QuerySet[IndexEntry]:
    """Entries of live memories whose wanted version is said to be in the index."""
    live = Memory.objects.live().filter(pk=OuterRef("memory_id"))
    return _entries(collection).filter(Exists(live), indexed_version=F("wanted_version"))


def _explained(collection: Collection) -> QuerySet[IndexEntry]:
    """Entries whose point may well be there: its removal is still to come, or waits for
    the sweep that writes the expiry down."""
    behind = Q(indexed_version__lt=F("wanted_version"))
    return _entries(collection).filter(behind | Q(memory__state=Memory.State.LIVE))


def _among(entries: QuerySet[IndexEntry], memories: Iterable[UUID]) -> set[UUID]:
    found: set[UUID] = set()
    for batch in batches(memories):
        found.update(
            entries.filter(memory_id__in=batch).values_list("memory_id", flat=True)
        )
    return found


def _send_again(memories: Iterable[UUID], collection: Collection) -> None:
    for batch in batches(list(memories)):
        asked = _entries(collection).filter(memory_id__in=batch)
        with writing():
            IndexEntry.objects.hold(asked.values_list("pk", flat=True)).update(
                indexed_version=0,
                due_at=timezone.now(),
                priority=IndexEntry.Priority.REBUILD,
            )
