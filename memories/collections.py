"""From one collection to the next: built beside the one that answers, put in its place
when it is complete, and only then is the old one dropped."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.db import IntegrityError
from django.db.models import Exists, F, OuterRef, QuerySet
from django.utils import timezone

from memories.embedding import Kind, configured_kind
from memories.index import discard, get_index, look_again, serving
from memories.index.base import batches
from memories.models import Collection, IndexEntry, Memory
from memories.writing import writing

logger = logging.getLogger(__name__)

STEP = 1_000  # memories asked for at a time, so that a decision need not wait for all
# Longer than a process may believe in a collection that was retired, and than a request
# may take that began with it.
GRACE = timedelta(seconds=60)
LOOK_SECONDS = 60.0  # between two looks at what was found not good enough

# The name of a collection that was not good enough, with how far it was.
_rejected: tuple[str, Progress] | None = None
_look_at = -math.inf  # monotonic time of the next look at it


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a collection is: ``done`` of ``total`` live memories, of which ``failed``
    could not be embedded so far."""

    done: int
    total: int
    failed: int

    def __str__(self) -> str:
        failed = f", {self.failed:,} failed" if self.failed else ""
        return f"{self.done:,} of {self.total:,}{failed}"

    def counts(self) -> dict[str, int]:
        waiting = self.total - self.done - self.failed
        return {"done": self.done, "failed": self.failed, "waiting": max(0, waiting)}

    @property
    def is_good_enough(self) -> bool:
        """Whether what failed is a matter of single texts: those are found by their words.
        Where nearly nothing could be embedded the embedder is broken."""
        return self.failed <= max(1, self.total // 100) and (
            self.failed < self.total or not self.total
        )


def settle(*, at_start: bool = False) -> Collection | None:
    """Begin to build what the settings ask for and is not there; return what is being
    built. At the start of a process a building that they no longer ask for is given up."""
    kind = configured_kind()
    if Collection.objects.serving() is None:
        _begin_with(kind)
    answering, building = serving(), Collection.objects.building()
    if building and at_start and building.kind != kind:
        _give_up(building, answering)
        building = None
    if building is None and answering.kind != kind:
        building = begin(kind)
    return building


def begin(kind: Kind) -> Collection | None:
    """Start a collection beside the one that answers; return what is being built, which is
    another one's where that was faster."""
    try:
        with writing():
            building = Collection.of(kind, Collection.State.BUILDING, again=True)
            building.save(force_insert=True)
    except IntegrityError:
        return Collection.objects.building()
    logger.info("building %s beside %s, which answers meanwhile", building, serving())
    return building


def building_progress() -> Progress | None:
    """How far the collection being built is; None while none is."""
    building = Collection.objects.building()
    return _progress(building) if building else None


def answering_progress() -> Progress:
    """How far the collection that answers recall is."""
    return _progress(serving())


def backlog() -> str:
    """A sentence about what recall does not find yet, or ""."""
    progress = answering_progress()
    waiting = progress.counts()["waiting"]
    if not waiting:
        return ""
    return (
        f"The index is being filled: {waiting:,} of {progress.total:,} memories are not in "
        "it yet; until then recall does not find them."
    )


def _progress(collection: Collection) -> Progress:
    entries = IndexEntry.objects.filter(collection=collection.name, memory=OuterRef("pk"))
    live = Memory.objects.live()
    return Progress(
        done=live.filter(
            Exists(entries.filter(indexed_version=F("wanted_version")))
        ).count(),
        total=live.count(),
        failed=live.filter(Exists(entries.behind().exclude(last_error=""))).count(),
    )


def catch_up(collection: Collection) -> int:
    """Ask for what the collection was never asked for; return for how many memories."""
    return sum(catching_up(collection))


def catching_up(collection: Collection) -> Iterator[int]:
    """``catch_up`` in steps and in order of age, each beginning where the last one ended;
    for how many memories each."""
    rest = _lacking(collection)
    while found := list(rest.values_list("pk", flat=True)[:STEP]):
        for batch in batches(found):
            _ask_for(batch, collection)
        yield len(found)
        rest = _lacking(collection).filter(pk__gt=found[-1])


def _ask_for(batch: list[UUID], collection: Collection) -> None:
    with writing():
        # Locked, so that the version is the one that whoever writes now leaves.
        rows = Memory.objects.filter(pk__in=batch).order_by("pk")
        IndexEntry.objects.want(
            list(rows.select_for_update(of=("self",))),
            collection=collection.name,
            priority=IndexEntry.Priority.REBUILD,
        )


def finish(building: Collection) -> bool:
    """Put a complete collection in the place of the one that answers; whether that was
    done. Raises ``IndexUnavailable``."""
    behind = IndexEntry.objects.behind().filter(collection=building.name)
    if behind.filter(last_error="").exists():
        return False
    progress = _progress(building)
    if not progress.is_good_enough:
        _reject(building, progress)
        return False
    get_index(building).flush()
    if not _swap(building):
        return False
    look_again()
    logger.info("%s answers from now on (%s)", building, progress)
    return True


def is_rejected(building: Collection) -> bool:
    """Whether it was found not good enough a moment ago and nothing was written to it since:
    another look would read every memory and find the same."""
    is_known = _rejected is not None and _rejected[0] == building.name
    return is_known and time.monotonic() < _look_at


def reconsider() -> None:
    """Look again at what was not good enough: something was written to it."""
    global _look_at
    _look_at = -math.inf


def _reject(building: Collection, progress: Progress) -> None:
    global _rejected, _look_at
    if _rejected != (building.name, progress):
        logger.warning(
            "%s is not put in the place of %s: %s", building, serving(), progress
        )
    _rejected = building.name, progress
    _look_at = time.monotonic() + LOOK_SECONDS


def _swap(building: Collection) -> bool:
    with writing():
        rows = Collection.objects.order_by("pk").select_for_update()
        states = {row.state: row for row in rows}
        found = states.get(Collection.State.BUILDING)
        behind = IndexEntry.objects.behind().filter(collection=building.name)
        if (
            found != building
            or _lacking(building).exists()
            or behind.filter(last_error="").exists()
        ):
            return False  # somebody was faster, or wrote meanwhile
        for state, to in (
            (Collection.State.SERVING, Collection.State.RETIRED),
            (Collection.State.BUILDING, Collection.State.SERVING),
        ):
            Collection.objects.filter(state=state).update(
                state=to, changed_at=timezone.now()
            )
    return True


def drop_retired() -> None:
    """Delete what nobody asks any more. Raises ``IndexUnavailable``."""
    retired = Collection.objects.retired()
    dropped = list(retired.filter(changed_at__lt=timezone.now() - GRACE))
    if not dropped:
        return
    # A process that did not know yet may have written for one that was retired.
    catch_up(serving())
    for collection in dropped:
        discard(collection)
        _forget(collection)


def _forget(collection: Collection) -> None:
    entries = IndexEntry.objects.filter(collection=collection.name)
    for batch in batches(list(entries.values_list("pk", flat=True))):
        with writing():
            IndexEntry.objects.hold(batch).delete()
    with writing():
        collection.delete()


def _begin_with(kind: Kind) -> None:
    """The first collection of all answers from the start, being as complete as any."""
    first = Collection.of(kind, Collection.State.SERVING)
    try:
        with writing():
            first.save(force_insert=True)
    except IntegrityError:  # another process was faster
        logger.debug("%s is there already", first)
    look_again()


def _give_up(building: Collection, answering: Collection) -> None:
    logger.info("no longer building %s", building)
    # Where its embedder could not be loaded meanwhile, what was written to the one that
    # answers has no vector.
    indexed = IndexEntry.objects.filter(
        collection=answering.name,
        due_at__gte=building.changed_at,
        indexed_version=F("wanted_version"),
    )
    for batch in batches(list(indexed.values_list("pk", flat=True))):
        with writing():
            held = IndexEntry.objects.hold(batch)
            held.filter(indexed_version=F("wanted_version")).update(
                indexed_version=0, due_at=timezone.now()
            )
    with writing():
        Collection.objects.filter(pk=building.pk).update(
            state=Collection.State.RETIRED, changed_at=timezone.now()
        )


def _lacking(collection: Collection) -> QuerySet[Memory]:
    """Live memories the collection was never asked for, and any of which it was last asked
    for an older version."""
    asked = IndexEntry.objects.filter(memory=OuterRef("pk"), collection=collection.name)
    never = Memory.objects.live().filter(~Exists(asked))
    older = Memory.objects.filter(
        Exists(asked.filter(wanted_version__lt=OuterRef("version")))
    )
    return (never | older).order_by("pk")
