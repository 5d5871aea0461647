"""The desk in a Chromium that runs no script."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from approvals.models import Decision
from memories.models import Memory, User
from tests import build
from tests.browser.conftest import OpenPage, log_in


@pytest.mark.case("D15")
def test_filter_open_edit_and_approve_reject_and_undo(
    open_page: OpenPage, rosa: User
) -> None:
    tea, coffee = build.agent("tea-bot"), build.agent("coffee-bot")
    build.held(coffee, "Coffee at nine.")
    edited = build.held(tea, "Tea at four.", tags=["tea"])
    rejected = build.held(tea, "Tea with milk.")
    page = open_page(java_script_enabled=False)
    log_in(page)

    page.get_by_text("Filter", exact=True).click()
    page.get_by_label("Agent").select_option(label="tea-bot")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("heading", name="2 found")).to_be_visible()
    expect(page.get_by_text("Coffee at nine.")).to_have_count(0)

    page.locator("a.row", has_text="Tea at four.").click()
    page.locator("[name=content]").fill("Tea at five.")
    page.get_by_role("button", name="Edit and approve").click()
    expect(page.locator("#status")).to_contain_text("Approved with changes")
    assert build.made_by(edited).content == "Tea at five."

    expect(page.locator("article")).to_contain_text("Tea with milk.")
    page.locator("[name=reason]").select_option("untrue")
    page.locator("[name=comment]").fill("Without.")
    page.get_by_role("button", name="Reject").click()
    expect(page.locator("#status")).to_contain_text("Rejected as untrue")
    decision = Decision.objects.get(proposal=rejected)
    assert (decision.reason, decision.comment) == ("untrue", "Without.")

    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#status")).to_contain_text("It waits again")
    expect(page.locator("article")).to_contain_text("Tea with milk.")
    rejected.refresh_from_db()
    assert rejected.status == "pending"
    assert Memory.objects.count() == 1
