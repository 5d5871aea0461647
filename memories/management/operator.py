"""What the operator's commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection


class OperatorCommand(BaseCommand):
    """A command whose failures are a sentence and an exit status, not a traceback."""

    needs_database = True

    def execute(self, *args: Any, **options: Any) -> str | None:
        if self.needs_database:
            require_database()
        try:
            return super().execute(*args, **options)
        except DatabaseError as error:
            raise CommandError(_sentence(error)) from error
        except UnicodeError as error:
            raise CommandError("An argument or the input is not UTF-8.") from error


def require_database() -> None:
    """Raises ``CommandError`` where SQLite would only now make an empty file."""
    is_file = connection.vendor == "sqlite" and not _name().startswith(
        ("file:", ":memory:")
    )
    if is_file and not Path(_name()).exists():
        raise CommandError(
            f"There is no database {_name()}: run manage.py migrate first, or set "
            "AMPSITE_DATA_DIR as it is set for the server."
        )


def not_up_to_date() -> str:
    """What to say of the database that was looked at, and which it was."""
    where = _name()
    if connection.vendor != "sqlite":
        where += f" on {connection.settings_dict['HOST'] or 'this machine'}"
    return f"The database is not up to date ({where}): run manage.py migrate first."


def _name() -> str:
    return str(connection.settings_dict["NAME"])


def _sentence(error: DatabaseError) -> str:
    said = str(error).strip().partition("\n")[0]
    if "no such table" in said or ("relation" in said and "does not exist" in said):
        return not_up_to_date()
    return f"The database cannot be used: {said}"
