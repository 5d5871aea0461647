"""The programs that tests need beside Python, and how Debian brings them."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

CLUSTER_SETTINGS = Path("/etc/postgresql-common/createcluster.d")


def chromium() -> str | None:
    """The path of a Chromium or Chrome of this machine."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next(filter(None, map(shutil.which, names)), None)


def postgres() -> str | None:
    """The folder of the newest PostgreSQL server's programs; Debian keeps it off PATH."""
    found = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"),
        key=lambda path: int(path.parts[4]),
    )
    if found:
        return str(found[-1].parent)
    initdb = shutil.which("initdb")
    return str(Path(initdb).resolve().parent) if initdb else None


def redis() -> str | None:
    """The path of Redis's one executable, which acts as the name it is called by.

    Debian's redis-tools has it under another name; redis-server would start a service.
    """
    return shutil.which("redis-server") or shutil.which("redis-check-rdb")


def curl() -> str | None:
    return shutil.which("curl")


# Package -> how to see that it is not needed.
PACKAGES: dict[str, Callable[[], str | None]] = {
    "postgresql": postgres,
    "redis-tools": redis,
    "chromium": chromium,
    "curl": curl,
}


def missing(packages: Iterable[str]) -> list[str]:
    """Those of ``packages`` whose program this machine lacks."""
    return [package for package in packages if PACKAGES[package]() is None]


def can_install() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def command_for(packages: Iterable[str]) -> str:
    """What a person types, as root, to get ``packages``."""
    return f"apt-get update && apt-get install -y {' '.join(packages)}"


def install(packages: list[str]) -> None:
    """Install ``packages`` without a question, starting no service.

    Raises ``CalledProcessError`` after showing what apt-get said.
    """
    print(f"Installing Debian's {', '.join(packages)}.", flush=True)
    with _no_postgres_cluster():
        _apt_get("update")
        _apt_get("install", "--no-install-recommends", *packages)


def _apt_get(*words: str) -> None:
    with tempfile.TemporaryFile("w+") as log:
        done = subprocess.run(
            ["apt-get", "-q", "-y", "-o", "DPkg::Lock::Timeout=300", *words],
            env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            check=False,
        )
        if done.returncode:
            log.seek(0)
            print(log.read(), flush=True)
            done.check_returncode()


@contextmanager
def _no_postgres_cluster() -> Iterator[None]:
    """Keep Debian's package from making and starting a database of its own."""
    setting = CLUSTER_SETTINGS / "ampsite-tests.conf"
    CLUSTER_SETTINGS.mkdir(parents=True, exist_ok=True)
    setting.write_text("create_main_cluster = false\n")
    try:
        yield
    finally:
        setting.unlink()
