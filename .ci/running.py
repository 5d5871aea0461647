"""Commands that run side by side and are stopped together."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from threading import Lock
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

# To tidy up: a browser to close, servers of a test to stop.
STOP_SECONDS = 30


class Stopped(Exception):
    """The command was cut off, or never began, because everything is to end."""


class Running:
    """Commands begun from several threads. Each has a session of its own: Ctrl-C reaches
    this program alone, which hands it on, and whatever a command leaves behind ends too."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._commands: set[subprocess.Popen[bytes]] = set()
        self.is_stopping = False

    def succeeds(
        self, words: list[str], surroundings: Mapping[str, str], output: IO[str] | None
    ) -> bool:
        """Run a command to its end, everything it prints going to ``output`` or, if that
        is None, to where this program prints. Raises ``Stopped``."""
        with self._lock:
            if self.is_stopping:
                raise Stopped
            command = subprocess.Popen(
                words,
                env=surroundings,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT if output else None,
                start_new_session=True,
            )
            self._commands.add(command)
        # Not yet reaped, its number is nobody else's, and neither is that of its group.
        os.waitid(os.P_PID, command.pid, os.WEXITED | os.WNOWAIT)
        with self._lock:
            self._commands.discard(command)
        with suppress(ProcessLookupError):
            os.killpg(command.pid, signal.SIGKILL)
        status = command.wait()
        if self.is_stopping:
            raise Stopped
        return status == 0

    def stop(self) -> None:
        """Interrupt every command, wait until they have ended, kill those that have not,
        at once where Ctrl-C comes again."""
        with self._lock:
            self.is_stopping = True
            for command in self._commands:
                os.kill(command.pid, signal.SIGINT)
        deadline = time.monotonic() + STOP_SECONDS
        try:
            while self._commands and time.monotonic() < deadline:
                time.sleep(0.05)
        finally:
            with self._lock:
                for command in self._commands:
                    os.killpg(command.pid, signal.SIGKILL)
