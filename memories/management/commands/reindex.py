from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError

from memories import reindex
from memories.collections import begin, building_progress
from memories.embedding import EmbeddingFailed, configured_kind, get_embedder
from memories.index import IndexInUse, IndexUnavailable, close_index
from memories.management.operator import OperatorCommand
from memories.reindex import Difference


class Command(OperatorCommand):
    help = "Build the index again from the database, or compare the two."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--check",
            action="store_true",
            help="change nothing; exit 1 if database and index differ",
        )

        parser.add_argument(
            "--ask",
            action="store_true",
            help="let the running server build it beside the one that answers; asked "
            "again, say how far it is",
        )

    def handle(self, *, check: bool, ask: bool, **_: Any) -> None:
        if ask:
            self._ask()
            return
        try:
            get_embedder()
            difference = reindex.compare() if check else reindex.rebuild(self.stderr.write)
        except IndexInUse as error:
            raise CommandError(
                f"{error} To let that process build it again: manage.py reindex --ask."
            ) from error
        except (IndexUnavailable, EmbeddingFailed, ImproperlyConfigured) as error:
            raise CommandError(str(error)) from error
        finally:
            close_index()
        if difference:
            raise CommandError(_sentence(difference))
        self.stdout.write("The index holds exactly what the database says.")

    def _ask(self) -> None:
        if building_progress() is None:
            begin(configured_kind())
        self.stdout.write(f"The server builds the index again: {building_progress()}.")


def _sentence(difference: Difference) -> str:
    counts = {
        "missing from the index": len(difference.missing),
        "in the index without a live memory": len(difference.orphans),
        "waiting to be indexed": difference.behind,
    }
    found = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
    return f"Database and index differ: {found}."
