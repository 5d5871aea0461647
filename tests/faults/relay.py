"""A TCP relay that can be cut: a server that is gone, without stopping anybody's server."""

from __future__ import annotations

import socket
from contextlib import suppress
from threading import Lock, Thread
from types import TracebackType


class Relay:
    """Listens on a port of 127.0.0.1 and passes everything on to ``target``."""

    def __init__(self, target: tuple[str, int]) -> None:
        self._target = target
        self._lock = Lock()
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])

    def __enter__(self) -> Relay:
        self._accept()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.cut()

    def cut(self) -> None:
        """Refuse new connections and end those that are open."""
        # Closing alone does not wake the thread that waits for the next connection.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for end in self._open:
                _hang_up(end)
            self._open.clear()

    def mend(self) -> None:
        """Listen on the same port again."""
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self._accept()

    def _accept(self) -> None:
        Thread(target=self._take, args=(self._listener,), daemon=True).start()

    def _take(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return  # cut
            try:
                server = socket.create_connection(self._target, timeout=5)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            with self._lock:
                self._open |= {client, server}
            for source, sink in ((client, server), (server, client)):
                Thread(target=_pass_on, args=(source, sink), daemon=True).start()


def _pass_on(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(65_536):
            sink.sendall(data)
    except OSError:
        pass  # one side is gone, so the other goes too
    _hang_up(source)
    _hang_up(sink)


def _hang_up(end: socket.socket) -> None:
    with suppress(OSError):  # already gone
        end.shutdown(socket.SHUT_RDWR)
    end.close()
