"""Bringing the index back in line with the database, which is the truth."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from memories.drain import drain
from memories.index import collection_name, get_index
from memories.index.base import batches
from memories.models import IndexEntry, Memory
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


def catch_up() -> int:
    """Ask for every live memory that the current collection was never asked for, as after
    a change of the embedder; return how many."""
    collection = collection_name()
    asked = IndexEntry.objects.filter(memory=OuterRef("pk"), collection=collection)
    forgotten = Memory.objects.live().filter(~Exists(asked)).order_by("pk")
    found = 0
    for batch in batches(list(forgotten.values_list("pk", flat=True))):
        with writing():
            # Locked, so that the version is the one that whoever writes now leaves.
            rows = forgotten.filter(pk__in=batch).select_for_update(of=("self",))
            memories = list(rows)
            IndexEntry.objects.want(
                memories, collection=collection, priority=IndexEntry.Priority.REBUILD
            )
        found += len(memories)
    return found


def release_claims() -> None:
    """Make everything that is behind due now. Only for who knows that no worker holds a
    claim: a process that owns the index and has just started."""
    behind = IndexEntry.objects.behind().filter(collection=collection_name())
    if behind.exists():
        with writing():
            behind.update(due_at=timezone.now())


def heal() -> Difference:
    """Repair what a look at every id finds; return what was found.

    Looks only when the numbers differ, since it reads every id.
    """
    if get_index().count() == _indexed().count():
        return Difference((), (), 0)
    difference = compare()
    repair(difference)
    return difference


def compare() -> Difference:
    """Database against index, id by id; safe while others write. Raises
    ``IndexUnavailable``."""
    believed = set(_indexed().values_list("memory_id", flat=True))
    stored = set(get_index().ids())
    # What changed between the two looks is no difference: judged again as it is now.
    missing = _among(_indexed(), believed - stored)
    unexplained = stored - believed
    known = _among(_explained(), unexplained)
    return Difference(
        missing=tuple(sorted(missing)),
        orphans=tuple(sorted(unexplained - known)),
        behind=IndexEntry.objects.behind().filter(collection=collection_name()).count(),
    )


def repair(difference: Difference) -> None:
    """Send what is missing again and drop the orphans. Raises ``IndexUnavailable``."""
    _send_again(difference.missing)
    get_index().drop(difference.orphans)


def rebuild() -> Difference:
    """Send every live memory again, here and now, and drop the orphans; return what is
    still different, which is what could not be embedded or came meanwhile.

    Recall goes on meanwhile: a point stays until its successor replaces it. Raises
    ``IndexUnavailable``.
    """
    catch_up()
    get_index().drop(compare().orphans)
    _send_again(_indexed().values_list("memory_id", flat=True))
    drain()
    return compare()


def _entries() -> QuerySet[IndexEntry]:
    return IndexEntry.objects.filter(collection=collection_name())


def _indexed() -> QuerySet[IndexEntry]:
    """Entries of live memories whose wanted version is said to be in the index."""
    live = Memory.objects.live().filter(pk=OuterRef("memory_id"))
    return _entries().filter(Exists(live), indexed_version=F("wanted_version"))


def _explained() -> QuerySet[IndexEntry]:
    """Entries whose point may well be there: its removal is still to come, or waits for
    the sweep that writes the expiry down."""
    behind = Q(indexed_version__lt=F("wanted_version"))
    return _entries().filter(behind | Q(memory__state=Memory.State.LIVE))


def _among(entries: QuerySet[IndexEntry], memories: Iterable[UUID]) -> set[UUID]:
    found: set[UUID] = set()
    for batch in batches(memories):
        found.update(
            entries.filter(memory_id__in=batch).values_list("memory_id", flat=True)
        )
    return found


def _send_again(memories: Iterable[UUID]) -> None:
    for batch in batches(list(memories)):
        with writing():
            _entries().filter(memory_id__in=batch).update(
                indexed_version=0,
                due_at=timezone.now(),
                priority=IndexEntry.Priority.REBUILD,
            )
