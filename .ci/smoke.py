"""Meet `make run` as a newcomer does: start, log in, approve, recall, stop, start again."""

from __future__ import annotations

import http.client
import http.cookiejar
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import HTTPError
from urllib.parse import urlencode, urljoin

import debian
import lanes
import services

if TYPE_CHECKING:
    from collections.abc import Iterator

START_SECONDS = 300
STOP_SECONDS = 30
RECALL_SECONDS = 60
SETTLED_SECONDS = 5
# So that an address beyond loopback is refused for the demo's sake alone.
EVERYWHERE = "0.0.0.0"  # noqa: S104  (refused before it listens)
NAMED = {"SECRET_KEY": "s" * 60, "ALLOWED_HOSTS": "127.0.0.1,localhost,desk.example.org"}
# A shell reports 130 for a program that Ctrl-C ended; here that is minus the signal.
CLEAN_ENDS = {0, 130, -signal.SIGINT}


@dataclass
class Desk:
    """One `make run`, what it prints going to ``log``."""

    port: int
    data: Path
    log: Path
    host: str = "127.0.0.1"
    process: subprocess.Popen[bytes] = field(init=False)

    def start(self) -> None:
        with self.log.open("w") as output:
            self.process = subprocess.Popen(
                ["make", "run", f"PORT={self.port}", f"HOST={self.host}"],
                cwd=lanes.ROOT,
                env=lanes.environment(str(self.data)) | NAMED,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def interrupt(self) -> int:
        """Press Ctrl-C; the exit status."""
        os.killpg(self.process.pid, signal.SIGINT)
        return self.process.wait(STOP_SECONDS)

    def printed(self) -> str:
        return self.log.read_text()


@contextmanager
def serving(port: int, data: Path, log: Path) -> Iterator[Desk]:
    """A desk that is ready; its seconds to get there are printed. Ended by Ctrl-C."""
    desk = Desk(port, data, log)
    began = time.monotonic()
    desk.start()
    try:
        while not is_ready(port):
            assert desk.process.poll() is None, f"make run ended:\n{desk.printed()}"
            assert time.monotonic() - began < START_SECONDS, (
                f"never ready:\n{desk.printed()}"
            )
            time.sleep(0.1)
        print(f"ready after {time.monotonic() - began:.1f} s", flush=True)
        yield desk
        status = desk.interrupt()
        assert status in CLEAN_ENDS, f"Ctrl-C ended it with {status}:\n{desk.printed()}"
        for noise in ("Traceback", "make: ***"):
            assert noise not in desk.printed(), f"Ctrl-C was not clean:\n{desk.printed()}"
    finally:
        if desk.process.poll() is None:
            os.killpg(desk.process.pid, signal.SIGKILL)
            desk.process.wait()


def is_ready(port: int) -> bool:
    try:
        Browser().get(f"http://127.0.0.1:{port}/readyz")
    except (AssertionError, OSError, http.client.HTTPException):
        return False
    return True


@dataclass(frozen=True)
class FirstLogin:
    """What first-login.txt tells a newcomer."""

    user: str
    password: str
    proposal: str
    curl: str

    @classmethod
    def read(cls, text: str) -> FirstLogin:
        return cls(
            user=_only(r"^\s*(?:user|name|login)[^\n:]*:\s*(\S+)$", text),
            password=_only(r"^\s*password:\s*(\S+)$", text),
            proposal=_only(r"(http://\S+/proposals/\S+)", text),
            curl=_only(r"^\s*(curl (?:.*\\\n)*.*)$", text),
        )


def _only(pattern: str, text: str) -> str:
    found = re.findall(pattern, text, re.MULTILINE | re.IGNORECASE)
    assert len(set(found)) == 1, (
        f"{pattern} is in first-login.txt {len(found)} times:\n{text}"
    )
    return str(found[0])


@dataclass
class Form:
    action: str
    fields: dict[str, str]
    buttons: list[tuple[str, dict[str, str]]]


class Forms(HTMLParser):
    """The forms of a page as a browser without JavaScript would send them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.all: list[Form] = []
        self._open: Form | None = None
        self._text_for: str | None = None
        self._button = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._open = Form(given.get("action", ""), {}, [])
            self.all.append(self._open)
        elif self._open is None or "disabled" in given:
            return
        elif tag == "input" and given.get("type") not in {"submit", "checkbox", "radio"}:
            self._open.fields[given.get("name", "")] = given.get("value", "")
        elif tag == "textarea":
            self._text_for = given.get("name", "")
            self._open.fields[self._text_for] = ""
        elif tag == "button":
            self._button = True
            self._open.buttons.append(("", given))

    def handle_data(self, data: str) -> None:
        if self._open and self._text_for is not None:
            self._open.fields[self._text_for] += data
        elif self._open and self._button:
            label, given = self._open.buttons[-1]
            self._open.buttons[-1] = ((label + data).lstrip(), given)

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._open = None
        elif tag == "textarea":
            self._text_for = None
        elif tag == "button":
            self._button = False

    def with_button(self, label: str) -> tuple[Form, dict[str, str]]:
        """The first form with a button that begins with ``label``, and that button."""
        for form in self.all:
            for text, given in form.buttons:
                if text.startswith(label):
                    return form, given
        raise AssertionError(f"no button {label!r} among {self.all}")


class Browser:
    """Cookies and forms, no JavaScript."""

    def __init__(self) -> None:
        jar = http.cookiejar.CookieJar()
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(jar)
        )

    def get(self, url: str) -> tuple[str, str]:
        """The page's final address and its text."""
        return self._ask(urllib.request.Request(url))

    def press(self, url: str, page: str, button: str, **filled: str) -> tuple[str, str]:
        """Fill in and send the first form that has ``button``, by its label's beginning."""
        form, given = Forms(page).with_button(button)
        values = form.fields | filled
        if "name" in given:
            values[given["name"]] = given.get("value", "")
        target = urljoin(url, given.get("formaction") or form.action or url)
        body = urlencode(values).encode()
        return self._ask(urllib.request.Request(target, body, {"Referer": url}))

    def _ask(self, request: urllib.request.Request) -> tuple[str, str]:
        try:
            with self._opener.open(request, timeout=30) as answer:
                return answer.url, answer.read().decode()
        except HTTPError as error:
            raise AssertionError(
                f"{request.get_method()} {request.full_url}: {error.code}\n{error.read().decode()}"
            ) from error


def recalled(curl: str) -> list[str]:
    """The ids that the printed command finds, best first, run as it stands."""
    done = subprocess.run(
        ["sh", "-c", curl], capture_output=True, text=True, timeout=60, check=True
    )
    # Shown to a person, it may print more than the answer, such as its status.
    answer = json.loads(done.stdout[done.stdout.index("{") : done.stdout.rindex("}") + 1])
    assert answer.get("ok") is True, f"{curl}\n{done.stdout}"
    return [hit["id"] for hit in answer.get("hits", [])]


def approve_and_recall(desk: Desk) -> str:
    """Follow first-login.txt to its end; its text."""
    path = desk.data / "first-login.txt"
    text = path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600, "first-login.txt is open to others"
    told = FirstLogin.read(text)
    for secret in (told.user, told.password, told.proposal):
        assert secret in desk.printed(), f"{secret} was not printed:\n{desk.printed()}"

    browser = Browser()
    url, page = browser.get(told.proposal)
    url, page = browser.press(
        url, page, "Log in", username=told.user, password=told.password
    )
    before = settled(told.curl)
    browser.press(url, page, "Approve")
    deadline = time.monotonic() + RECALL_SECONDS
    while recalled(told.curl)[:1] == before[:1]:
        assert time.monotonic() < deadline, "what was approved is not recalled first"
        time.sleep(0.2)
    assert recalled(told.curl)[0] not in before, "it was recalled before it was approved"
    return text


def settled(curl: str) -> list[str]:
    """What is recalled once the demo's own memories are all in the index."""
    deadline = time.monotonic() + RECALL_SECONDS
    found, since = recalled(curl), time.monotonic()
    while time.monotonic() - since < SETTLED_SECONDS and time.monotonic() < deadline:
        time.sleep(0.5)
        now = recalled(curl)
        if now != found:
            found, since = now, time.monotonic()
    return found


def refused(desk: Desk, *named: str) -> None:
    """It ends by itself, and says why."""
    desk.start()
    try:
        assert desk.process.wait(STOP_SECONDS) != 0, "it started"
    finally:
        if desk.process.poll() is None:
            os.killpg(desk.process.pid, signal.SIGKILL)
    assert "Traceback" not in desk.printed(), desk.printed()
    for word in named:
        assert word in desk.printed(), f"{word} is not named:\n{desk.printed()}"


def main() -> None:
    # A shell starts background jobs with Ctrl-C ignored, which desks would inherit.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    lanes.bring(["curl"])
    with tempfile.TemporaryDirectory(prefix="ampsite-") as folder:
        data, log, port = Path(folder, "data"), Path(folder, "log"), services.free_port()
        print("=== smoke: the first make run ===", flush=True)
        with serving(port, data, log) as desk:
            first = approve_and_recall(desk)
        print("=== smoke: the second make run ===", flush=True)
        with serving(port, data, log) as desk:
            told = FirstLogin.read(first)
            assert (data / "first-login.txt").read_text() == first, "the login changed"
            assert told.password in desk.printed(), f"no login printed:\n{desk.printed()}"
            assert told.proposal not in desk.printed(), "it asks for what was decided"
            assert "wait for a decision" in desk.printed(), "it says no next step"
            assert recalled(told.curl), "a restart forgot what was approved"
        print("=== smoke: a port that is taken ===", flush=True)
        with socket.create_server(("127.0.0.1", port)):
            refused(Desk(port, data, log), str(port))
        print("=== smoke: the demo beyond this machine ===", flush=True)
        refused(Desk(port, data, log, EVERYWHERE), "changepassword", "seed_demo --end")
    print("smoke: ok")


if __name__ == "__main__":
    if debian.missing(["curl"]) and not debian.can_install():
        sys.exit(f"smoke NOT RUN: as root, {debian.command_for(['curl'])}")
    try:
        main()
    except (AssertionError, subprocess.SubprocessError) as error:
        sys.exit(f"smoke FAILED: {error}")
