from __future__ import annotations

from django.apps import AppConfig


class AmpsiteConfig(AppConfig):
    name = "ampsite"

    def ready(self) -> None:
        from ampsite import checks  # noqa: F401  (registers the system checks)
