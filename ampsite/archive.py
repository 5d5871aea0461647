"""The file of a backup: what is in it, in which shape, and whether it is whole."""

from __future__ import annotations

import io
import json
import os
import tarfile
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from hashlib import file_digest
from pathlib import Path
from typing import IO, Any

FORMAT = 1
MANIFEST = "manifest.json"
# SQLite's own file, or what pg_dump writes in its custom format.
DATABASE = "database"
# Only where the site keeps its key itself.
SECRET_KEY = "secret-key"  # noqa: S105  (a file's name)
MEMBERS = {DATABASE, SECRET_KEY}
PIECE = 1024 * 1024  # bytes
_NOT_WHOLE = (
    tarfile.TarError,
    zlib.error,
    EOFError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    RecursionError,
)


class NotABackup(Exception):
    """The file is no backup, or not whole; the message is one sentence for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """``made_at`` is RFC 3339, ``vendor`` Django's name of the database, ``migrations``
    pairs of app and name, ``digests`` the SHA-256 of each file, in hexadecimal."""

    made_at: str
    version: str
    vendor: str
    migrations: tuple[tuple[str, str], ...]
    digests: Mapping[str, str]


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def write(path: Path, manifest: Manifest, files: Mapping[str, Path]) -> None:
    """A new file that nobody else can read, on the disk when this returns."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as output:
        with tarfile.open(fileobj=output, mode="w:gz", compresslevel=6) as tar:
            text = json.dumps({"format": FORMAT, **asdict(manifest)}, indent=2).encode()
            _add(tar, MANIFEST, io.BytesIO(text), len(text))
            for name, source in files.items():
                with source.open("rb") as file:
                    _add(tar, name, file, source.stat().st_size)
        output.flush()
        os.fsync(output.fileno())


def extract(path: Path, folder: Path) -> Manifest:
    """Write the files into ``folder`` under their names. Raises ``NotABackup`` where one is
    missing or differs from what was put in; ``OSError`` where it cannot be read."""
    try:
        with tarfile.open(path, "r:gz") as tar:
            manifest = _manifest(tar)
            for name in manifest.digests:
                _extract(tar, name, folder / name)
    except _NOT_WHOLE as error:
        raise NotABackup(f"{path} is no backup of Ampsite, or not whole.") from error
    except OSError as error:
        if error.errno is None:  # what gzip makes of bytes that are not its own
            raise NotABackup(f"{path} is no backup of Ampsite, or not whole.") from error
        raise
    for name, expected in manifest.digests.items():
        if digest(folder / name) != expected:
            raise NotABackup(f"{path} is damaged: its {name} is not what was put in.")
    return manifest


def _manifest(tar: tarfile.TarFile) -> Manifest:
    told: dict[str, Any] = json.loads(_open(tar, MANIFEST).read(PIECE))
    number = told.pop("format")
    if number != FORMAT:
        raise NotABackup(
            f"The backup has the format {number}; this version of Ampsite reads {FORMAT}."
        )
    told["migrations"] = tuple((app, name) for app, name in told["migrations"])
    manifest = Manifest(**told)
    if DATABASE not in manifest.digests or set(manifest.digests) - MEMBERS:
        raise ValueError("other files than a backup has")
    datetime.fromisoformat(manifest.made_at)  # raises ValueError where it is none
    return manifest


def _add(tar: tarfile.TarFile, name: str, file: IO[bytes], size: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = size, 0o600
    tar.addfile(entry, file)


def _extract(tar: tarfile.TarFile, name: str, target: Path) -> None:
    source = _open(tar, name)
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as output:
        while piece := source.read(PIECE):
            output.write(piece)


def _open(tar: tarfile.TarFile, name: str) -> IO[bytes]:
    found = tar.extractfile(name)
    if found is None:
        raise ValueError(f"{name} is no file")
    return found
