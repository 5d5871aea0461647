"""A server of its own for a benchmark: a folder, a process on loopback, people, clients."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

ROOT = Path(__file__).resolve().parent.parent
START_SECONDS = 120
PASSWORD = "correct horse battery"


def percentile(values: Sequence[float], percent: float) -> float:
    """The value below which ``percent`` of the values lie; at least one value is needed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


def summary(seconds: Sequence[float]) -> str:
    """p50, p95, p99 and the slowest, in milliseconds."""
    values = [percentile(seconds, p) * 1_000 for p in (50, 95, 99)]
    p50, p95, p99 = (f"{value:8.1f}" for value in values)
    return f"p50{p50}  p95{p95}  p99{p99}  max{max(seconds) * 1_000:8.1f} ms"


def manage(data: Path, *words: str, stdin: str = "") -> str:
    """Run a manage.py command on the folder and return what it printed."""
    done = subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=ROOT,
        env=environment(data),
        input=stdin,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def environment(data: Path) -> dict[str, str]:
    return os.environ | {
        "AMPSITE_DATA_DIR": str(data),
        "DATABASE_URL": os.environ.get("DATABASE_URL")
        or f"sqlite:///{data}/ampsite.sqlite3",
        "MAX_PENDING_PER_AGENT": "1000000",
        "LOG_LEVEL": "WARNING",
    }


@contextmanager
def folder() -> Iterator[Path]:
    """A migrated data folder, gone at the end."""
    with tempfile.TemporaryDirectory(prefix="ampsite-bench-") as name:
        manage(Path(name), "migrate", "--noinput", "--verbosity", "0")
        yield Path(name)


def new_key(data: Path, agent_id: str) -> str:
    return manage(data, "create_agent", agent_id).splitlines()[-1].strip()


@contextmanager
def serving(data: Path) -> Iterator[int]:
    """The port of a server on the folder; stopped at the end."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    words = ["serve", "--host", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(
        [sys.executable, "manage.py", *words],
        cwd=ROOT,
        env=environment(data),
        stdout=subprocess.DEVNULL,
    )
    try:
        _wait_until_ready(port, process)
        yield port
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def _wait_until_ready(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError("The server ended before it was ready.")
        try:
            if Client(port).get("/readyz")[0] == 200:
                return
        except OSError:
            pass
        time.sleep(0.1)
    raise RuntimeError(f"The server was not ready within {START_SECONDS} s.")


@dataclass
class Client:
    """One kept-alive connection, with headers and cookies of its own."""

    port: int
    headers: dict[str, str] = field(default_factory=dict)
    cookies: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def get(self, path: str) -> tuple[int, str]:
        return self._ask("GET", path, None, {})

    def amp(self, key: str, **envelope: Any) -> tuple[int, dict[str, Any]]:
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        status, text = self._ask("POST", "/api/v1/amp", json.dumps(envelope), headers)
        return status, json.loads(text)

    def form(self, path: str, **fields: str) -> tuple[int, str]:
        """Send a form; its token comes from the cookie."""
        fields["csrfmiddlewaretoken"] = self.cookies["csrftoken"]
        headers = {
            "Content-Type": "application/x-www-form-urlencoded",
            "Origin": f"http://127.0.0.1:{self.port}",
        }
        return self._ask("POST", path, urlencode(fields), headers)

    def log_in(self, username: str) -> None:
        self.get("/login/")
        status, text = self.form("/login/", username=username, password=PASSWORD)
        if status != 302:
            raise RuntimeError(f"Logging in answered {status}: {text[:300]}")

    def _ask(
        self, method: str, path: str, body: str | None, headers: Mapping[str, str]
    ) -> tuple[int, str]:
        sent = {"Host": f"127.0.0.1:{self.port}", **self.headers, **headers}
        if self.cookies:
            sent["Cookie"] = "; ".join(f"{k}={v}" for k, v in self.cookies.items())
        encoded = body.encode() if body is not None else None
        self._connection.request(method, path, encoded, sent)
        answer = self._connection.getresponse()
        for line in answer.headers.get_all("Set-Cookie") or []:
            name, _, rest = line.partition("=")
            self.cookies[name] = rest.partition(";")[0]
        return answer.status, answer.read().decode()


def seen_on(page: str) -> str:
    """The digest that the proposal's page carries in its approval form."""
    found = re.search(r'name="seen" value="([^"]+)"', page)
    if found is None:
        raise RuntimeError("The page has nothing to decide.")
    return found[1]
