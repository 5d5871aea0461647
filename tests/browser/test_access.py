"""Every page by the rules of axe, light and dark, wide and narrow."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from approvals import queues, services
from memories.models import User
from tests import build
from tests.browser.conftest import OpenPage, log_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

LIGHT = {"color_scheme": "light", "viewport": {"width": 1280, "height": 800}}
DARK = {"color_scheme": "dark", "viewport": {"width": 1280, "height": 800}}
PHONE = {"color_scheme": "light", "viewport": {"width": 390, "height": 844}}
ZOOMED = {"color_scheme": "dark", "viewport": {"width": 640, "height": 400}}  # 200 %


# More than a form may have: Django reads no further than DATA_UPLOAD_MAX_NUMBER_FIELDS.
MANY_FIELDS = """() => {
    const form = document.querySelector("form[action='/logout/']");
    for (let n = 0; n < 1100; n++) form.append(Object.assign(
        document.createElement("input"), {type: "hidden", name: `field-${n}`}));
}"""


def addresses() -> list[str]:
    """One page of each kind, with everything on it that a card can show."""
    agent = build.agent("billing-bot")
    one, two, moved = (build.memory(agent, text) for text in ("one", "two", "three\nlines"))
    stale = build.held(agent, "three\nother lines", supersedes=[moved.pk])
    build.approve(build.revising(moved, "four\nlines"))
    odd = build.held(
        agent,
        "pay\u202epal \u200b " + "long" * 200,
        tags=["tea", "w" * 120],
        metadata={"source": "web", "derived_from": [str(one.pk), "elsewhere"], "k": [1, 2]},
    )
    rebased = build.held(agent, "two, again", supersedes=[two.pk])
    build.approve(build.revising(two, "two, meanwhile"))
    services.rebase(rebased.pk, reviewer=build.person(), seen=build.seen(rebased))
    failed, rejected = build.held(agent, "approved"), build.held(agent, "rejected")
    build.approve(failed, content="approved, with an edit")
    build.reject(rejected, reason="untrue", comment="Never.")
    fresh = [build.memory(agent, f"memory {number}") for number in range(3)]
    proposals = [
        stale,
        odd,
        rebased,
        failed,
        rejected,
        build.merging(agent, *fresh),
        build.forgetting(agent, *fresh),
        build.expiring(agent, fresh[0], ttl_seconds=86_400),
    ]
    cards = [f"/proposals/{proposal.pk}/" for proposal in proposals]
    others = ["/proposals/", "/proposals/?status=any&q=a", "/proposals/?op=nothing"]
    whole = f"{cards[-1]}memories/{fresh[0].pk}/"
    return [*others, *cards, f"{cards[0]}?view=split", whole, "/password/", "/nowhere/"]


@pytest.mark.parametrize("look", [LIGHT, DARK, PHONE, ZOOMED], ids=str)
def test_no_page_has_a_finding(
    open_page: OpenPage, rosa: User, look: dict[str, Any]
) -> None:
    page = open_page(**look)
    found = {"/login/": findings(page, "/login/")}
    log_in(page)
    for address in addresses():
        found[address] = findings(page, address)
    assert {address: what for address, what in found.items() if what} == {}


@pytest.mark.parametrize("look", [LIGHT, DARK, PHONE, ZOOMED], ids=str)
def test_no_page_of_trouble_has_a_finding(
    open_page: OpenPage,
    rosa: User,
    look: dict[str, Any],
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page, found = open_page(**look), {}

    def look_at(page: Page, says: str) -> None:
        expect(page.locator("main")).to_contain_text(says)
        found[says] = judged(page)

    log_in(page)
    page.context.clear_cookies(name="csrftoken")
    page.get_by_role("button", name="Log out").click()
    look_at(page, "This form is out of date")

    page.goto("/proposals/")
    page.evaluate(MANY_FIELDS)
    page.get_by_role("button", name="Log out").click()
    look_at(page, "This request is not understood")

    with monkeypatch.context() as broken:
        broken.setattr(queues, "PAGE_SIZE", None)
        page.goto("/proposals/")
    look_at(page, "Something broke")

    settings.LOGIN_FAILURES_PER_NAME = 0
    stranger = open_page(**look)
    stranger.goto("/login/")
    stranger.fill("[name=username]", "rosa")
    stranger.fill("[name=password]", "wrong")
    stranger.get_by_role("button", name="Log in").click()
    look_at(stranger, "Too many attempts failed")

    assert {says: what for says, what in found.items() if what} == {}


def findings(page: Any, address: str) -> list[str]:
    page.goto(address)
    return judged(page)


def judged(page: Any) -> list[str]:
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
    violations = Axe().run(page).response["violations"]
    said = [f"{v['id']}: {v['nodes'][0]['html'][:200]}" for v in violations]
    width = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    return [*said, f"{width} px wider than the window"] if width > 0 else said
