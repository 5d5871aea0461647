"""The audit and the admin in a real browser: the content policy holds, and axe is content."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from memories.actors import SYSTEM
from memories.models import Agent, AuditEntry, User
from memories.services import edit_agent
from tests import build
from tests.access_table import ROWS
from tests.browser.conftest import OpenPage, log_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

BAD = "<img src=x onerror=alert(1)><script>alert(2)</script> \u202e pay"


@pytest.fixture
def ada(transactional_db: None) -> User:
    return build.person("ada", role="admin")


@pytest.fixture
def agent(ada: User) -> Agent:
    agent = build.agent("billing-bot", owner=ada)
    memory = build.memory(agent, "Refunds take five days.", tags=["refunds"])
    build.approve(build.held(agent, "old words"), content="new words")
    build.reject(build.held(agent, BAD, metadata={BAD: BAD}), reason="unsafe", comment=BAD)
    build.forgetting(agent, memory)
    edit_agent(agent, name=BAD, owner=None, actor=SYSTEM)
    return agent


def serious(page: Page) -> list[Any]:
    found = Axe().run(page).response["violations"]
    return [(one["id"], one["nodes"][0]["html"]) for one in found]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_audit_has_no_fault_that_axe_finds(
    open_page: OpenPage, agent: Agent, scheme: str, width: int
) -> None:
    page = open_page(color_scheme=scheme, viewport={"width": width, "height": 800})
    log_in(page, "ada")
    entry = AuditEntry.objects.get(
        action="proposal.approved", payload__contains="new words"
    )
    for address in (
        "/audit/",
        "/audit/?action=key.revoked",
        "/audit/?object=nonsense",
        f"/audit/{agent.pk}/{entry.sequence}/",
    ):
        page.goto(address)
        for more in page.locator("details.audit-more").all():
            more.evaluate("element => element.open = true")
        assert serious(page) == [], address
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, address


def test_the_audit_is_filtered_by_hand(open_page: OpenPage, agent: Agent) -> None:
    page = open_page()
    log_in(page, "ada")
    page.goto("/audit/")
    page.get_by_label("Action").select_option("proposal.rejected")
    page.get_by_role("button", name="Show").click()
    expect(page.locator(".audit-says")).to_have_count(1)
    expect(page.locator(".audit-says")).to_contain_text(
        "rejected a proposal of billing-bot"
    )
    page.get_by_role("link", name="Clear").click()
    page.get_by_label("About").fill(str(agent.keys.get().prefix))
    page.get_by_role("button", name="Show").click()
    expect(page.locator(".audit-says").last).to_contain_text("made the key")


def test_the_content_policy_holds_on_every_page_of_the_admin(
    open_page: OpenPage, agent: Agent
) -> None:
    """``open_page`` fails for each refusal in the console."""
    page = open_page()
    log_in(page, "ada")
    page.goto("/admin/")
    expect(page.get_by_role("link", name="Ampsite admin")).to_be_visible()
    for model in ROWS:
        page.goto(f"/admin/{model}/")
        first = page.locator("#result_list tbody th a").first
        if first.count():
            first.click()
            expect(page.locator("#content")).to_be_visible()
    page.goto(f"/admin/memories/agent/{agent.pk}/change/")
    page.get_by_role("link", name="History").click()
    expect(page).to_have_url(f"/audit/?object=agent%3A{agent.pk}")


def test_an_admin_makes_a_person_who_sees_one_agent(
    open_page: OpenPage, agent: Agent
) -> None:
    page = open_page()
    log_in(page, "ada")
    page.goto("/admin/memories/user/add/")
    page.fill("[name=username]", "kim")
    page.fill("[name=password1]", "correct horse battery")
    page.fill("[name=password2]", "correct horse battery")
    page.select_option("[name=role]", "reviewer")
    page.select_option("#id_agents_from", str(agent.pk))
    page.locator("#id_agents_add").click()
    page.locator("[name=_save]").click()
    expect(page.locator(".messagelist")).to_contain_text("kim")
    kim = User.objects.get(username="kim")
    assert (kim.role, list(kim.agents.all())) == ("reviewer", [agent])
