"""The whole database into a file and back, for SQLite and for PostgreSQL."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from shutil import which

from django.db import connection, connections
from django.db.backends.postgresql.client import DatabaseClient
from django.db.migrations.recorder import MigrationRecorder


class CannotDump(Exception):
    """The database cannot be copied or filled; the message is for people."""


def applied_migrations() -> tuple[tuple[str, str], ...]:
    return tuple(sorted(MigrationRecorder(connection).applied_migrations()))


def dump(target: Path) -> None:
    """A copy as of one moment, while others go on writing. Raises ``CannotDump``."""
    if connection.vendor == "postgresql":
        _run(["pg_dump", "--format=custom", "--no-owner", "--no-privileges"], target)
    else:
        _copy_sqlite(target)


def check(dumped: Path, vendor: str) -> None:
    """Raises ``CannotDump`` where the dump cannot be loaded into this database."""
    if vendor != connection.vendor:
        raise CannotDump(
            f"The backup is of {vendor}, and DATABASE_URL names a database of "
            f"{connection.vendor}."
        )
    if vendor == "postgresql":
        _require("pg_restore")
        _call(["pg_restore", "--list", str(dumped)])
    else:
        _require_whole(dumped)


def is_empty() -> bool:
    if connection.vendor == "postgresql":
        return not connection.introspection.table_names()
    path = sqlite_path()
    if not path.exists() or path.stat().st_size == 0:
        return True
    try:
        with closing(sqlite3.connect(path)) as database:
            return not database.execute("SELECT name FROM sqlite_master").fetchall()
    except sqlite3.DatabaseError:
        return False  # it is something, if no database


def others() -> int:
    """How many other connections use the database (of SQLite: 1 for any number)."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
                "AND pid <> pg_backend_pid() "
                "AND coalesce(backend_type, 'client backend') = 'client backend'"
            )
            return int(cursor.fetchone()[0])
    path = sqlite_path()
    if is_empty():
        return 0
    try:
        with closing(sqlite3.connect(path, timeout=1)) as database:
            # Leaving WAL needs the file for oneself; entering it again needs no help.
            database.execute("PRAGMA journal_mode=DELETE")
    except sqlite3.OperationalError as error:
        return int("locked" in str(error))
    except sqlite3.DatabaseError:
        return 0  # no database that anybody could use
    return 0


def load(dumped: Path) -> None:
    """Put the dump in the place of whatever is there; ``dumped`` may be gone afterwards.
    Raises ``CannotDump``; then a PostgreSQL database is left empty."""
    if connection.vendor == "postgresql":
        _drop_tables()
        connections.close_all()
        options = ["--no-owner", "--no-privileges", "--single-transaction"]
        _run(["pg_restore", "--exit-on-error", *options], dumped)
        return
    connections.close_all()
    path = sqlite_path()
    for ending in (
        "-wal",
        "-shm",
    ):  # of the old file: they would be taken for the new one's
        path.with_name(path.name + ending).unlink(missing_ok=True)
    dumped.replace(path)


def sqlite_path() -> Path:
    return Path(connection.settings_dict["NAME"])


def _copy_sqlite(target: Path) -> None:
    connection.ensure_connection()
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    with closing(sqlite3.connect(target)) as copy:
        # In one step: page by page, every write in between would start it over.
        connection.connection.backup(copy)
        copy.execute("PRAGMA journal_mode=DELETE")  # one file, and nothing beside it
    _require_whole(target)


def _require_whole(path: Path) -> None:
    try:
        with closing(sqlite3.connect(path)) as database:
            found = database.execute("PRAGMA integrity_check").fetchall()
            ours = database.execute(
                "SELECT 1 FROM sqlite_master WHERE name = 'memories_auditentry'"
            ).fetchall()
    except sqlite3.DatabaseError as error:
        raise CannotDump(f"The database is damaged: {error}.") from error
    if found != [("ok",)]:
        raise CannotDump(f"The database is damaged: {found[0][0]}.")
    if not ours:
        raise CannotDump("It holds no database of Ampsite.")


def _drop_tables() -> None:
    tables = connection.introspection.table_names()
    if tables:
        names = ", ".join(connection.ops.quote_name(name) for name in tables)
        with connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE {names} CASCADE")


def _run(program: Sequence[str], file: Path) -> None:
    """A program of PostgreSQL's, on this database and this file."""
    _require(program[0])
    words, more = DatabaseClient.settings_to_cmd_args_env(connection.settings_dict, [])
    where = words[1:]  # after psql's name: -U, -h, -p and the database
    if program[0] == "pg_restore":
        _call([*program, *where[:-1], "--dbname", where[-1], str(file)], more)
    else:
        _call([*program, "--file", str(file), *where], more)


def _require(program: str) -> None:
    if which(program) is None:
        name = connection.settings_dict["NAME"]
        raise CannotDump(
            f"{program} is not on this machine. Install PostgreSQL's client programs "
            "(Debian: postgresql-client) in the server's version, or use them where they "
            f"are: pg_dump --format=custom --no-owner --file=FILE {name} writes the "
            f"database, pg_restore --no-owner --dbname={name} FILE reads it back."
        )


def _call(words: Sequence[str], more: dict[str, str] | None = None) -> None:
    done = subprocess.run(
        words,
        env=os.environ | (more or {}),
        stdin=subprocess.DEVNULL,  # so that none of them asks for a password
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        raise CannotDump(said[0] if said else f"{words[0]} ended with {done.returncode}.")
