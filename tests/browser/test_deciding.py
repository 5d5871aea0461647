"""The way through the desk in a real browser, with and without JavaScript."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import Page, expect

from approvals.models import Decision, Proposal
from memories.actors import SYSTEM
from memories.models import Agent, Memory, User
from memories.services import create_key
from tests import build
from tests.browser.conftest import OpenPage, log_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

both = pytest.mark.parametrize("javascript", [True, False], ids=["script", "plain"])


def heading(page: Page) -> str:
    return page.locator("article h1").inner_text()


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def open_card(page: Page, proposal: Proposal) -> None:
    page.goto(f"/proposals/{proposal.pk}/")


def recalled(agent: Agent, query: str) -> list[str]:
    """What the agent recalls over its API once the index has caught up."""
    build.drain()
    _, text = create_key(agent, actor=SYSTEM)
    envelope = {"op": "recall", "memory_type": "semantic", "query": query}
    response = Client().post(
        "/api/v1/amp",
        json.dumps(envelope),
        content_type="application/json",
        headers={"Authorization": f"Bearer {text}"},
    )
    assert response.status_code == 200
    return [hit["content"] for hit in response.json().get("hits", [])]


@both
def test_from_the_login_to_an_empty_queue(
    open_page: OpenPage, rosa: User, javascript: bool
) -> None:
    agent = build.agent()
    for text in ("Tea at four.", "The cat sleeps.", "Refunds take a day."):
        build.held(agent, text)
    page = open_page(java_script_enabled=javascript)
    log_in(page)
    page.get_by_role("link", name="Open the first").click()

    press(page, "Approve")
    expect(page.locator("#status")).to_contain_text("Approved: Remember 1 new")
    expect(page.locator("article")).to_contain_text("The cat sleeps.")
    page.locator("[name=content]").fill("The violin sleeps.")
    press(page, "Edit and approve")
    expect(page.locator("#status")).to_contain_text("Approved with changes")
    page.locator("[name=reason]").select_option("untrue")
    page.locator("[name=comment]").fill("They take five.")
    press(page, "Reject")
    expect(page.locator("#status")).to_contain_text("Rejected as untrue")
    expect(page.get_by_role("heading", name="Nothing waits")).to_be_visible()

    live = Memory.objects.live().order_by("created_at")
    assert [memory.content for memory in live] == ["Tea at four.", "The violin sleeps."]
    rejected = Decision.objects.get(outcome="rejected")
    assert (rejected.reason, rejected.comment) == ("untrue", "They take five.")
    assert "The violin sleeps." in recalled(agent, "violin")
    assert "The cat sleeps." not in recalled(agent, "cat")


@both
@pytest.mark.case("G11")
def test_an_untouched_text_is_no_edit(
    open_page: OpenPage, rosa: User, javascript: bool
) -> None:
    content = "\none\r\ntwo\u200b\r\n"
    proposal = build.held(build.agent(), content, tags=["a, b", "tea"])
    page = open_page(java_script_enabled=javascript)
    log_in(page)
    open_card(page, proposal)
    press(page, "Edit and approve")
    expect(page.locator("#status")).to_contain_text("Approved:")
    assert not Decision.objects.get().edited
    assert build.made_by(proposal).content == content


@both
@pytest.mark.case("G5")
def test_a_stale_proposal_is_rebased_and_then_approved(
    open_page: OpenPage, rosa: User, javascript: bool
) -> None:
    agent = build.agent()
    memory = build.memory(agent, "Tea at four.")
    proposal = build.held(agent, "Tea at five.", supersedes=[memory.pk])
    page = open_page(java_script_enabled=javascript)
    log_in(page)
    open_card(page, proposal)
    build.approve(build.revising(memory, "Tea at four, always."))

    page.locator("[name=content]").fill("Tea at nine.")
    press(page, "Edit and approve")
    expect(page.get_by_role("alert")).to_contain_text("moved on")
    expect(page.get_by_role("heading", name="As it is now")).to_be_visible()
    expect(page.get_by_role("button", name="Approve", exact=True)).to_be_disabled()
    press(page, "Rebase")
    expect(page.locator("#status")).to_contain_text("Rebased")
    expect(page.locator("[name=content]")).to_have_value("Tea at nine.")
    press(page, "Edit and approve")
    expect(page.locator("#status")).to_contain_text("Approved with changes")

    assert [m.content for m in Memory.objects.live()] == ["Tea at nine."]


def test_the_focus_goes_to_each_next_card_and_back_leads_back(
    open_page: OpenPage, rosa: User
) -> None:
    agent = build.agent()
    proposals = [build.held(agent, f"fact {number}") for number in range(4)]
    page = open_page()
    log_in(page)
    open_card(page, proposals[0])
    for following in proposals[1:]:
        page.keyboard.press("Tab")
        while page.evaluate("document.activeElement.innerText") != "Approve":
            page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.locator(f"#proposal-{following.pk} h1")).to_be_focused()
        assert page.url.endswith(f"/proposals/{following.pk}/")
        assert page.locator("[aria-current=true]").count() == 1
    assert page.title().startswith("(1) ")
    page.go_back()
    expect(page.locator(f"#proposal-{proposals[2].pk}")).to_be_visible()
    expect(page.locator("header .brand")).to_have_count(1)
    expect(page.locator("article")).to_contain_text("Approved")


def test_everything_works_by_keys_alone(open_page: OpenPage, rosa: User) -> None:
    agent = build.agent()
    proposal = build.held(agent, "Tea at four.")
    page = open_page()
    page.goto("/login/")
    page.locator("[name=username]").focus()
    page.keyboard.type("rosa")
    page.keyboard.press("Tab")
    page.keyboard.type("correct horse")
    page.keyboard.press("Enter")
    page.wait_for_url("**/proposals/")
    tab_to(page, "a.row")
    page.keyboard.press("Enter")
    expect(page.locator(f"#proposal-{proposal.pk} h1")).to_be_focused()
    tab_to(page, "[name=comment]")
    page.keyboard.type("No.")
    tab_to(page, "button.danger")
    page.keyboard.press("Enter")
    expect(page.locator("#status")).to_contain_text("Rejected")
    assert Decision.objects.get().comment == "No."


def tab_to(page: Page, selector: str) -> None:
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("s => document.activeElement.matches(s)", selector):
            return
    raise AssertionError(f"Tab does not reach {selector}")


@both
@pytest.mark.case("G17")
@pytest.mark.parametrize("button", ["Approve", "Edit and approve", "Reject"])
def test_a_double_click_has_one_effect(
    open_page: OpenPage, rosa: User, javascript: bool, button: str
) -> None:
    agent = build.agent()
    proposal = build.held(agent, "first")
    build.held(agent, "second")
    page = open_page(java_script_enabled=javascript)
    log_in(page)
    open_card(page, proposal)
    page.get_by_role("button", name=button, exact=True).dblclick()
    # The second post of a plain form comes too late, and its answer says so.
    expect(page.locator("#status p:not(:empty), [role=alert]").first).to_be_visible()
    page.wait_for_load_state("networkidle")
    assert Decision.objects.filter(proposal=proposal).count() == 1
    assert Decision.objects.count() == 1
    assert Memory.objects.count() == (0 if button == "Reject" else 1)


@pytest.mark.case("G17")
def test_a_slow_double_click_does_not_decide_the_card_that_came_meanwhile(
    open_page: OpenPage, rosa: User
) -> None:
    agent = build.agent()
    first, second = build.held(agent, "first"), build.held(agent, "second")
    page = open_page()
    log_in(page)
    open_card(page, first)
    box = page.get_by_role("button", name="Approve", exact=True).bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 20, box["y"] + 10)
    expect(page.locator(f"#proposal-{second.pk} h1")).to_be_focused()
    page.mouse.down(click_count=2)
    page.mouse.up(click_count=2)
    page.wait_for_load_state("networkidle")
    assert [d.proposal_id for d in Decision.objects.all()] == [first.pk]
    press(page, "Approve")
    expect(page.get_by_role("heading", name="Nothing waits")).to_be_visible()


def test_an_expired_session_leads_to_a_login_page_and_nothing_typed_is_lost(
    open_page: OpenPage, rosa: User
) -> None:
    proposal = build.held(build.agent(), "Tea at four.")
    page = open_page()
    log_in(page)
    open_card(page, proposal)
    page.locator("[name=content]").fill("Tea at nine.")
    page.locator("[name=comment]").fill("half a thought")
    page.context.clear_cookies(name="sessionid")
    press(page, "Edit and approve")
    page.wait_for_url(f"**/login/?next=*{proposal.pk}*")
    assert Proposal.objects.pending().count() == 1

    page.fill("[name=username]", "rosa")
    page.fill("[name=password]", "correct horse")
    press(page, "Log in")
    expect(page.locator("[name=content]")).to_have_value("Tea at nine.")
    expect(page.locator("[name=comment]")).to_have_value("half a thought")
    press(page, "Edit and approve")
    expect(page.locator("#status")).to_contain_text("Approved with changes")
    assert [m.content for m in Memory.objects.live()] == ["Tea at nine."]


def test_a_comment_begun_before_a_rebase_is_still_there_after_it(
    open_page: OpenPage, rosa: User
) -> None:
    agent = build.agent()
    memory = build.memory(agent, "Tea at four.")
    proposal = build.held(agent, "Tea at five.", supersedes=[memory.pk])
    build.approve(build.revising(memory, "Tea at four, always."))
    page = open_page()
    log_in(page)
    open_card(page, proposal)
    page.locator("[name=comment]").fill("half a thought")
    press(page, "Rebase")
    expect(page.locator("#status")).to_contain_text("Rebased")
    expect(page.locator("[name=comment]")).to_have_value("half a thought")
    press(page, "Reject")
    expect(page.get_by_role("heading", name="Nothing waits")).to_be_visible()
    assert Decision.objects.get(outcome="rejected").comment == "half a thought"
    kept = page.evaluate("Object.keys(sessionStorage)")
    assert [key for key in kept if key.startswith("draft")] == []


def test_signing_in_again_in_another_tab_reloads_the_first_with_a_sentence(
    open_page: OpenPage, rosa: User
) -> None:
    proposal = build.held(build.agent(), "Tea at four.")
    page = open_page()
    log_in(page)
    open_card(page, proposal)
    other = page.context.new_page()
    other.goto("/proposals/")
    press(other, "Log out")
    log_in(other)
    press(page, "Approve")
    expect(page.locator("#status")).to_contain_text("nothing was decided")
    press(page, "Approve")
    expect(page.locator("#status")).to_contain_text("Approved")


@both
@pytest.mark.case("G7")
def test_who_comes_second_reads_who_and_when(
    open_page: OpenPage, rosa: User, javascript: bool
) -> None:
    proposal = build.held(build.agent(), "Tea at four.")
    page = open_page(java_script_enabled=javascript)
    log_in(page)
    open_card(page, proposal)
    build.approve(proposal, build.person("sam"))
    page.locator("[name=comment]").fill("my reasons")
    press(page, "Reject")
    expect(page.get_by_role("alert")).to_contain_text("Already approved by sam at")
    expect(page.get_by_text("What you typed was not used")).to_be_visible()
    expect(page.get_by_label("Comment")).to_have_value("my reasons")


def test_a_server_that_is_gone_is_said_and_leaves_no_dead_button(
    open_page: OpenPage, rosa: User
) -> None:
    proposal = build.held(build.agent(), "Tea at four.")
    page = open_page()
    log_in(page)
    open_card(page, proposal)
    page.route("**/approve/", lambda route: route.abort())
    press(page, "Approve")
    expect(page.locator("#status")).to_contain_text("cannot be reached")
    expect(page.get_by_role("button", name="Approve", exact=True)).to_be_enabled()
    expect(page.get_by_role("button", name="Approve", exact=True)).to_be_focused()
    page.unroute("**/approve/")
    press(page, "Approve")
    expect(page.locator("#status")).to_contain_text("Approved")


def test_hostile_text_stays_text(open_page: OpenPage, rosa: User) -> None:
    hostile: Any = (
        "<script>document.title='broken'</script><img src=x onerror=alert(1)>"
        '<div hx-get="/logout/" hx-trigger="load">{{ 7*7 }}</div><a href="javascript:1">x</a>'
    )
    agent = build.agent()
    proposal = build.held(
        agent, hostile, tags=[hostile[:120]], metadata={hostile: hostile, "source": hostile}
    )
    page = open_page()
    log_in(page)
    page.locator("a.row").click()
    expect(page.locator(f"#proposal-{proposal.pk} h1")).to_be_focused()
    expect(page.locator("article")).to_contain_text("onerror=alert(1)")
    assert "broken" not in page.title()
    assert (
        page.locator("article img, article a[href^=javascript], [hx-trigger]").count() == 0
    )


def test_approve_says_that_it_leaves_out_what_was_typed(
    open_page: OpenPage, rosa: User
) -> None:
    proposal = build.held(build.agent(), "Tea at four.")
    page = open_page()
    log_in(page)
    open_card(page, proposal)
    note = page.get_by_text("without what you typed")
    expect(note).to_be_hidden()

    page.locator("[name=content]").fill("Tea at five.")
    expect(note).to_be_visible()

    page.locator("[name=content]").fill("Tea at four.")
    expect(note).to_be_hidden()
