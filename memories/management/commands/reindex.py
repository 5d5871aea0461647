from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError

from memories import reindex
from memories.collections import backlog, begin, building_progress
from memories.embedding import EmbeddingFailed, Kind, configured_kind, get_embedder
from memories.index import IndexInUse, IndexUnavailable, close_index
from memories.management.operator import OperatorCommand
from memories.reindex import Difference

NAMED = 20  # of each kind of difference


class Command(OperatorCommand):
    help = "Build the index again from the database, or compare the two."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--check",
            action="store_true",
            help="compare and change nothing; exit 1 if database and index differ",
        )
        parser.add_argument(
            "--ask",
            action="store_true",
            help="let the server build it again, beside the one that answers",
        )
        parser.add_argument(
            "--progress",
            action="store_true",
            help="say how far the server is with that, and what recall does not find yet",
        )

    def handle(self, *, check: bool, ask: bool, progress: bool, **_: Any) -> None:
        if ask or progress:
            self._say_progress(ask=ask)
            return
        try:
            difference = reindex.compare() if check else self._rebuild()
        except IndexInUse as error:
            raise CommandError(
                f"{error} To let that process build it again: manage.py reindex --ask."
            ) from error
        except (IndexUnavailable, EmbeddingFailed, ImproperlyConfigured) as error:
            raise CommandError(str(error)) from error
        finally:
            close_index()
        if difference:
            self._name(difference)
            raise CommandError(_sentence(difference))
        self.stdout.write("The index holds exactly what the database says.")

    def _rebuild(self) -> Difference:
        get_embedder()
        return reindex.rebuild(self.stderr.write)

    def _name(self, difference: Difference) -> None:
        for what, ids in (("missing", difference.missing), ("orphan", difference.orphans)):
            for memory_id in ids[:NAMED]:
                self.stdout.write(f"{what} {memory_id}")
            if len(ids) > NAMED:
                self.stdout.write(f"and {len(ids) - NAMED:,} more {what}")

    def _say_progress(self, *, ask: bool) -> None:
        if ask and building_progress() is None:
            begin(_kind())
        found = building_progress()
        if found:
            self.stdout.write(f"The server builds the index again: {found}.")
        if behind := backlog():
            self.stdout.write(behind)
        if not found and not behind:
            self.stdout.write("No index is being built, and nothing waits to be indexed.")


def _kind() -> Kind:
    try:
        return configured_kind()
    except ImproperlyConfigured as error:
        raise CommandError(str(error)) from error


def _sentence(difference: Difference) -> str:
    counts = {
        "missing from the index": len(difference.missing),
        "in the index without a live memory": len(difference.orphans),
        "waiting to be indexed": difference.behind,
    }
    found = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
    return f"Database and index differ: {found}."
