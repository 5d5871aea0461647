"""Run the checks and tests of the lanes named, or of all; exit 1 unless all are well.

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
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import debian
import services

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent  # not resolved: the virtualenv's, not the system's
IN_CI = os.environ.get("CI", "").lower() in {"1", "true"}

PYTEST = [sys.executable, "-m", "pytest"]
MANAGE = [sys.executable, "manage.py"]
ELSEWHERE = "not browser and not redis"

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


LANES = {
    "check": Lane("format, lint, types, import contracts, migrations", checks),
    "sqlite": Lane(
        "tests on SQLite",
        lambda: [[*PYTEST, "-m", f"{ELSEWHERE} and not postgres"]],
    ),
    "postgres": Lane(
        "tests of the database on PostgreSQL, races included",
        lambda: [[*PYTEST, "-m", ELSEWHERE]],
        ("postgresql",),
        ("DATABASE_URL", services.postgres),
    ),
    "redis": Lane(
        "Celery over Redis",
        lambda: [[*PYTEST, "-m", "redis"]],
        ("redis-tools",),
        ("CELERY_BROKER_URL", services.redis),
    ),
    "browser": Lane(
        "tests in Chromium",
        lambda: [[*PYTEST, "-m", "browser"]],
        ("chromium",),
    ),
}


def main(names: list[str]) -> int:
    """Run the lanes ``names`` (all when empty) and print how each went."""
    if unknown := sorted(set(names) - LANES.keys()):
        print(f"No lane {', '.join(unknown)}; there are: {', '.join(LANES)}.")
        return 2
    # A lane's services are stopped by leaving their block, so ending must unwind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    os.chdir(ROOT)
    chosen = {name: lane for name, lane in LANES.items() if name in names or not names}
    bring(sorted({package for lane in chosen.values() for package in lane.packages}))
    results = [run(name, lane) for name, lane in chosen.items()]
    return summary(results)


def bring(packages: list[str]) -> None:
    """Install what is missing where that is allowed; a failure shows in the lanes."""
    wanted = debian.missing(packages)
    if wanted and debian.can_install():
        try:
            debian.install(wanted)
        except subprocess.CalledProcessError as error:
            print(f"{error}", flush=True)


def run(name: str, lane: Lane) -> Result:
    print(f"\n=== {name}: {lane.about} ===", flush=True)
    started = time.monotonic()
    if absent := debian.missing(lane.packages):
        verdict = f"NOT RUN: as root, {debian.command_for(absent)}"
        print(f"!!! {name} {verdict}", flush=True)
        return Result(name, verdict, 0, failed=IN_CI)
    try:
        failed = in_surroundings(lane)
    except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
        print(f"!!! {name}: {error}", flush=True)
        failed = ["its service"]
    seconds = time.monotonic() - started
    verdict = f"FAILED: {', '.join(failed)}" if failed else "ok"
    print(f"--- {name}: {verdict} ({seconds:.0f} s)", flush=True)
    return Result(name, verdict, seconds, failed=bool(failed))


def in_surroundings(lane: Lane) -> list[str]:
    """Run the lane's commands with its service; the commands that failed, shortened."""
    with ExitStack() as stack:
        data = stack.enter_context(tempfile.TemporaryDirectory(prefix="ampsite-"))
        surroundings = environment(data)
        if lane.service:
            variable, service = lane.service
            surroundings[variable] = stack.enter_context(service())
        return [
            short(words) for words in lane.commands() if not succeeds(words, surroundings)
        ]


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


def succeeds(words: list[str], surroundings: Environment) -> bool:
    print(f"$ {short(words)}", flush=True)
    return subprocess.run(words, env=surroundings, check=False).returncode == 0


def short(words: list[str]) -> str:
    """A command as a person would write it: no folders, no long list of files."""
    program = "python" if words[0] == sys.executable else Path(words[0]).name
    files = [word for word in words if word.endswith(".html")]
    rest = [word for word in words[1:] if word not in files]
    return " ".join([program, *rest, *([f"({len(files)} templates)"] if files else [])])


def summary(results: list[Result]) -> int:
    print("\n=== summary ===")
    for result in results:
        print(f"{result.lane:<10}{result.seconds:>5.0f} s  {result.verdict}")
    return int(any(result.failed for result in results))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
