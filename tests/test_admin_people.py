"""People and agents in the admin: changed by the services, judged, and audited."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from memories import audit
from memories.actors import SYSTEM, Actor
from memories.errors import Impossible, NotAllowed
from memories.models import Agent, AuditEntry, User
from memories.services import authenticate, create_person, edit_person
from tests import build
from tests.admin_pages import page_of, signed_in, text_of

pytestmark = pytest.mark.django_db

PASSWORD = "correct horse battery"


@pytest.fixture
def ada(db: None) -> User:
    return build.person("ada", role="admin")


@pytest.fixture
def admin(ada: User) -> Client:
    return signed_in(ada)


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


@pytest.mark.parametrize(
    ("name", "says"),
    [("", "empty"), ("a b", "valid username"), ("x" * 151, "at most 150")],
)
def test_no_door_makes_a_person_whose_name_will_not_do(
    db: None, name: str, says: str
) -> None:
    with pytest.raises(Impossible, match=says):
        create_person(name, password=PASSWORD, role="viewer", actor=SYSTEM)
    assert not User.objects.exists()


def test_the_audit_keeps_the_name_that_the_person_got(db: None) -> None:
    made = create_person("\uff41da", password=PASSWORD, role="viewer", actor=SYSTEM)
    assert made.username == "ada"
    payload = json.loads(AuditEntry.objects.get(action="user.created").payload or "")
    assert payload["username"] == "ada"
