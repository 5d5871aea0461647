"""Backup into one file while everything runs, and back from it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from django.conf import settings
from django.core.management import call_command
from django.db import connections
from django.db.migrations.loader import MigrationLoader
from django.utils import timezone

import ampsite
from ampsite import archive, dumps
from ampsite.archive import DATABASE, SECRET_KEY, Manifest
from ampsite.sole import serve_alone
from memories import audit
from memories.actors import SYSTEM
from memories.models import IndexEntry
from memories.writing import writing


class CannotBackUp(Exception):
    """Nothing was written; the message is one sentence for people."""


class CannotRestore(Exception):
    """Nothing was changed; the message is one sentence for people."""


def back_up(path: Path) -> Manifest:
    """Write ``path``, whole or not at all. Raises ``CannotBackUp``, ``CannotDump`` and
    ``OSError``."""
    if path.exists():
        raise CannotBackUp(f"{path} exists already: choose another name.")
    migrations = dumps.applied_migrations()
    if not migrations:
        raise CannotBackUp("The database is empty: there is nothing to back up.")
    with TemporaryDirectory(prefix=".ampsite-", dir=path.absolute().parent) as folder:
        files = {DATABASE: Path(folder, DATABASE)}
        dumps.dump(files[DATABASE])
        if not settings.SECRET_KEY_GIVEN and _secret_path().exists():
            files[SECRET_KEY] = _secret_path()
        manifest = Manifest(
            made_at=timezone.now().isoformat(),
            version=ampsite.__version__,
            vendor=connections["default"].vendor,
            migrations=migrations,
            digests={name: archive.digest(file) for name, file in files.items()},
        )
        draft = Path(folder, "draft")
        archive.write(draft, manifest, files)
        draft.replace(path)
    return manifest


def restore(path: Path, *, overwrite: bool) -> Manifest:
    """Make the database what it was when the backup was made, brought up to this version,
    and leave the index to be built again.

    Raises ``CannotRestore`` while others use the database, when it holds something that
    is not to be overwritten, or when a newer version made the backup; ``NotABackup``,
    ``CannotDump``, ``AlreadyServed`` and ``OSError``.
    """
    near = dumps.sqlite_path().parent if _is_sqlite() else Path(settings.DATA_DIR)
    with _made(near), TemporaryDirectory(prefix=".ampsite-", dir=near) as folder:
        manifest = archive.extract(path, Path(folder))
        dumps.check(Path(folder, DATABASE), manifest.vendor)
        _require_known(manifest)
        _require_free(overwrite=overwrite)
        dumps.load(Path(folder, DATABASE))
        if SECRET_KEY in manifest.digests and not settings.SECRET_KEY_GIVEN:
            shutil.move(Path(folder, SECRET_KEY), _secret_path())
    call_command("migrate", interactive=False, verbosity=0)
    with writing():
        IndexEntry.objects.all().distrust()
        audit.append([_restored(manifest)])
    return manifest


@contextmanager
def _made(folder: Path) -> Iterator[None]:
    """The folder is there, and gone again where it was new and nothing came of it."""
    is_new = not folder.exists()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        if is_new:
            with suppress(OSError):  # something was left in it after all
                folder.rmdir()
        raise


def broken_chains() -> Iterator[str]:
    """The first entry of each audit chain that does not hold, as a sentence."""
    for found in audit.verify():
        if isinstance(found, audit.Break):
            yield f"Entry {found.sequence} of {found.chain} does not hold: {found.why}."


def _restored(manifest: Manifest) -> audit.Event:
    return audit.Event(
        action="site.restored",
        actor=SYSTEM,
        agent=None,
        payload={"made_at": manifest.made_at, "version": manifest.version},
    )


def _require_known(manifest: Manifest) -> None:
    known = MigrationLoader(None).disk_migrations.keys()
    if set(manifest.migrations) - known:
        raise CannotRestore(
            f"The backup was made by Ampsite {manifest.version}, which is newer than this "
            f"one ({ampsite.__version__}): restore it with that version."
        )


def _require_free(*, overwrite: bool) -> None:
    others = dumps.others()
    if others:
        raise CannotRestore(
            "The database is in use: stop the server, and web, worker and beat where they "
            "are processes of their own."
        )
    serve_alone()  # until this process ends, so that no server starts in between
    if not overwrite and not dumps.is_empty():
        raise CannotRestore(
            "The database holds something already. With --overwrite all of it is replaced "
            "by the backup."
        )


def _is_sqlite() -> bool:
    return connections["default"].vendor == "sqlite"


def _secret_path() -> Path:
    return Path(settings.DATA_DIR) / SECRET_KEY
