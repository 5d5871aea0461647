"""The admin pages: who may open them, what they change, and that it is all audited."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from approvals.services import rebase
from memories import audit
from memories.actors import SYSTEM, Actor
from memories.errors import Impossible, NotAllowed
from memories.models import Agent, AuditEntry, User
from memories.services import authenticate, create_key, edit_agent, edit_person
from tests import build
from tests.access_table import ROWS

pytestmark = pytest.mark.django_db

PASSWORD = "correct horse battery"


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def ada(db: None) -> User:
    return build.person("ada", role="admin")


@pytest.fixture
def admin(ada: User) -> Client:
    return signed_in(ada)


def page_of(row: Any) -> str:
    name = f"admin:{row._meta.app_label}_{row._meta.model_name}_change"
    return reverse(name, args=[row.pk])


def entries() -> list[tuple[str, str, Any]]:
    rows = AuditEntry.objects.filter(actor_label="ada").order_by("pk")
    return [(row.action, row.objects_json, json.loads(row.payload or "")) for row in rows]


def of_person(person: User, **changed: Any) -> dict[str, Any]:
    """What the form of a person posts."""
    posted = {
        "role": person.role,
        "all_agents": "on" if person.all_agents else "",
        "agents": list(person.agents.values_list("pk", flat=True)),
        "is_active": "on" if person.is_active else "",
        **changed,
    }
    return {name: value for name, value in posted.items() if value != ""}


def text_of(page: Any) -> str:
    return str(page.content.decode())


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


def test_a_new_person_is_made_by_the_service_and_audited(admin: Client) -> None:
    build.agent("bot")
    response = admin.post(
        "/admin/memories/user/add/",
        {
            "username": "rosa",
            "password1": PASSWORD,
            "password2": PASSWORD,
            "role": "reviewer",
            "agents": [Agent.objects.get().pk],
        },
    )
    rosa = User.objects.get(username="rosa")
    assert response["Location"] == page_of(rosa).removesuffix(f"{rosa.pk}/change/")
    assert rosa.check_password(PASSWORD)
    assert (rosa.role, rosa.all_agents, rosa.is_staff) == ("reviewer", False, False)
    assert [agent.agent_id for agent in rosa.agents.all()] == ["bot"]
    payload = {"username": "rosa", "role": "reviewer", "agents": ["bot"]}
    assert entries() == [("user.created", f'["user:{rosa.pk}"]', payload)]


@pytest.mark.parametrize(
    ("posted", "words"),
    [
        ({"username": "ada"}, "already exists"),
        ({"password2": "another one here"}, "The two passwords differ."),
        ({"password1": "abc", "password2": "abc"}, "This password is too short."),
        ({"role": "king"}, "Select a valid choice."),
        ({"username": ""}, "This field is required."),
    ],
)
def test_a_new_person_that_cannot_be_is_refused_in_the_form(
    admin: Client, posted: dict[str, str], words: str
) -> None:
    form = {
        "username": "rosa",
        "password1": PASSWORD,
        "password2": PASSWORD,
        "role": "viewer",
        **posted,
    }
    page = admin.post("/admin/memories/user/add/", form)
    assert words in text_of(page)
    assert User.objects.count() == 1
    assert entries() == []


def test_role_limits_and_state_change_together_with_their_entries(admin: Client) -> None:
    bot, rosa = build.agent("bot"), build.person("rosa")
    form = of_person(rosa, role="admin", all_agents="", agents=[bot.pk], is_active="")
    assert admin.post(page_of(rosa), form).status_code == 302
    rosa.refresh_from_db()
    assert (rosa.role, rosa.is_staff, rosa.is_superuser) == ("admin", True, True)
    assert (rosa.all_agents, rosa.is_active) == (False, False)
    assert entries() == [
        (
            "user.role_changed",
            f'["user:{rosa.pk}"]',
            {"username": "rosa", "from": "reviewer", "to": "admin"},
        ),
        (
            "user.limits_changed",
            f'["user:{rosa.pk}"]',
            {"username": "rosa", "from": None, "to": ["bot"]},
        ),
        ("user.switched_off", f'["user:{rosa.pk}"]', {"username": "rosa"}),
    ]
    admin.post(page_of(rosa), of_person(rosa, role="viewer", is_active="on"))
    rosa.refresh_from_db()
    assert (rosa.role, rosa.is_staff, rosa.is_superuser) == ("viewer", False, False)


def test_a_form_that_changes_nothing_writes_nothing(admin: Client) -> None:
    rosa = build.person("rosa", agents=[build.agent("bot").agent_id])
    admin.post(page_of(rosa), of_person(rosa))
    assert entries() == []


def test_where_the_audit_cannot_be_written_nothing_changes(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    rosa = build.person("rosa")

    def broken(_events: Any) -> None:
        raise RuntimeError("the disk is full")

    monkeypatch.setattr(audit, "append", broken)
    with pytest.raises(RuntimeError):
        edit_person(rosa, role="viewer", agents=[], is_active=False, actor=Actor.of(ada))
    rosa.refresh_from_db()
    assert (rosa.role, rosa.all_agents, rosa.is_active) == ("reviewer", True, True)


@pytest.mark.parametrize(
    "changed", [{"is_active": ""}, {"role": "reviewer"}, {"all_agents": ""}]
)
def test_an_admin_takes_away_no_access_of_the_own(
    admin: Client, ada: User, changed: dict[str, str]
) -> None:
    build.person("second", role="admin")
    page = admin.post(page_of(ada), of_person(ada, **changed))
    assert "You cannot switch yourself off" in text_of(page)
    ada.refresh_from_db()
    assert (ada.role, ada.all_agents, ada.is_active) == ("admin", True, True)
    assert entries() == []


def test_one_admin_of_all_agents_is_left(ada: User) -> None:
    with pytest.raises(NotAllowed, match="ada is the last active admin of all agents"):
        edit_person(ada, role="viewer", agents=None, is_active=True, actor=SYSTEM)
    second = build.person("second", role="admin")
    edit_person(ada, role="viewer", agents=None, is_active=True, actor=Actor.of(second))
    assert User.objects.get(username="ada").role == "viewer"


def test_a_person_of_an_unknown_agent_or_role_cannot_be(ada: User) -> None:
    rosa = build.person("rosa")
    for wanted in (
        {"role": "king", "agents": None},
        {"role": "viewer", "agents": ["none"]},
    ):
        with pytest.raises(Impossible):
            edit_person(rosa, **wanted, is_active=True, actor=Actor.of(ada))


def test_a_refusal_that_came_true_meanwhile_is_said_on_the_page(
    admin: Client, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memories.admin_forms.refusal_to_edit", lambda *_, **__: None)
    page = admin.post(page_of(ada), of_person(ada, role="viewer"), follow=True)
    assert "You cannot switch yourself off" in text_of(page)


def test_a_switched_off_person_is_out_at_once(admin: Client) -> None:
    rosa = build.person("rosa")
    browser = signed_in(rosa)
    assert browser.get("/proposals/").status_code == 200
    admin.post(page_of(rosa), of_person(rosa, is_active=""))
    assert browser.get("/proposals/").status_code == 302


def test_an_admin_sets_a_password_and_the_sessions_end(admin: Client) -> None:
    rosa = build.person("rosa")
    browser = signed_in(rosa)
    browser.get("/proposals/")
    address = f"/admin/memories/user/{rosa.pk}/password/"
    both = {"new_password1": PASSWORD, "new_password2": PASSWORD}
    bad = admin.post(address, {**both, "new_password2": "something else"})
    assert bad.status_code == 422
    assert admin.post(address, both)["Location"] == page_of(rosa)
    rosa.refresh_from_db()
    assert rosa.check_password(PASSWORD)
    assert browser.get("/proposals/").status_code == 302
    expected = ("user.password_changed", f'["user:{rosa.pk}"]', {"username": "rosa"})
    assert entries() == [expected]


def test_the_own_password_is_changed_on_the_desk(admin: Client, ada: User) -> None:
    response = admin.get(f"/admin/memories/user/{ada.pk}/password/")
    assert response["Location"] == "/password/"


def test_an_agent_is_changed_by_the_services_and_audited(admin: Client) -> None:
    api = build.Api(build.agent("bot"))
    rosa = build.person("rosa")
    form = {"name": "Billing", "owner": rosa.pk, "is_paused": "on"}
    assert admin.post(page_of(api.agent), form).status_code == 302
    bot = Agent.objects.get()
    assert (bot.name, bot.owner, bot.is_paused, bot.is_active) == (
        "Billing",
        rosa,
        True,
        False,
    )
    assert authenticate(api.text) is None
    assert [action for action, _, _ in entries()] == [
        "agent.renamed",
        "agent.owner_changed",
        "agent.paused",
        "agent.switched_off",
    ]


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
