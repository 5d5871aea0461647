"""Run the checks and tests of the lanes named, or of all; exit 1 unless all are well.

Lanes run side by side, each with a folder, a database and a service of its own.

Brings what a lane needs from Debian's packages where it may. Where it may not, that lane is
named as not run, which is a failure only under CI=true.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import IO, TYPE_CHECKING

import debian
import services
from running import Running, Stopped

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent  # not resolved: the virtualenv's, not the system's
IN_CI = os.environ.get("CI", "").lower() in {"1", "true"}
JOBS = int(os.environ.get("JOBS") or len(os.sched_getaffinity(0)))
STILL_SECONDS = 60  # between two signs of life
STOPPED = "STOPPED"

_saying = Lock()

PYTEST = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
MANAGE = [sys.executable, "manage.py"]
ELSEWHERE = "not browser and not redis"
# Half of the time of the tests on SQLite goes into starting the product over and over. What
# is not listed here runs in the other lane.
STARTING = [
    "tests/faults",
    *(f"tests/test_{name}.py" for name in ("backup", "first_run", "demo", "operator")),
]

Environment = dict[str, str]
Commands = list[list[str]]


@dataclass(frozen=True)
class Lane:
    """Commands that need the same surroundings; all run, whatever the first says."""

    about: str
    commands: Callable[[], Commands]
    packages: tuple[str, ...] = ()
    service: tuple[str, Callable[[], AbstractContextManager[str]]] | None = None


@dataclass(frozen=True)
class Result:
    lane: str
    verdict: str
    seconds: float
    failed: bool


def checks() -> Commands:
    templates = sorted(map(str, Path("templates").rglob("*.html")))
    return [
        [f"{BIN}/ruff", "format", "--check", "."],
        [f"{BIN}/ruff", "check", "."],
        [f"{BIN}/djade", "--check", "--target-version", "5.2", *templates],
        [f"{BIN}/mypy"],
        [f"{BIN}/mypy", ".ci"],
        [f"{BIN}/lint-imports", "--no-logo"],
        [*MANAGE, "makemigrations", "--check", "--dry-run"],
        [*MANAGE, "check", "--fail-level", "WARNING"],
    ]


# The quick one first, then the longest, so that none is left over at the end.
LANES = {
    "check": Lane("format, lint, types, import contracts, migrations", checks),
    "sqlite": Lane(
        "tests on SQLite",
        lambda: [
            [
                *PYTEST,
                "-m",
                f"{ELSEWHERE} and not postgres",
                *(f"--ignore={path}" for path in STARTING),
            ]
        ],
    ),
    "serving": Lane(
        "tests on SQLite that start servers and commands",
        lambda: [[*PYTEST, "-m", f"{ELSEWHERE} and not postgres", *STARTING]],
    ),
    "postgres": Lane(
        "tests of the database on PostgreSQL, races included",
        lambda: [[*PYTEST, "-m", ELSEWHERE]],
        ("postgresql",),
        ("DATABASE_URL", services.postgres),
    ),
    "browser": Lane(
        "tests in Chromium",
        lambda: [[*PYTEST, "-m", "browser"]],
        ("chromium",),
    ),
    "redis": Lane(
        "Celery over Redis",
        lambda: [[*PYTEST, "-m", "redis"]],
        ("redis-tools",),
        ("CELERY_BROKER_URL", services.redis),
    ),
}


def main(names: list[str]) -> int:
    """Run the lanes ``names`` (all when empty) and print how each went."""
    if unknown := sorted(set(names) - LANES.keys()):
        print(f"No lane {', '.join(unknown)}; there are: {', '.join(LANES)}.")
        return 2
    # A lane's services are stopped by leaving their block, so ending must unwind. And a
    # shell starts background jobs with Ctrl-C ignored, which every command would inherit.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    signal.signal(signal.SIGINT, lambda *_: sys.exit(128 + signal.SIGINT))
    os.chdir(ROOT)
    chosen = {name: lane for name, lane in LANES.items() if name in names or not names}
    bring(sorted({package for lane in chosen.values() for package in lane.packages}))
    started = time.monotonic()
    results = run_all(chosen)
    print(f"\n=== summary, after {time.monotonic() - started:.0f} s ===")
    for result in sorted(results, key=lambda result: list(LANES).index(result.lane)):
        print(f"{result.lane:<10}{result.seconds:>5.0f} s  {result.verdict}")
    return int(any(result.failed for result in results))


def bring(packages: list[str]) -> None:
    """Install what is missing where that is allowed; a failure shows in the lanes."""
    wanted = debian.missing(packages)
    if wanted and debian.can_install():
        try:
            debian.install(wanted)
        except subprocess.CalledProcessError as error:
            print(f"{error}", flush=True)


def run_all(chosen: dict[str, Lane]) -> list[Result]:
    """As many lanes at a time as there are processors. One that fails stops the others,
    but not in CI, where one run has to say everything."""
    side_by_side = min(len(chosen), JOBS)
    running = Running()
    results: list[Result] = []
    with ThreadPoolExecutor(side_by_side) as pool:
        waiting = {
            pool.submit(run, name, lane, running, is_alone=side_by_side == 1): name
            for name, lane in chosen.items()
        }
        try:
            while waiting:
                done, _ = wait(waiting, STILL_SECONDS, return_when=FIRST_COMPLETED)
                if not done and side_by_side > 1:
                    still = [name for lane, name in waiting.items() if lane.running()]
                    say(f"... {', '.join(still)}")
                for lane in done:
                    waiting.pop(lane)
                    results.append(lane.result())
                    if results[-1].failed and not IN_CI:
                        running.stop()
        except BaseException:  # Ctrl-C above all; leaving the block waits for the lanes
            running.stop()
            raise
    return results


def run(name: str, lane: Lane, running: Running, *, is_alone: bool) -> Result:
    """Run a lane. Beside others it prints nothing until it has ended, and what its
    commands printed only if it failed."""
    if running.is_stopping:
        return Result(name, STOPPED, 0, failed=True)
    say(f"=== {name}: {lane.about}")
    started = time.monotonic()
    if absent := debian.missing(lane.packages):
        verdict = f"NOT RUN: as root, {debian.command_for(absent)}"
        say(f"!!! {name} {verdict}")
        return Result(name, verdict, 0, failed=IN_CI)
    with tempfile.TemporaryFile("w+", errors="replace") as log:
        try:
            failed = in_surroundings(lane, running, None if is_alone else log)
            verdict = f"FAILED: {', '.join(failed)}" if failed else "ok"
        except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
            verdict = f"FAILED: its service: {error}"
        except Stopped:
            verdict = STOPPED
        log.seek(0)
        text = log.read()
    seconds = time.monotonic() - started
    last = text.strip().rpartition("\n")[2]
    told = f"{text}\n" if verdict.startswith("FAILED") else f"{last}\n" if last else ""
    say(f"{told}--- {name}: {verdict} ({seconds:.0f} s)")
    return Result(name, verdict, seconds, failed=verdict != "ok")


def say(text: str) -> None:
    """Print at once and in one piece, whatever other lanes have to say."""
    with _saying:
        print(f"\n{text}", flush=True)


def in_surroundings(lane: Lane, running: Running, log: IO[str] | None) -> list[str]:
    """Run the lane's commands with its service; the commands that failed, shortened."""
    with ExitStack() as stack:
        data = stack.enter_context(tempfile.TemporaryDirectory(prefix="ampsite-"))
        surroundings = environment(data)
        if lane.service:
            variable, service = lane.service
            surroundings[variable] = stack.enter_context(service())
        failed = []
        for words in lane.commands():
            print(f"$ {short(words)}", file=log, flush=True)
            if not running.succeeds(words, surroundings, log):
                failed.append(short(words))
        return failed


def environment(data: str) -> Environment:
    """This process's, but nothing of a developer's own installation is touched."""
    return os.environ | {
        "AMPSITE_DATA_DIR": data,
        "DATABASE_URL": f"sqlite:///{data}/ampsite.sqlite3",
        "CELERY_BROKER_URL": "",
        "QDRANT_URL": "",
        "PUBLIC_URL": "",
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
    }


def short(words: list[str]) -> str:
    """A command as a person would write it: no folders, no long list of files."""
    program = "python" if words[0] == sys.executable else Path(words[0]).name
    files = [word for word in words if word.endswith(".html")]
    rest = [word for word in words[1:] if word not in files]
    return " ".join([program, *rest, *([f"({len(files)} templates)"] if files else [])])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
