"""A page that was opened before the server restarted."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.approvals.pages import Forms

SEED = """
import django; django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
from tests import build
build.person("rosa")
print(build.held(build.agent(), "Tea at four.").pk)
"""


@pytest.mark.case("G26")
def test_a_page_from_before_a_restart_still_decides(tmp_path: Path) -> None:
    given = {**os.environ, "DJANGO_SETTINGS_MODULE": "ampsite.settings"}
    # A SQLite file of its own, and a key kept beside it, as on a machine at home.
    env = {k: v for k, v in given.items() if k not in {"DATABASE_URL", "SECRET_KEY"}}
    env |= {"AMPSITE_DATA_DIR": str(tmp_path), "AMPSITE_EMBEDDER": "hash"}
    seeded = subprocess.run(
        [sys.executable, "-c", SEED], env=env, check=True, capture_output=True, text=True
    )
    card = f"/proposals/{seeded.stdout.strip()}/"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with httpx.Client(
        base_url=f"http://127.0.0.1:{port}", follow_redirects=True
    ) as browser:
        with serving(port, env):
            login = Forms(browser.get(f"/login/?next={card}")).by_button("Log in")
            typed = {"username": "rosa", "password": "correct horse"}
            page = browser.post(login.action, data={**login.data, **typed})
        with serving(port, env):
            approve = Forms(page).by_button("Approve")
            answer = browser.post(approve.action, data=approve.data)
    assert answer.status_code == 200
    assert "Approved: Remember 1 new semantic memory" in answer.text


@contextmanager
def serving(port: int, env: dict[str, str]) -> Iterator[None]:
    command = ["-m", "waitress", f"--listen=127.0.0.1:{port}", "ampsite.wsgi:application"]
    process = subprocess.Popen(
        [sys.executable, *command], env=env, stderr=subprocess.DEVNULL
    )
    try:
        until = time.monotonic() + 30
        while time.monotonic() < until:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.1)
        yield
    finally:
        process.terminate()
        process.wait(timeout=10)
