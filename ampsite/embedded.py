"""Celery inside the serving process: one worker and beat in threads, watched over.

A worker whose consumer fails ends its thread with one log line and nothing else: the web
would go on and nothing would be indexed. So a watchdog starts again whatever ended.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Event, Thread

from celery.beat import Scheduler, Service
from celery.worker import WorkController, state

from ampsite.celery import app

logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0  # between two looks of the watchdog
READY_SECONDS = 10.0  # for a first start
NOTHING = "celery.accumulate"  # a task of Celery's own that only returns its arguments


class Embedded:
    """The worker and beat of this process. ``restarts`` counts what the watchdog did."""

    def __init__(self) -> None:
        self.restarts = 0
        self._stopping = Event()
        self._ready = Event()
        self._bodies: dict[str, Callable[[], None]] = {
            "worker": self._work,
            "beat": self._tick,
        }
        self._threads: dict[str, Thread] = {}
        self._beat: Service | None = None

    def start(self) -> None:
        """Returns once the worker takes tasks. Raises ``RuntimeError`` when it does not."""
        for name in self._bodies:
            self._start(name)
        if not self._ready.wait(READY_SECONDS):
            raise RuntimeError("The embedded worker did not start.")
        Thread(target=self._watch, name="watchdog", daemon=True).start()

    def stop(self, seconds: float) -> bool:
        """Let the task that runs finish, for ``seconds`` at most; whether it did."""
        self._stopping.set()
        if self._beat is not None:
            self._beat.stop()
        state.should_stop = 0  # type: ignore[assignment]  # the stub knows no exit status
        worker = self._threads["worker"]
        if worker.is_alive():
            # The consumer looks at the flag after a message, or else only every two
            # seconds; ending it takes a second message.
            for _ in range(2):
                app.send_task(NOTHING)
            worker.join(seconds)
        return not worker.is_alive()

    def down(self) -> list[str]:
        """The parts that do not run at this moment."""
        return [name for name, thread in self._threads.items() if not thread.is_alive()]

    def _start(self, name: str) -> None:
        # Daemons: a process that has to go does not wait for a task that takes long.
        thread = Thread(target=self._bodies[name], name=f"embedded-{name}", daemon=True)
        thread.start()
        self._threads[name] = thread

    def _work(self) -> None:
        # Left over from a worker that ended, they would end this one too.
        state.should_stop = state.should_terminate = None
        worker = WorkController(
            app=app,
            pool="threads",
            concurrency=1,
            without_mingle=True,
            without_gossip=True,
            without_heartbeat=True,
            hostname="embedded@ampsite",
            ready_callback=lambda _consumer: self._ready.set(),
        )
        worker.start()

    def _tick(self) -> None:
        # A short interval, or stopping would take as long as the longest pause.
        self._beat = Service(
            app,
            max_interval=1,
            scheduler_cls=Scheduler,  # the default one writes a file
        )
        self._beat.start()

    def _watch(self) -> None:
        while not self._stopping.wait(LOOK_SECONDS):
            for name in self.down():
                logger.error("the embedded %s ended; starting it again", name)
                self.restarts += 1
                self._start(name)


_running: Embedded | None = None


def start_embedded() -> Embedded:
    """Start this process's worker and beat."""
    global _running
    embedded = Embedded()
    embedded.start()
    _running = embedded
    return embedded


def running() -> Embedded | None:
    """This process's worker and beat, or None where others do their work."""
    return _running
