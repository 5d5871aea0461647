"""The Celery application; its tasks live in each app's ``tasks.py``."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

from celery import Celery
from celery.signals import beat_init, celeryd_init

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ampsite.settings")

app = Celery("ampsite")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["memories", "approvals"])


@celeryd_init.connect  # by the command `celery worker` alone
def _worker_begins(**_: Any) -> None:
    _require_sound_settings()


@beat_init.connect  # by any beat, that inside the serving process included
def _beat_begins(**_: Any) -> None:
    if threading.current_thread() is threading.main_thread():
        _require_sound_settings()


def _require_sound_settings() -> None:
    """A process of its own begins: end it with a sentence where the settings forbid it."""
    from django.conf import settings

    from ampsite.checks import complaints

    found = complaints()
    if settings.EMBEDDED:
        found.append(
            "CELERY_BROKER_URL is not set: worker and beat run inside manage.py serve, and "
            "nothing reaches these."
        )
    if found:
        sys.exit("\n".join(found))
