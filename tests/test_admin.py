"""The admin pages: who may open them, what they show, and that nothing is deleted."""

from __future__ import annotations

import re

import pytest
from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from approvals.services import rebase
from memories.actors import SYSTEM
from memories.models import Agent, User
from memories.services import create_key, edit_agent
from tests import build
from tests.access_table import ROWS
from tests.admin_pages import page_of, signed_in, text_of
from tests.plans import whole_reads

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada(db: None) -> User:
    return build.person("ada", role="admin")


@pytest.fixture
def admin(ada: User) -> Client:
    return signed_in(ada)


def test_who_is_no_admin_meets_our_own_pages(client: Client) -> None:
    assert client.get("/admin/")["Location"] == "/login/?next=%2Fadmin%2F"
    page = signed_in(build.person("rosa")).get("/admin/")
    assert page.status_code == 403
    assert "Only admins may open the admin pages." in text_of(page)


def test_django_has_no_second_way_to_sign_in_or_to_set_a_password(admin: Client) -> None:
    for address in ("login/", "logout/", "password_change/", "autocomplete/", "r/1/1/"):
        assert admin.get(f"/admin/{address}").status_code == 404


def test_the_front_page_leads_back_to_the_desk_and_knows_no_groups(admin: Client) -> None:
    page = text_of(admin.get("/admin/"))
    assert "Ampsite admin" in page
    assert 'href="/proposals/"' in page
    for hidden in (
        "Groups",
        "Permissions",
        "Idempotency",
        "Login failure",
        "Recent actions",
    ):
        assert hidden not in page


@pytest.fixture
def one_of_each(db: None) -> None:
    """A row in every table of the admin."""
    memory = build.memory(build.agent("bot"))
    stale = build.held(memory.agent, "better", supersedes=[memory.pk])
    reviewer = build.person()
    build.approve(build.revising(memory, "moved on"), reviewer)
    rebase(stale.pk, reviewer=reviewer, seen=build.seen(stale))


@pytest.mark.parametrize("row", [*ROWS])
def test_no_page_offers_to_delete(admin: Client, one_of_each: None, row: str) -> None:
    first = apps.get_model(row.replace("/", ".")).objects.order_by("pk").first()
    for address in (f"/admin/{row}/", page_of(first)):
        page = text_of(admin.get(address))
        assert "delete" not in page.lower()
        assert 'name="action"' not in page


@pytest.mark.parametrize("row", [*ROWS])
def test_no_post_deletes_anything(admin: Client, one_of_each: None, row: str) -> None:
    def counts() -> dict[str, int]:
        models = [apps.get_model(name.replace("/", ".")) for name in ROWS]
        return {model.__name__: model.objects.count() for model in models}

    before = counts()
    first = apps.get_model(row.replace("/", ".")).objects.order_by("pk").first()
    bulk = {"action": "delete_selected", "_selected_action": [first.pk], "post": "yes"}
    admin.post(f"/admin/{row}/", {**bulk, "index": 0})
    assert admin.post(page_of(first).replace("change", "delete")).status_code == 403
    assert counts() == before


def test_what_the_gate_guards_is_shown_and_cannot_be_changed(admin: Client) -> None:
    memory = build.memory(build.agent("bot"), "Refunds take five days.")
    for row in (memory, memory.revisions.get(), memory.agent.keys.get()):
        page = admin.get(page_of(row))
        assert page.status_code == 200
        assert '<input type="submit"' not in text_of(page)
        assert admin.post(page_of(row), {"content": "changed"}).status_code == 403
    memory.refresh_from_db()
    assert (memory.content, memory.version) == ("Refunds take five days.", 1)


def test_a_key_shows_neither_its_digest_nor_a_way_to_make_one(admin: Client) -> None:
    key = build.key(build.agent())
    page = text_of(admin.get(page_of(key)))
    assert key.prefix in page
    assert key.digest not in page
    assert admin.get("/admin/memories/apikey/add/").status_code == 403


def test_the_audit_is_the_only_record_of_what_admins_do(admin: Client) -> None:
    bot = build.agent("bot")
    admin.post(page_of(bot), {"name": "Billing", "is_active": "on"})
    assert LogEntry.objects.count() == 0
    history = admin.get(page_of(bot).replace("change", "history"))
    assert history["Location"] == f"/audit/?object=agent%3A{bot.pk}"
    assert admin.get(history["Location"]).status_code == 200


def test_a_limited_admin_meets_no_people_and_changes_only_the_own_agents() -> None:
    mine, foreign = build.agent("mine"), build.agent("foreign")
    build.person("bea", agents=["foreign"])
    kim = build.person("kim", role="admin", agents=["mine"])
    browser = signed_in(kim)
    assert "Users" not in text_of(browser.get("/admin/"))
    assert browser.get("/admin/memories/user/").status_code == 403
    assert browser.get(page_of(foreign)).status_code == 404
    page = browser.get(page_of(mine))
    assert page.status_code == 200
    assert "bea" not in text_of(page)
    assert browser.post(page_of(mine), {"name": "M", "is_active": "on"}).status_code == 302
    assert Agent.objects.get(pk=mine.pk).name == "M"


@pytest.mark.parametrize(
    ("model", "term", "found"),
    [
        ("memories/memory", "{memory}", 1),
        ("memories/memory", "bot", 2),
        ("memories/memory", "bo", 0),
        ("memories/memory", "%", 0),
        ("memories/auditentry", "key.created", 1),
        ("memories/auditentry", "{proposal}", 2),
        ("approvals/proposal", "{memory}", 1),
        ("approvals/decision", "{proposal}", 1),
        ("memories/apikey", "bot", 1),
        ("memories/user", "ada", 1),
        ("memories/indexentry", "999999999999999999999999", 0),
    ],
)
def test_searches_ask_indexed_columns_for_whole_values(
    admin: Client, model: str, term: str, found: int
) -> None:
    memory = build.memory(build.agent("bot"))
    build.short_term(memory.agent)
    names = {"memory": memory.pk, "proposal": memory.revisions.get().proposal_id}
    page = text_of(admin.get(f"/admin/{model}/", {"q": term.format(**names)}))
    assert re.search(rf"\b{found} results?\b", page)


@pytest.mark.parametrize(
    ("model", "term"),
    [
        ("memories/memory", "bot"),
        ("memories/memoryrevision", "{memory}"),
        ("memories/auditentry", "bot"),
        ("memories/auditentry", "key.created"),
        ("memories/auditentry", "{proposal}"),
        ("approvals/proposal", "bot"),
        ("approvals/proposal", "{memory}"),
        ("approvals/proposaltarget", "{memory}"),
        ("approvals/decision", "{proposal}"),
    ],
)
def test_no_search_reads_a_whole_table(admin: Client, model: str, term: str) -> None:
    memory = build.memory(build.agent("bot"))
    names = {"memory": memory.pk, "proposal": memory.revisions.get().proposal_id}
    with CaptureQueriesContext(connection) as caught:
        admin.get(f"/admin/{model}/", {"q": term.format(**names)})
    assert whole_reads(caught, model.replace("/", "_")) == []


@pytest.mark.parametrize("row", [*ROWS])
def test_no_list_reads_whole_texts(admin: Client, one_of_each: None, row: str) -> None:
    with CaptureQueriesContext(connection) as caught:
        assert admin.get(f"/admin/{row}/").status_code == 200
    asked = "\n".join(query["sql"] for query in caught.captured_queries)
    asked = re.sub(r"SUBSTR\S+", "", asked, flags=re.I)
    long = "content|metadata|payload|change_json|targets_json|edits|comment"
    assert re.findall(rf'"({long})"', asked) == []


@pytest.mark.parametrize("row", [*ROWS])
def test_lists_ask_as_often_for_many_rows_as_for_few(admin: Client, row: str) -> None:
    def make(number: int) -> None:
        memory = build.memory(build.agent(), f"memory {number}")
        stale = build.held(memory.agent, f"other {number}", supersedes=[memory.pk])
        build.reject(stale)

    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert admin.get(f"/admin/{row}/").status_code == 200
        return len(captured)

    make(0)
    few = queries()
    for number in range(1, 8):
        make(number)
    assert queries() == few


@pytest.mark.case("D10")
def test_markup_in_a_memory_is_text_in_the_admin(admin: Client) -> None:
    bad = "<img src=x onerror=alert(1)>\u202e\n<script>alert(2)</script>"
    memory = build.memory(build.agent(), bad, tags=[bad], metadata={bad: bad})
    edit_agent(memory.agent, name=bad, owner=None, actor=SYSTEM)
    key, _ = create_key(memory.agent, name=bad, actor=SYSTEM)
    proposal = build.held(memory.agent, bad + "!")
    decision = build.reject(proposal, comment=bad)
    rows = (memory, memory.revisions.get(), proposal, decision, key)
    lists = [f"/admin/{model}/" for model in ROWS]
    lists.append("/admin/memories/user/add/")
    for address in [*lists, *(page_of(row) for row in rows)]:
        page = text_of(admin.get(address))
        assert "<img src=x" not in page
        assert "<script>alert" not in page
        assert "\u202e" not in page
