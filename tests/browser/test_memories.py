"""The memories' pages in a real browser, with and without script."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from memories.models import User
from tests import build
from tests.browser.conftest import OpenPage, log_in
from tests.browser.test_access import DARK, LIGHT, PHONE

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("script", [True, False])
def test_search_open_propose_restore_and_forget(
    open_page: OpenPage, rosa: User, script: bool
) -> None:
    agent = build.agent("tea-bot")
    memory = build.memory(agent, "Tea is served at four.")
    build.memory(agent, "The cat sleeps.")
    build.drain()
    page = open_page(java_script_enabled=script)
    log_in(page)

    page.goto("/memories/")
    page.get_by_label("Search").fill("when is tea served")
    page.get_by_role("button", name="Show").click()
    page.locator("a.item-text").first.click()
    expect(page.locator("main")).to_contain_text("Tea is served at four.")

    page.get_by_role("link", name="Propose a change").click()
    page.get_by_label("Text").fill("Tea is served at five.")
    page.get_by_role("button", name="Change it").click()
    expect(page.locator("#status")).to_contain_text("Approved: Revise 1 semantic memory")
    memory.refresh_from_db()
    assert memory.content == "Tea is served at five."

    page.get_by_role("link", name="Restore version 1").click()
    page.get_by_role("button", name="Restore it").click()
    expect(page.locator("#status")).to_contain_text("Approved")
    memory.refresh_from_db()
    assert (memory.content, memory.version) == ("Tea is served at four.", 3)

    page.get_by_role("link", name="Forget").click()
    page.get_by_role("button", name="Forget it").click()
    expect(page.locator("main")).to_contain_text("Agents do not recall it.")
    memory.refresh_from_db()
    assert memory.state == "forgotten"

    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#status")).to_contain_text("It waits again")
    memory.refresh_from_db()
    assert memory.state == "live"


@pytest.mark.parametrize("look", [LIGHT, DARK, PHONE])
def test_no_page_of_memories_breaks_a_rule_of_axe_or_is_cut_off(
    open_page: OpenPage, rosa: User, look: dict[str, Any]
) -> None:
    page = open_page(**look)
    log_in(page)
    for where in addresses():
        page.goto(where)
        results = Axe().run(page)
        found = [one["id"] for one in results.response["violations"]]
        assert found == [], (where, results.generate_report())
        assert _overflow(page) <= 0, where


def addresses() -> list[str]:
    agent = build.agent("billing-bot")
    old = build.memory(agent, "The old rule.")
    memory = build.memory(
        agent,
        "pay\u202epal \u200b " + "long" * 200,
        tags=["tea", "w" * 120],
        supersedes=[old.pk],
        metadata={"source": "web", "derived_from": [str(old.pk), "x" * 90], "k": [1, 2]},
    )
    build.approve(build.revising(memory, "Refunds take five days.\nAlways."), tags=("a",))
    memory.refresh_from_db()
    build.forgetting(agent, memory)
    build.short_term(agent, "The user said hello.", ttl_seconds=3_600)
    build.drain()
    own = f"/memories/{memory.pk}/"
    return [
        "/memories/",
        "/memories/?state=any",
        "/memories/?q=refunds",
        "/memories/?q=refunds&type=working",
        "/memories/?q=old&state=retired",
        "/memories/?state=odd",
        own,
        f"/memories/{old.pk}/",
        f"{own}propose/",
        f"{own}forget/",
        f"{own}versions/1/restore/",
    ]


def _overflow(page: Page) -> int:
    """CSS pixels by which the page is wider than the window."""
    return int(
        page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
    )
