"""A real ``manage.py serve`` in a process of its own, and who uses it over HTTP."""

from __future__ import annotations

import atexit
import http.client
import http.cookiejar
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

ROOT = Path(__file__).resolve().parent.parent.parent
START_SECONDS = 60.0
PASSWORD = "correct horse battery"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def environment(data: Path, **more: str) -> dict[str, str]:
    """Of an installation of its own in ``data``; nothing of the test run's database."""
    return os.environ | {
        "AMPSITE_DATA_DIR": str(data),
        "AMPSITE_EMBEDDER": "hash",
        "DATABASE_URL": "",
        "CELERY_BROKER_URL": "",
        "QDRANT_URL": "",
        "PUBLIC_URL": "",
        "SECRET_KEY": "only for tests, and long enough to be let through by every check",
        "METRICS_TOKEN": "sesame",
        **more,
    }


def manage(data: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a command beside the server, as an operator would."""
    return subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=ROOT,
        env=environment(data, **more),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def installed(data: Path, **more: str) -> str:
    """A migrated database with the reviewer rosa and the agent bot; the agent's key."""
    if "DATABASE_URL" in more:
        return _installed_anew(data, **more)
    template, key = _template()
    shutil.copytree(template, data)
    return key


@cache
def _template() -> tuple[Path, str]:
    """An installation to copy: making one takes three processes."""
    folder = Path(tempfile.mkdtemp(prefix="ampsite-test-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder / "data", _installed_anew(folder / "data")


def _installed_anew(data: Path, **more: str) -> str:
    for words in (
        ["migrate", "--noinput"],
        ["create_reviewer", "rosa", "--password", PASSWORD],
        ["create_agent", "bot"],
    ):
        done = manage(data, *words, **more)
        assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def background(
    command: list[str], data: Path, log: Path, **more: str
) -> subprocess.Popen[bytes]:
    """Start a command as a shell starts a job in the background: with Ctrl-C ignored."""
    with log.open("ab") as output:
        return subprocess.Popen(
            ["sh", "-c", "trap '' INT; exec \"$@\"", "sh", *command],
            cwd=ROOT,
            env=environment(data, **more),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )


@dataclass
class Server:
    """One run of ``serve``; ``log`` gets what it prints."""

    data: Path
    log: Path
    more: Mapping[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] = field(init=False)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        serve = [sys.executable, "manage.py", "serve", "--port", str(self.port)]
        self.process = background(serve, self.data, self.log, **self.more)

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while self.readiness()[0] != 200:
            assert self.process.poll() is None, f"it ended:\n{self.printed()}"
            assert time.monotonic() < deadline, f"it is never ready:\n{self.printed()}"
            time.sleep(0.05)

    def wait_until_alive(self) -> None:
        """Until it answers at all, whether it is ready or not."""
        deadline = time.monotonic() + START_SECONDS
        while True:
            assert self.process.poll() is None, f"it ended:\n{self.printed()}"
            try:
                opened(f"{self.url}/healthz").close()
            except OSError:
                assert time.monotonic() < deadline, f"it never answers:\n{self.printed()}"
                time.sleep(0.05)
            else:
                return

    def readiness(self) -> tuple[int, dict[str, str]]:
        """Status and parts; 0 while nothing answers."""
        try:
            with opened(f"{self.url}/readyz") as answer:
                return answer.status, json.load(answer)["parts"]
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)["parts"]
        except OSError:
            return 0, {}

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, float]:
        """The exit status after a signal, and the seconds that took."""
        began = time.monotonic()
        self.process.send_signal(number)
        return self.process.wait(30), time.monotonic() - began

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(30)

    def printed(self) -> str:
        return self.log.read_text()

    def numbers(self) -> dict[str, float]:
        request = urllib.request.Request(
            f"{self.url}/metrics", headers={"Authorization": "Bearer sesame"}
        )
        with opened(request) as answer:
            lines = answer.read().decode().splitlines()
        pairs = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
        return {name: float(value) for name, value in pairs}


@contextmanager
def serving(data: Path, log: Path, **more: str) -> Iterator[Server]:
    server = Server(data, log, more)
    server.start()
    try:
        server.wait_until_ready()
        yield server
    finally:
        if server.process.poll() is None:
            server.kill()


def opened(request: str | urllib.request.Request, timeout: float = 30) -> Any:
    """Asked directly: a proxy of the surroundings has no business here."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    return opener.open(request, timeout=timeout)


class Agent:
    """What an agent does with its key."""

    def __init__(self, server: Server, key: str) -> None:
        self._server, self._key = server, key

    def amp(
        self, op: str, memory_type: str = "semantic", *, prefer: str = "", **members: Any
    ) -> dict[str, Any]:
        body = json.dumps({"op": op, "memory_type": memory_type, **members}).encode()
        headers = {
            "Authorization": f"Bearer {self._key}",
            "Content-Type": "application/json",
        }
        headers |= {"Prefer": prefer} if prefer else {}
        request = urllib.request.Request(f"{self._server.url}/api/v1/amp", body, headers)
        with opened(request) as answer:
            result: dict[str, Any] = json.load(answer)
            return result

    def propose(self, content: str) -> str:
        """The id of the proposal."""
        return str(self.amp("remember", content=content)["proposal"]["id"])

    def proposal(self, proposal_id: str) -> dict[str, Any]:
        request = urllib.request.Request(
            f"{self._server.url}/api/v1/proposals/{proposal_id}",
            headers={"Authorization": f"Bearer {self._key}"},
        )
        with opened(request) as answer:
            found: dict[str, Any] = json.load(answer)
            return found


class Reviewer:
    """A browser without JavaScript in which rosa, or another, is signed in."""

    def __init__(self, server: Server, name: str = "rosa") -> None:
        self._server = server
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}),
            urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()),
        )
        page = self.ask("/login/")
        self.ask("/login/", _hidden(page) | {"username": name, "password": PASSWORD})

    def approve(self, proposal_id: str) -> bool:
        """Whether the server said that it is approved."""
        return self.open(proposal_id).approve()

    def open(self, proposal_id: str) -> Card:
        return Card(self, proposal_id, _hidden(self.ask(f"/proposals/{proposal_id}/")))

    def ask(self, path: str, fields: Mapping[str, str] | None = None) -> str:
        url = f"{self._server.url}{path}"
        body = urlencode(fields).encode() if fields is not None else None
        with self._opener.open(urllib.request.Request(url, body), timeout=30) as answer:
            text: str = answer.read().decode()
            return text


@dataclass(frozen=True)
class Card:
    """A proposal as it was shown, with the hidden fields of its forms."""

    reviewer: Reviewer
    proposal_id: str
    fields: Mapping[str, str]

    def approve(self) -> bool:
        """Whether the server said that it is approved."""
        try:
            self.reviewer.ask(f"/proposals/{self.proposal_id}/approve/", self.fields)
        except (OSError, http.client.HTTPException):
            return False
        return True


def _hidden(page: str) -> dict[str, str]:
    """The hidden fields of a page, whatever the order of their attributes."""
    found: dict[str, str] = {}
    for tag in re.findall(r"<input\b[^>]*>", page):
        attributes = dict(re.findall(r'(\w+)="([^"]*)"', tag))
        if attributes.get("type") == "hidden":
            found.setdefault(attributes["name"], attributes.get("value", ""))
    return found
