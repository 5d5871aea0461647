from __future__ import annotations

from argparse import ArgumentParser
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from ampsite.archive import SECRET_KEY, NotABackup
from ampsite.backup import CannotRestore, broken_chains, restore
from ampsite.dumps import CannotDump
from ampsite.sole import AlreadyServed
from approvals.sentences import instant
from memories.management.operator import OperatorCommand
from memories.models import Memory


class Command(OperatorCommand):
    help = "Make the database what it was when FILE was made. The server has to be stopped."

    needs_database = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path)
        parser.add_argument(
            "--overwrite",
            action="store_true",
            help="replace what the database holds now",
        )

    def handle(self, *, file: Path, overwrite: bool, **_: Any) -> None:
        try:
            manifest = restore(file, overwrite=overwrite)
        except (AlreadyServed, CannotRestore, CannotDump, NotABackup) as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            name = error.filename or file
            raise CommandError(f"{name} cannot be used: {error.strerror}.") from error
        live = Memory.objects.live().count()
        made_at = instant(datetime.fromisoformat(manifest.made_at))
        self.stdout.write(
            f"Restored as of {made_at}: {live:,} live memories. The server fills the index "
            "again; until that is done, recall does not find all of them."
        )
        if SECRET_KEY not in manifest.digests and not settings.SECRET_KEY_GIVEN:
            self.stdout.write(
                "The backup's SECRET_KEY was in its environment: set the same one, or "
                "everybody logs in again."
            )
        if broken := list(broken_chains()):
            raise CommandError(
                "\n".join(["The data is restored, but the audit does not hold.", *broken])
            )
        self.stdout.write("Every chain of the audit holds.")
