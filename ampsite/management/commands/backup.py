from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from ampsite.archive import SECRET_KEY
from ampsite.backup import CannotBackUp, back_up
from ampsite.dumps import CannotDump
from memories.management.operator import OperatorCommand


class Command(OperatorCommand):
    help = "Write everything but the index into one file, while the server runs or not."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path)

    def handle(self, *, file: Path, **_: Any) -> None:
        try:
            manifest = back_up(file)
        except (CannotBackUp, CannotDump) as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"{file} cannot be written: {error.strerror}.") from error
        self.stdout.write(
            f"{file} holds the whole database. Keep it as safe as the server."
        )
        if SECRET_KEY in manifest.digests:
            self.stdout.write("It holds the signing key as well.")
        else:
            self.stdout.write("SECRET_KEY is not in it; keep that elsewhere.")
