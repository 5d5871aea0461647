"""Measure how fast writes and decisions are taken in, over HTTP, on a server of its own.

``python -m bench.intake [COUNT]``: remember, short-term and held, with one writer and with
eight; approvals in the page, and how long until what was approved is recalled. Compare the
rows of one run; between runs a busy machine differs more than code does.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from bench import running

WRITERS = 8
RECALL_SECONDS = 10


@dataclass(frozen=True)
class Bench:
    port: int
    key: str
    count: int

    def writes(self, memory_type: str, writers: int) -> None:
        """Time ``count`` remembers of a type, split over the writers."""

        def write(writer: int) -> list[float]:
            client, taken = running.Client(self.port), []
            for number in range(self.count // writers):
                content = (
                    f"{memory_type} fact {writer}-{number} of {writers}: the valve is shut"
                )
                began = time.perf_counter()
                status, answer = client.amp(
                    self.key, op="remember", memory_type=memory_type, content=content
                )
                taken.append(time.perf_counter() - began)
                expected = 202 if memory_type == "semantic" else 200
                if status != expected:
                    raise RuntimeError(f"A remember answered {status}: {answer}")
            return taken

        began = time.perf_counter()
        with ThreadPoolExecutor(writers) as pool:
            taken = [t for part in pool.map(write, range(writers)) for t in part]
        rate = len(taken) / (time.perf_counter() - began)
        name = f"remember {memory_type}, {writers} at once"
        print(f"{name:36}{rate:7.0f}/s  {running.summary(taken)}", flush=True)

    def approvals(self) -> None:
        """Approve one by one in the page; time the answer and the way into recall."""
        reviewer, agent = running.Client(self.port), running.Client(self.port)
        reviewer.log_in("rosa")
        answers: list[float] = []
        recalled: list[float] = []
        for number in range(self.count // 4):
            content = f"Token qz{number}x opens gate number {number}."
            _, held = agent.amp(
                self.key, op="remember", memory_type="semantic", content=content
            )
            page = f"/proposals/{held['proposal']['id']}/"
            seen = running.seen_on(reviewer.get(page)[1])
            began = time.perf_counter()
            status, _ = reviewer.form(f"{page}approve/", seen=seen)
            answers.append(time.perf_counter() - began)
            if status != 302:
                raise RuntimeError(f"An approval answered {status}.")
            self._until_recalled(agent, f"qz{number}x", held["ids"][0])
            recalled.append(time.perf_counter() - began - answers[-1])
        print(f"{'approve in the page':36}{'':9}  {running.summary(answers)}")
        print(f"{'approved until recalled':36}{'':9}  {running.summary(recalled)}")

    def _until_recalled(self, agent: running.Client, query: str, memory_id: str) -> None:
        deadline = time.monotonic() + RECALL_SECONDS
        while time.monotonic() < deadline:
            _, answer = agent.amp(
                self.key, op="recall", memory_type="semantic", query=query
            )
            if any(hit["id"] == memory_id for hit in answer.get("hits", [])):
                return
        raise RuntimeError(f"{query} is not recalled after {RECALL_SECONDS} s.")


def bench(data: Path, count: int) -> None:
    key = running.new_key(data, "bench")
    running.manage(
        data, "create_reviewer", "rosa", "--password", "-", stdin=running.PASSWORD
    )
    with running.serving(data) as port:
        runs = Bench(port, key, count)
        steps: list[Callable[[], None]] = [
            runs.approvals,
            lambda: runs.writes("semantic", 1),
            lambda: runs.writes("semantic", WRITERS),
            lambda: runs.writes("episodic", 1),
            lambda: runs.writes("episodic", WRITERS),
        ]
        for step in steps:
            step()


if __name__ == "__main__":
    with running.folder() as data:
        bench(data, int(sys.argv[1]) if len(sys.argv) > 1 else 400)
