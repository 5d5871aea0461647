"""What the operator's commands share."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError


class OperatorCommand(BaseCommand):
    """A command whose failures are a sentence and an exit status, not a traceback."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            return super().execute(*args, **options)
        except DatabaseError as error:
            raise CommandError(_sentence(error)) from error
        except UnicodeError as error:
            raise CommandError("An argument or the input is not UTF-8.") from error


def _sentence(error: DatabaseError) -> str:
    said = str(error).strip().partition("\n")[0]
    if "no such table" in said or ("relation" in said and "does not exist" in said):
        return "The database is not up to date: run manage.py migrate first."
    return f"The database cannot be used: {said}"
