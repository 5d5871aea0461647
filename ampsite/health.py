"""What a machine asks about this process: does it live, can it work, what are its numbers.

No session, no key; an answer names a part, never what went wrong in it.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from functools import cache
from hmac import compare_digest
from threading import Condition, Thread

from django.conf import settings
from django.db import connection, connections
from django.db.migrations.executor import MigrationExecutor
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from ampsite import __version__, embedded
from ampsite.metrics import CONTENT_TYPE, exposition
from memories.embedding import get_embedder
from memories.index import get_index

logger = logging.getLogger(__name__)

PROBE_SECONDS = 2.0  # for all parts together; an answer later than that is no answer
REMOTE_PROBE_SECONDS = (
    60.0  # for which an embedder elsewhere, which may be paid, is believed
)

_embedder_answered_at = -math.inf


def _ask_database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


@cache  # of a success alone: what was applied stays applied while this process lives
def _ask_migrations() -> None:
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise RuntimeError("there are migrations to apply")


def _ask_index() -> None:
    get_index().count()


def _ask_embedder() -> None:
    global _embedder_answered_at
    embedder = get_embedder()
    is_remote = embedder.name == "openai"
    if is_remote and time.monotonic() < _embedder_answered_at + REMOTE_PROBE_SECONDS:
        return
    embedder.embed_passages(["Is anybody there?"])  # a query may be remembered
    _embedder_answered_at = time.monotonic()


PARTS: dict[str, Callable[[], None]] = {
    "database": _ask_database,
    "migrations": _ask_migrations,
    "index": _ask_index,
    "embedder": _ask_embedder,
}


class Probe:
    """Asks one part in a thread of its own, so that a part that hangs holds nobody.

    Never twice at a time: who comes while it is being asked waits for the same answer.
    """

    def __init__(self, part: str) -> None:
        self.part = part
        self._changed = Condition()
        self._asking = False
        self._healthy: bool | None = None

    def ask(self) -> None:
        with self._changed:
            if not self._asking:
                self._asking = True
                Thread(target=self._run, name=f"probe-{self.part}", daemon=True).start()

    def answer(self, deadline: float) -> bool:
        """Whether the part answered well before ``deadline`` (monotonic seconds)."""
        with self._changed:
            in_time = self._changed.wait_for(
                lambda: not self._asking, max(0.0, deadline - time.monotonic())
            )
            return in_time and self._healthy is True

    def _run(self) -> None:
        healthy = False
        try:
            PARTS[self.part]()
            healthy = True
        except Exception:
            if self._healthy is not False:  # said once, not at every look
                logger.exception("the %s is not usable", self.part)
        finally:
            connections.close_all()
            with self._changed:
                self._healthy, self._asking = healthy, False
                self._changed.notify_all()


_probes = {part: Probe(part) for part in PARTS}


@require_safe
@never_cache
def healthz(_request: HttpRequest) -> HttpResponse:
    """200 as long as the process answers at all."""
    return JsonResponse({"status": "ok", "version": __version__})


@require_safe
@never_cache
def readyz(_request: HttpRequest) -> HttpResponse:
    """200 when every part is usable, else 503; ``parts`` says of each ``ok`` or ``down``."""
    deadline = time.monotonic() + PROBE_SECONDS
    for probe in _probes.values():
        probe.ask()
    parts = {part: probe.answer(deadline) for part, probe in _probes.items()}
    if settings.EMBEDDED:
        running = embedded.running()
        down = ["worker", "beat"] if running is None else running.down()
        parts |= {part: part not in down for part in ("worker", "beat")}
    ready = all(parts.values())
    answer = {
        "status": "ready" if ready else "unready",
        "parts": {part: "ok" if well else "down" for part, well in parts.items()},
    }
    return JsonResponse(answer, status=200 if ready else 503)


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """Numbers for Prometheus, for who sends METRICS_TOKEN as a bearer token."""
    given = request.headers.get("Authorization", "").encode()
    wanted = f"Bearer {settings.METRICS_TOKEN}".encode()
    if not settings.METRICS_TOKEN or not compare_digest(given, wanted):
        raise Http404
    return HttpResponse(exposition(), content_type=CONTENT_TYPE)


urlpatterns = [
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
]
