"""A real Chromium, which may talk to the server under test and to nobody else."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from shutil import which
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from memories.models import User
from tests import build

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Chromium and htmx say so of every answer that is no success; some are what a test is about.
EXPECTED = ("Failed to load resource", "htmx:afterRequest", "htmx:sendError")

OpenPage = Callable[..., Page]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    # Playwright runs an event loop in this thread, and Django takes that for async code.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    found = next((path for name in NAMES if (path := which(name))), None)
    assert found, "These tests drive a Chromium that is on the PATH."
    root = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=root)
        yield browser
        browser.close()
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture
def open_page(chromium: Browser, live_server: Any) -> Iterator[OpenPage]:
    """Opens a page in a browser of its own; fails the test afterwards for an error in the
    console (a refusal of the content policy is one) or a request to another host."""
    contexts: list[BrowserContext] = []
    wrong: list[str] = []

    def watch(page: Page) -> None:
        page.on("pageerror", lambda error: wrong.append(f"script: {error}"))
        page.on(
            "console",
            lambda line: (
                wrong.append(f"console: {line.text}")
                if line.type in {"error", "warning"} and not line.text.startswith(EXPECTED)
                else None
            ),
        )
        page.on(
            "request",
            lambda request: (
                None
                if urlsplit(request.url).netloc == urlsplit(live_server.url).netloc
                else wrong.append(f"another host: {request.url}")
            ),
        )

    def opened(**options: Any) -> Page:
        context = chromium.new_context(base_url=live_server.url, **options)
        context.set_default_timeout(10_000)
        context.on("page", watch)
        contexts.append(context)
        return context.new_page()

    yield opened
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.fixture
def rosa(transactional_db: None) -> User:
    return build.person("rosa")


def log_in(page: Page, name: str = "rosa") -> None:
    page.goto("/login/")
    page.fill("[name=username]", name)
    page.fill("[name=password]", "correct horse")
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/proposals/**")
