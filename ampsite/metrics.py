"""A few numbers in Prometheus' text format."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from django.db.models import Count, Min
from django.utils import timezone

from ampsite import __version__, embedded
from approvals.models import Decision, Proposal
from memories.collections import building_progress
from memories.index import collection_name
from memories.models import IndexEntry, Memory

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
STARTED_AT = time.time()


def exposition() -> str:
    lines: list[str] = []
    for name, kind, about, samples in _families():
        lines += [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]
        lines += [f"{name}{labels} {value:.15g}" for labels, value in samples]
    return "\n".join(lines) + "\n"


def _families() -> Iterator[tuple[str, str, str, list[tuple[str, float]]]]:
    version = f'{{version="{__version__}",python="{sys.version.split()[0]}"}}'
    yield "ampsite_info", "gauge", "What runs.", [(version, 1)]
    yield (
        "ampsite_proposals_pending",
        "gauge",
        "Proposals that wait for a person.",
        [("", Proposal.objects.pending().count())],
    )
    yield "ampsite_decisions_total", "counter", "Decisions ever made.", _decisions()
    yield (
        "ampsite_memories_live",
        "gauge",
        "Memories that can be recalled.",
        [("", Memory.objects.live().count())],
    )
    yield from _index()
    yield from _process()


def _decisions() -> list[tuple[str, float]]:
    rows = Decision.objects.values_list("outcome").annotate(count=Count("pk"))
    counts = dict.fromkeys(Decision.Outcome.values, 0) | dict(rows)
    return [(f'{{outcome="{name}"}}', count) for name, count in counts.items()]


def _index() -> Iterator[tuple[str, str, str, list[tuple[str, float]]]]:
    behind = IndexEntry.objects.behind().filter(collection=collection_name())
    failed = behind.exclude(last_error="").count()
    yield (
        "ampsite_index_entries_behind",
        "gauge",
        "Memories whose copy in the index is not up to date.",
        [("", behind.count())],
    )
    yield (
        "ampsite_index_entries_failed",
        "gauge",
        "Of these, the ones whose own text could not be indexed.",
        [("", failed)],
    )
    oldest = behind.aggregate(at=Min("memory__updated_at"))["at"]
    age = (timezone.now() - oldest).total_seconds() if oldest else 0.0
    yield (
        "ampsite_index_oldest_behind_seconds",
        "gauge",
        "Age of the oldest change that the index lacks.",
        [("", max(0.0, age))],
    )
    building = building_progress()
    yield (
        "ampsite_index_building",
        "gauge",
        "Live memories of a collection that is built beside the one that answers.",
        [(f'{{state="{name}"}}', count) for name, count in building.counts().items()]
        if building
        else [],
    )


def _process() -> Iterator[tuple[str, str, str, list[tuple[str, float]]]]:
    running = embedded.running()
    if running is not None:
        yield (
            "ampsite_embedded_restarts_total",
            "counter",
            "How often the worker or beat of this process ended and was started again.",
            [("", running.restarts)],
        )
    yield (
        "process_start_time_seconds",
        "gauge",
        "Start of the process, in seconds since 1970.",
        [("", STARTED_AT)],
    )
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    yield (
        "process_resident_memory_bytes",
        "gauge",
        "Memory of the process.",
        [("", pages * os.sysconf("SC_PAGE_SIZE"))],
    )
