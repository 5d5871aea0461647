from __future__ import annotations

import logging
import os
import sys
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection, connections
from django.db.migrations.executor import MigrationExecutor

from ampsite.checks import beyond_loopback, complaints, is_loopback
from ampsite.embedded import Embedded, start_embedded
from ampsite.first_run import against_others, prepare, told
from ampsite.secret import keep_secret
from ampsite.serving import CannotListen, Signals, WebServer, bind, warm_up
from ampsite.sole import AlreadyServed, serve_alone
from ampsite.wsgi import application
from memories import collections, reindex
from memories.embedding import EmbeddingFailed, get_embedder
from memories.index import IndexInUse, IndexUnavailable, close_index, serving
from memories.management.operator import not_up_to_date, require_database
from memories.models import Collection

logger = logging.getLogger(__name__)

# Together below the two seconds that a stop may take.
REQUESTS_SECONDS = 0.8
TASK_SECONDS = 0.8
WARM_UP = ["/healthz", "/login/", "/api/v1/whoami"]


class Command(BaseCommand):
    help = "Serve pages and API; with no broker configured, also index and expire."
    requires_system_checks = []  # run below, to say each in one line

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument(
            "--first-run",
            action="store_true",
            help="on an empty database make an admin and the demo; print how to log in",
        )

    def handle(self, *, host: str, port: int, first_run: bool, **_: Any) -> None:
        signals = Signals()
        signals.install()
        _require_sound_settings(host)
        try:
            listener = bind(host, port)
        except CannotListen as error:
            raise CommandError(str(error)) from error
        _require_migrated()
        if not settings.SECRET_KEY_GIVEN:
            settings.SECRET_KEY = keep_secret(settings.DATA_DIR, settings.SECRET_KEY)
        if not is_loopback(host):
            _require_closed(host, first_run=first_run)
        base_url = settings.PUBLIC_URL or _address(host, listener.getsockname()[1])
        embedded = _bring_up(base_url, first_run=first_run)
        server = WebServer(application, listener)
        try:
            server.listen()
        except CannotListen as error:
            raise CommandError(str(error)) from error
        self._say(base_url, first_run=first_run)
        connections.close_all()
        server.run(signals)
        _end(server, embedded)

    def _say(self, base_url: str, *, first_run: bool) -> None:
        note = told(base_url) if first_run else ""
        self.stdout.write(note or f"Ampsite is ready: {base_url}/")
        if backlog := collections.backlog():
            self.stdout.write(backlog)
        self.stdout.write("Ctrl-C stops it.")
        self.stdout.flush()


def _require_sound_settings(host: str) -> None:
    sentences = complaints()
    if not is_loopback(host):
        sentences += beyond_loopback(host)
    if sentences:
        raise CommandError("\n".join(sentences))


def _require_migrated() -> None:
    require_database()
    try:
        executor = MigrationExecutor(connection)
        behind = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError as error:
        raise CommandError(f"The database cannot be used: {error}".strip()) from error
    if behind:
        raise CommandError(not_up_to_date())


def _require_closed(host: str, *, first_run: bool) -> None:
    if sentences := against_others(first_run=first_run):
        raise CommandError("\n".join([f"Not served on {host}.", *sentences]))


def _bring_up(base_url: str, *, first_run: bool) -> Embedded | None:
    """Everything that has to be there before the first request is let in."""
    try:
        get_embedder()
    except EmbeddingFailed as error:
        raise CommandError(str(error)) from error
    if settings.EMBEDDED:
        try:
            serve_alone()
        except AlreadyServed as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(
                f"{error.filename} cannot be written: {error.strerror}."
            ) from error
        reindex.release_claims()
    building = collections.settle(at_start=True)
    if settings.EMBEDDED:
        _own_index(building)
    collections.catch_up(serving())
    if first_run:
        prepare(base_url)
    embedded = start_embedded() if settings.EMBEDDED else None
    warm_up(application, WARM_UP)
    connections.close_all()
    return embedded


def _own_index(building: Collection | None) -> None:
    """Open the index and repair it; where another process owns it, this one ends."""
    try:
        reindex.heal()
        if building is not None:
            reindex.heal(building)
    except IndexInUse as error:
        raise CommandError(str(error)) from error
    except IndexUnavailable as error:
        if settings.QDRANT_URL:  # decisions are kept and indexed once it is back
            logger.warning("starting without the index: %s", error)
            return
        raise CommandError(
            f"{error} It is only a copy: move that folder away, and the next start builds "
            "it again."
        ) from error


def _address(host: str, port: int) -> str:
    if host in {"0.0.0.0", "::", ""}:  # noqa: S104  (every address: this machine's will do)
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _end(server: WebServer, embedded: Embedded | None) -> None:
    finished = server.stop(REQUESTS_SECONDS)
    if embedded is not None:
        finished = embedded.stop(TASK_SECONDS) and finished
    if finished:
        close_index()
        connections.close_all()
        return
    # A slow request, or a long batch that is being embedded. Nothing of it is lost, and
    # waiting for it is what Ctrl-C was pressed against.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
