from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.commands import migrate
from django.db import connection

from ampsite.secret import keep_secret, make_data_dir


class Command(migrate.Command):
    """Django's own, which also makes what is kept beside the database."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        # Before the system checks, which connect already.
        if not settings.SECRET_KEY_GIVEN:
            keep_secret(settings.DATA_DIR, settings.SECRET_KEY)
        elif connection.vendor == "sqlite":
            make_data_dir(settings.DATA_DIR)
        return super().execute(*args, **options)
