"""Take the README's two pictures: ``python docs/shoot.py``, with Chromium on the PATH.

Runs the product on a demo of its own in a temporary folder; writes docs/screenshots/.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, ViewportSize, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "screenshots"
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
START_SECONDS = 120
SIZE: ViewportSize = {"width": 1100, "height": 700}  # small, for small files
# A procedure that gains a step, and a memory with two versions.
CHANGE = "Close a month"
MEMORY = "A parcel has not moved"


@contextmanager
def serving(data: Path) -> Iterator[str]:
    """The address of a server that has been through its first run and indexed all of it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    surroundings = os.environ | {"AMPSITE_DATA_DIR": str(data), "DATABASE_URL": ""}
    surroundings |= {"CELERY_BROKER_URL": "", "QDRANT_URL": "", "PUBLIC_URL": ""}
    surroundings |= {"UNDO_SECONDS": "0"}  # the demo's decisions are none of the visitor's
    manage = [sys.executable, "manage.py"]
    migrate = [*manage, "migrate", "--noinput", "--verbosity", "0"]
    subprocess.run(migrate, cwd=ROOT, env=surroundings, check=True)
    serve = [*manage, "serve", "--first-run", "--port", port]
    process = subprocess.Popen(serve, cwd=ROOT, env=surroundings, stdout=subprocess.DEVNULL)
    try:
        _wait_until_ready(f"http://127.0.0.1:{port}")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def _wait_until_ready(url: str) -> None:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            opener.open(f"{url}/readyz").close()
        except (urllib.error.URLError, OSError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
        else:
            time.sleep(10)  # so that the pictures show nothing as queued
            return


def log_in(page: Page, note: str) -> None:
    page.goto("/login/")
    for field in ("user", "password"):
        found = re.search(rf"^ +{field}: (\S+)$", note, re.MULTILINE)
        assert found
        page.fill(f"[name={'username' if field == 'user' else field}]", found[1])
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/proposals/**")


def follow(page: Page, path: str, text: str) -> None:
    """Open what the list at ``path`` names so, without a mouse that lies on something."""
    page.goto(path)
    found = page.locator(f"a[href^='{path}']", has_text=text).first.get_attribute("href")
    page.goto(found or path)


def shoot(page: Page, name: str) -> None:
    page.wait_for_load_state("networkidle")
    page.screenshot(path=FOLDER / f"{name}.png")


def main() -> None:
    program = next((path for name in CHROMIUM if (path := shutil.which(name))), None)
    if program is None:
        sys.exit("There is no Chromium on the PATH.")
    FOLDER.mkdir(exist_ok=True)
    root = ["--no-sandbox"] if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory(prefix="ampsite-") as folder, sync_playwright() as web:
        data = Path(folder)
        browser = web.chromium.launch(executable_path=program, args=root)
        with serving(data) as url:
            page = browser.new_page(
                base_url=url, viewport=SIZE, color_scheme="light", reduced_motion="reduce"
            )
            log_in(page, (data / "first-login.txt").read_text())
            follow(page, "/proposals/", CHANGE)
            page.get_by_role("button", name="Approve", exact=True).wait_for()
            shoot(page, "desk")
            follow(page, "/memories/", MEMORY)
            page.get_by_role("heading", name="Versions").first.wait_for()
            shoot(page, "memory")
        browser.close()


if __name__ == "__main__":
    main()
