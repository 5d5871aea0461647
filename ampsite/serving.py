"""The web server of one process: a socket, waitress over it, and an orderly end."""

from __future__ import annotations

import errno
import signal
import socket
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any
from wsgiref.util import setup_testing_defaults

from django.conf import settings
from waitress.server import TcpWSGIServer, create_server

from memories.api.waiting import stop_waiting

Application = Callable[..., Any]

BACKLOG = 1024
CONNECTIONS = 1000
# What waitress itself refuses with 413; below it the API answers in its own words.
LARGEST_BODY_BYTES = 16 * 1024 * 1024
PROXY_HEADERS = {"x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"}


class CannotListen(Exception):
    """The address cannot be listened on; the message is one sentence for people."""


class Signals:
    """Ctrl-C and SIGTERM: before the server runs they end the start, then the server.

    Installed rather than inherited: a shell starts background jobs with Ctrl-C ignored.
    """

    def __init__(self) -> None:
        self.asked = False
        self.wake: Callable[[], None] | None = None

    def install(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self.asked = True
        for number in (signal.SIGINT, signal.SIGTERM):
            # The end takes two seconds at most, the interpreter's own part included.
            signal.signal(number, signal.SIG_IGN)
        if self.wake is None:
            sys.exit(0)
        self.wake()


def bind(host: str, port: int) -> socket.socket:
    """A socket that has the address but does not listen yet. Raises ``CannotListen``."""
    if not 0 <= port <= 65_535:  # the look-up would quietly take the rest of a division
        raise CannotListen(f"There is no port {port}; the last one is 65535.")
    try:
        found = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except (OSError, UnicodeError) as error:
        raise CannotListen(f"There is no address {host!r} to listen on.") from error
    family, kind, protocol, _, address = found[0]
    listener = socket.socket(family, kind, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
    except (OSError, OverflowError) as error:
        listener.close()
        raise CannotListen(_why(host, port, error)) from error
    return listener


def _why(host: str, port: int, error: Exception) -> str:
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
        return f"Port {port} of {host} is taken: stop what uses it, or choose another port."
    if isinstance(error, OSError) and error.errno == errno.EACCES:
        return f"Port {port} of {host} is not open to this user: choose one above 1023."
    reason = error.strerror if isinstance(error, OSError) else error
    return f"Nothing can listen on port {port} of {host}: {reason}."


class WebServer:
    """waitress over a bound socket; it listens from ``run`` on."""

    def __init__(self, application: Application, listener: socket.socket) -> None:
        proxy = (
            {"trusted_proxy": "*", "trusted_proxy_headers": PROXY_HEADERS}
            if settings.TRUST_PROXY
            else {}
        )
        self._server: TcpWSGIServer = create_server(
            application,
            _start=False,
            sockets=[listener],
            threads=settings.WEB_THREADS,
            clear_untrusted_proxy_headers=True,
            max_request_body_size=LARGEST_BODY_BYTES,
            connection_limit=CONNECTIONS,
            backlog=BACKLOG,
            asyncore_use_poll=True,
            ident=None,
            **proxy,
        )

    def listen(self) -> None:
        """Requests are accepted, and answered once ``run`` is called."""
        try:
            self._server.accept_connections()
        except OSError as error:
            host, port = self._server.effective_host, self._server.effective_port
            raise CannotListen(_why(host, port, error)) from error

    def run(self, signals: Signals) -> None:
        """Serve until a signal asks to end."""
        signals.wake = self._server.pull_trigger
        while not signals.asked:
            self._turn(1)

    def stop(self, seconds: float) -> bool:
        """Stop accepting, give requests ``seconds`` to finish; whether all did."""
        deadline = time.monotonic() + seconds
        stop_waiting()
        dispatcher = self._server.task_dispatcher
        self._server.del_channel()
        self._server.socket.close()
        dispatcher.set_thread_count(0)
        while dispatcher.threads and time.monotonic() < deadline:
            self._turn(0.05)  # what they answer still goes out
        return not dispatcher.threads

    def _turn(self, seconds: float) -> None:
        self._server.asyncore.loop(
            timeout=seconds, map=self._server._map, use_poll=True, count=1
        )


def warm_up(application: Application, paths: list[str]) -> None:
    """Ask once for each path, so that no first visitor waits for imports and templates."""
    for path in paths:
        environ: dict[str, Any] = {"PATH_INFO": path, "HTTP_HOST": _a_host()}
        environ["REMOTE_ADDR"] = "127.0.0.1"
        setup_testing_defaults(environ)
        answer = application(environ, lambda *_: None)
        try:
            for _ in answer:
                pass
        finally:
            close = getattr(answer, "close", None)
            if close is not None:
                close()


def _a_host() -> str:
    first = settings.ALLOWED_HOSTS[0] if settings.ALLOWED_HOSTS else "localhost"
    return "localhost" if first == "*" else first.removeprefix(".")
