"""Throw-away servers on loopback, gone when the ``with`` block ends."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, TypedDict

import debian

if TYPE_CHECKING:
    from collections.abc import Iterator

START_SECONDS = 60
STOP_SECONDS = 20

_given: set[int] = set()
_giving = Lock()


class _Account(TypedDict, total=False):
    user: int
    group: int
    extra_groups: list[int]


def free_port() -> int:
    """A TCP port of 127.0.0.1 that nothing listens on now and that was not given before."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        with _giving:
            if port not in _given:
                _given.add(port)
                return port


@contextmanager
def postgres() -> Iterator[str]:
    """The ``DATABASE_URL`` of a new, empty PostgreSQL that forgets everything."""
    programs = debian.postgres()
    assert programs, "PostgreSQL is not installed"
    account, password, port = _unprivileged(), secrets.token_urlsafe(), free_port()
    with _folder(account) as folder:
        secret = folder / "password"
        secret.write_text(password)
        _give(secret, account)
        subprocess.run(
            [
                f"{programs}/initdb",
                f"--pgdata={folder}/data",
                "--username=ampsite",
                "--encoding=UTF8",
                "--locale=C.UTF-8",
                "--auth=scram-sha-256",
                f"--pwfile={secret}",
                "--no-sync",
            ],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            check=True,
            **account,
        )
        server = [f"{programs}/postgres", "-D", f"{folder}/data", "-p", f"{port}"]
        # No unix socket: its path may be too long here. Nothing outlives this server, so
        # waiting for the disk would only cost time.
        options = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off"]
        options += ["synchronous_commit=off", "full_page_writes=off", "max_connections=60"]
        for option in options:
            server += ["-c", option]
        with _running(server, folder, account, port):
            yield f"postgres://ampsite:{password}@127.0.0.1:{port}/postgres"


@contextmanager
def redis() -> Iterator[str]:
    """The ``CELERY_BROKER_URL`` of a new, empty Redis that writes nothing to disk."""
    program = debian.redis()
    assert program, "Redis is not installed"
    account, password, port = _unprivileged(), secrets.token_urlsafe(), free_port()
    with _folder(account) as folder:
        settings = folder / "redis.conf"
        settings.write_text(
            f"bind 127.0.0.1\nport {port}\nrequirepass {password}\n"
            f'dir "{folder}"\nsave ""\nappendonly no\n'
        )
        _give(settings, account)
        with _running(["redis-server", str(settings)], folder, account, port, program):
            yield f"redis://:{password}@127.0.0.1:{port}/0"


def _unprivileged() -> _Account:
    """Who runs a server: nobody for root (PostgreSQL refuses root), else this user."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _give(path: Path, account: _Account) -> None:
    path.chmod(0o700 if path.is_dir() else 0o600)
    if account:
        os.chown(path, account["user"], account["group"])


@contextmanager
def _folder(account: _Account) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="ampsite-"))
    try:
        _give(folder, account)
        yield folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def _running(
    command: list[str],
    folder: Path,
    account: _Account,
    port: int,
    program: str | None = None,
) -> Iterator[None]:
    """Run a server while the block lasts; it answers on ``port`` when the block begins.

    Its own session, so that Ctrl-C reaches the tests first and the server after them.
    """
    log = folder / "log"
    with log.open("w") as output:
        server = subprocess.Popen(
            command,
            executable=program,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            **account,
        )
    try:
        if not _answers(server, port):
            raise RuntimeError(f"{command[0]} did not start:\n{log.read_text()}")
        yield
    finally:
        server.send_signal(signal.SIGINT)  # PostgreSQL waits for its clients on SIGTERM
        try:
            server.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _answers(server: subprocess.Popen[bytes], port: int) -> bool:
    deadline = time.monotonic() + START_SECONDS
    while server.poll() is None and time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return True
    return False
