"""Agents, keys and the own work in a real browser, with and without JavaScript."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import Page, expect

from memories.actors import SYSTEM
from memories.models import ApiKey, User
from memories.services import create_key, edit_agent, revoke_key
from tests import build
from tests.browser.conftest import OpenPage, log_in
from tests.browser.test_access import DARK, LIGHT, PHONE, ZOOMED, judged

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

HOSTILE = "<img src=x onerror=alert(1)><div hx-get=/x hx-trigger=load>\u202e"
PLAIN = {"java_script_enabled": False}


@pytest.fixture
def ada(transactional_db: None) -> User:
    return build.person("ada", role="admin")


def shown_key(page: Page) -> str:
    return page.locator(".secret code").text_content() or ""


def whoami(text: str) -> int:
    return Client(headers={"X-API-Key": text}).get("/api/v1/whoami").status_code


def new_key(page: Page) -> None:
    """Up to the button that makes it."""
    page.goto("/agents/")
    page.get_by_role("link", name="billing-bot").click()
    page.get_by_role("link", name="Make a key").click()
    page.get_by_label("Name").fill("production")


def test_a_double_click_makes_one_key_and_shows_it(open_page: OpenPage, ada: User) -> None:
    build.agent("billing-bot")
    page = open_page()
    log_in(page, "ada")
    new_key(page)
    page.get_by_role("button", name="Make the key").dblclick()
    text = shown_key(page)
    assert whoami(text) == 200
    assert ApiKey.objects.count() == 1
    expect(page.get_by_role("heading", name="Copy this key now")).to_be_focused()

    page.reload()
    expect(page.get_by_role("button", name="Make the key")).to_be_visible()
    assert text not in page.content()
    assert ApiKey.objects.count() == 1


def test_without_javascript_a_key_is_made_once_and_revoked(
    open_page: OpenPage, ada: User
) -> None:
    build.agent("billing-bot")
    page = open_page(**PLAIN)
    log_in(page, "ada")
    new_key(page)
    page.get_by_role("button", name="Make the key").click()
    text = shown_key(page)
    assert whoami(text) == 200

    page.reload()  # sends the form again
    expect(page.locator("main")).to_contain_text("cannot be shown again")
    assert ApiKey.objects.count() == 1

    page.get_by_role("link", name="Look at the keys").click()
    page.get_by_role("link", name="Revoke").click()
    page.get_by_role("button", name="Revoke it").click()
    expect(page.locator("#status")).to_contain_text("is revoked")
    assert whoami(text) == 401


def test_a_mistake_in_the_key_form_is_said_and_nothing_typed_is_lost(
    open_page: OpenPage, ada: User
) -> None:
    build.agent("billing-bot")
    page = open_page()
    log_in(page, "ada")
    new_key(page)
    for box in page.get_by_role("checkbox").all():
        box.uncheck()
    page.get_by_role("button", name="Make the key").click()
    expect(page.locator("main")).to_contain_text("Tick at least one")
    expect(page.get_by_label("Name")).to_have_value("production")
    page.get_by_label("recall").check()
    page.get_by_role("button", name="Make the key").click()
    expect(page.locator(".secret")).to_be_visible()
    assert ApiKey.objects.get().scopes == ["recall"]


def test_without_javascript_an_agent_is_made_and_paused(
    open_page: OpenPage, ada: User
) -> None:
    page = open_page(**PLAIN)
    log_in(page, "ada")
    page.goto("/agents/")
    page.get_by_role("main").get_by_role("link", name="New agent").first.click()
    page.get_by_label("Agent id").fill("billing-bot")
    page.get_by_role("button", name="Make the agent and its key").click()
    assert whoami(shown_key(page)) == 200
    page.get_by_role("link", name="I have copied it").click()
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("main")).to_contain_text("Every change waits for a person")


def test_a_decision_is_undone_from_my_work(open_page: OpenPage, rosa: User) -> None:
    proposal = build.held(build.agent(), "Refunds take five days.")
    page = open_page()
    log_in(page)
    build.approve(proposal, rosa)
    page.goto("/work/")
    page.locator(".item").get_by_role("button", name="Undo").click()
    expect(page.locator("#status")).to_contain_text("It waits again")
    proposal.refresh_from_db()
    assert proposal.is_pending
    page.goto("/work/")
    expect(page.locator(".item")).to_contain_text("undone")


@pytest.mark.case("D10")
@pytest.mark.parametrize("look", [LIGHT, DARK, PHONE, ZOOMED])
def test_the_pages_keep_the_rules_of_axe_also_with_hostile_names(
    open_page: OpenPage, ada: User, look: dict[str, Any]
) -> None:
    agent = build.agent("billing-bot/" + "long-" * 12, owner=build.person("rosa"))
    edit_agent(agent, name=HOSTILE, owner=agent.owner, actor=SYSTEM)
    key = create_key(agent, name=HOSTILE, actor=SYSTEM)[0]
    revoke_key(build.key(agent), actor=SYSTEM)
    build.memory(agent, HOSTILE, reviewer=ada)
    build.reject(build.held(agent, "W" * 300), ada, reason="private", comment="x" * 200)
    build.held(agent, "Waits.")
    page = open_page(**look)
    log_in(page, "ada")

    base, found = f"/agents/{agent.pk}/", {}
    for address in (
        "/agents/",
        "/agents/?q=nothing",
        "/agents/new/",
        base,
        f"{base}edit/",
        f"{base}keys/",
        f"{base}keys/{key.pk}/revoke/",
        "/work/",
    ):
        page.goto(address)
        found[address] = judged(page)
    page.goto(f"{base}keys/")
    page.get_by_role("button", name="Make the key").click()
    expect(page.locator(".secret")).to_be_visible()
    found["made"] = judged(page)
    assert {address: said for address, said in found.items() if said} == {}
