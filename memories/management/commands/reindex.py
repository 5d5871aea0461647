from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from memories import reindex
from memories.embedding import EmbeddingFailed
from memories.index import IndexUnavailable, close_index
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

    def handle(self, *, check: bool, **_: Any) -> None:
        try:
            difference = reindex.compare() if check else reindex.rebuild()
        except (IndexUnavailable, EmbeddingFailed) as error:
            raise CommandError(str(error)) from error
        finally:
            close_index()
        if difference:
            raise CommandError(_sentence(difference))
        self.stdout.write("The index holds exactly what the database says.")


def _sentence(difference: Difference) -> str:
    counts = {
        "missing from the index": len(difference.missing),
        "in the index without a live memory": len(difference.orphans),
        "waiting to be indexed": difference.behind,
    }
    found = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
    return f"Database and index differ: {found}."
