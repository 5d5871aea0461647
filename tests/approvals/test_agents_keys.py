"""Keys on the pages: shown in one answer and in no other, then revoked for good."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from memories.ids import new_id
from memories.models import Agent, ApiKey, AuditEntry, User
from memories.services import authenticate
from tests import build
from tests.approvals.pages import Forms, HasContent

pytestmark = pytest.mark.django_db

KEY = re.compile(r"amps_[0-9a-f]{8}_[A-Za-z0-9_-]{43}")


@pytest.fixture
def admin(db: None) -> User:
    return build.person("ada", role="admin")


@pytest.fixture
def office(admin: User) -> Client:
    """A browser in which an admin is signed in."""
    client = Client()
    client.force_login(admin)
    return client


def keys_of(agent: Agent) -> str:
    return f"/agents/{agent.pk}/keys/"


def filled(
    client: Client, address: str, button: str = "Make", **typed: Any
) -> dict[str, Any]:
    """The form of a page with some fields typed over, as a browser would post it."""
    form = Forms(client.get(address)).by_button(button)
    assert form.action == address
    return {**form.data, **typed}


def key_in(response: HasContent) -> str:
    """The one key that the answer shows."""
    (text,) = KEY.findall(response.content.decode())
    return str(text)


def whoami(text: str) -> int:
    return Client(headers={"X-API-Key": text}).get("/api/v1/whoami").status_code


def test_a_new_key_works_and_is_shown_in_the_answer_alone(
    office: Client, agent: Agent
) -> None:
    data = filled(office, keys_of(agent), name="production", scopes=["recall", "remember"])
    response = office.post(keys_of(agent), data)
    assert response.status_code == 201
    text = key_in(response)
    assert "no-store" in response.headers["Cache-Control"]
    assert whoami(text) == 200

    key = ApiKey.objects.get(agent=agent)
    assert (key.name, key.scopes, key.expires_at) == (
        "production",
        ["remember", "recall"],
        None,
    )
    assert text[14:] not in office.get(f"/agents/{agent.pk}/").content.decode()
    assert text[14:] not in str(office.get("/agents/").headers)


def test_the_text_of_a_key_is_kept_nowhere(office: Client, agent: Agent) -> None:
    data = filled(office, keys_of(agent))
    response = office.post(keys_of(agent), data)
    secret = key_in(response)[14:]
    assert secret not in str([s.get_decoded() for s in Session.objects.all()])
    assert secret not in str(list(ApiKey.objects.values()))
    assert secret not in str(list(AuditEntry.objects.values()))
    assert secret not in str(response.headers) + str(response.cookies)
    assert "messages" not in response.cookies


def test_the_same_form_sent_again_makes_no_second_key(office: Client, agent: Agent) -> None:
    data = filled(office, keys_of(agent))
    first = office.post(keys_of(agent), data)
    again = office.post(keys_of(agent), data)
    assert (first.status_code, again.status_code) == (201, 409)
    assert "cannot be shown again" in " ".join(again.content.decode().split())
    assert KEY.search(again.content.decode()) is None
    assert ApiKey.objects.filter(agent=agent).count() == 1
    assert AuditEntry.objects.filter(action="key.created").count() == 1


def test_a_form_opened_again_makes_another_key(office: Client, agent: Agent) -> None:
    for _ in range(2):
        assert (
            office.post(keys_of(agent), filled(office, keys_of(agent))).status_code == 201
        )
    assert ApiKey.objects.filter(agent=agent).count() == 2


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ({"scopes": []}, "Tick at least one"),
        ({"scopes": ["everything"]}, "everything"),
        ({"key_id": ""}, "out of date"),
        ({"key_id": "no-uuid"}, "out of date"),
        ({"last_day": "2020-01-01"}, "today or a later day"),
        ({"last_day": "9999-12-31"}, "today or a later day"),
        ({"last_day": "soon"}, "valid date"),
        ({"name": "x" * 256}, "at most 255"),
    ],
)
def test_a_key_form_that_will_not_do_says_what_to_change(
    office: Client, agent: Agent, typed: dict[str, Any], says: str
) -> None:
    data = filled(office, keys_of(agent), **{"name": "kept", **typed})
    response = office.post(keys_of(agent), data)
    assert response.status_code == 422
    page = response.content.decode()
    assert says in page
    assert data["name"] in page
    assert ApiKey.objects.filter(agent=agent).count() == 0


def test_a_key_ends_with_its_last_day(office: Client, agent: Agent) -> None:
    at = timezone.now() + timedelta(days=1)  # midnight may come before the answer
    text = key_in(
        office.post(keys_of(agent), filled(office, keys_of(agent), last_day=f"{at:%F}"))
    )
    key = ApiKey.objects.get(agent=agent)
    following = at + timedelta(days=1)
    assert key.expires_at == datetime(
        following.year, following.month, following.day, tzinfo=UTC
    )
    assert whoami(text) == 200
    ApiKey.objects.update(expires_at=timezone.now())
    assert whoami(text) == 401
    assert 'data-state="expired"' in office.get(f"/agents/{agent.pk}/").content.decode()


def test_the_last_day_of_the_calendar_is_no_error(office: Client, agent: Agent) -> None:
    data = filled(office, keys_of(agent), last_day=f"{date(9999, 12, 30)}")
    assert office.post(keys_of(agent), data).status_code == 201
    assert office.get(f"/agents/{agent.pk}/").status_code == 200


def test_a_key_is_revoked_in_two_steps_and_answers_401(
    office: Client, agent: Agent
) -> None:
    text = key_in(office.post(keys_of(agent), filled(office, keys_of(agent))))
    key = ApiKey.objects.get(agent=agent)
    address = f"{keys_of(agent)}{key.pk}/revoke/"

    asked = office.get(address)
    assert "Revoke this key?" in asked.content.decode()
    assert whoami(text) == 200

    data = filled(office, address, "Revoke")
    for _ in range(2):
        response = office.post(address, data)
        assert response.headers["Location"] == f"/agents/{agent.pk}/"
    assert whoami(text) == 401
    assert AuditEntry.objects.filter(action="key.revoked").count() == 1
    assert "This key is revoked" in office.get(address).content.decode()
    page = office.get(f"/agents/{agent.pk}/").content.decode()
    assert 'data-state="revoked"' in page
    assert address not in page


def test_a_key_of_another_agent_is_not_revoked_through_this_one(
    office: Client, agent: Agent
) -> None:
    other = build.key(build.agent())
    assert office.post(f"{keys_of(agent)}{other.pk}/revoke/").status_code == 404
    other.refresh_from_db()
    assert other.revoked_at is None


def test_a_new_agent_comes_with_a_key_that_works(office: Client, admin: User) -> None:
    data = filled(
        office, "/agents/new/", agent_id="billing-bot", name="Billing", owner=f"{admin.pk}"
    )
    response = office.post("/agents/new/", {**data, "scopes": ["recall"]})
    assert response.status_code == 201
    text = key_in(response)
    made = Agent.objects.get(agent_id="billing-bot")
    assert (made.name, made.owner) == ("Billing", admin)
    key = authenticate(text)
    assert key is not None
    assert (key.agent, key.scopes) == (made, ["recall"])
    actions = AuditEntry.objects.filter(agent=made).order_by("sequence")
    assert [(e.action, e.actor_label) for e in actions] == [
        ("agent.created", "ada"),
        ("key.created", "ada"),
    ]

    again = office.post("/agents/new/", data)
    assert again.status_code == 409
    assert "cannot be shown again" in " ".join(again.content.decode().split())
    assert ApiKey.objects.count() == 1


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ({"agent_id": ""}, "required"),
        ({"agent_id": "-odd"}, "begins with a letter"),
        ({"agent_id": "taken"}, "exists already"),
        ({"scopes": []}, "Tick at least one"),
        ({"owner": "999999"}, "not one of the available"),
    ],
)
def test_a_new_agent_that_will_not_do_leaves_nothing_behind(
    office: Client, typed: dict[str, Any], says: str
) -> None:
    build.agent("taken")
    data = filled(office, "/agents/new/", **{"agent_id": "fresh", "name": "kept", **typed})
    response = office.post("/agents/new/", data)
    assert response.status_code == 422
    page = response.content.decode()
    assert says in page
    assert 'value="kept"' in page
    assert (Agent.objects.count(), ApiKey.objects.count()) == (1, 0)


@pytest.mark.parametrize("role", ["viewer", "reviewer"])
def test_nobody_but_an_admin_makes_or_revokes_a_key(agent: Agent, role: str) -> None:
    key = build.key(agent)
    client = Client()
    client.force_login(build.person(role=role))
    data = {"key_id": f"{new_id()}", "scopes": ["recall"], "agent_id": "mine"}
    for address in ("/agents/new/", keys_of(agent), f"{keys_of(agent)}{key.pk}/revoke/"):
        assert client.get(address).status_code == 403
        response = client.post(address, data)
        assert response.status_code == 403
        assert "Only admins" in response.content.decode()
    key.refresh_from_db()
    assert key.revoked_at is None
    assert (Agent.objects.count(), ApiKey.objects.count()) == (1, 1)


@pytest.mark.case("D17")
@pytest.mark.parametrize("role", ["viewer", "reviewer", "admin"])
def test_keys_of_an_agent_that_one_may_not_see_do_not_exist(
    agent: Agent, role: str
) -> None:
    key = build.key(agent)
    client = Client()
    client.force_login(build.person(role=role, agents=[build.agent().agent_id]))
    for address in (keys_of(agent), f"{keys_of(agent)}{key.pk}/revoke/"):
        assert client.get(address).status_code == 404
        data = {"key_id": f"{new_id()}", "scopes": ["recall"]}
        assert client.post(address, data).status_code == 404
    key.refresh_from_db()
    assert key.revoked_at is None
    assert ApiKey.objects.count() == 1


def test_a_limited_admin_makes_keys_of_the_own_agents_and_no_agents(agent: Agent) -> None:
    client = Client()
    client.force_login(build.person(role="admin", agents=[agent.agent_id]))
    assert client.post(keys_of(agent), filled(client, keys_of(agent))).status_code == 201
    assert client.get("/agents/new/").status_code == 403
    data = {"agent_id": "mine", "key_id": f"{new_id()}", "scopes": ["recall"]}
    assert "admin of all agents" in client.post("/agents/new/", data).content.decode()
    assert Agent.objects.count() == 1


@pytest.mark.case("G27")
def test_a_key_is_neither_made_nor_revoked_without_the_forms_token(
    admin: User, agent: Agent
) -> None:
    key = build.key(agent)
    client = Client(enforce_csrf_checks=True)
    client.force_login(admin)
    data = {"key_id": f"{new_id()}", "scopes": ["recall"]}
    for address in (keys_of(agent), f"{keys_of(agent)}{key.pk}/revoke/"):
        assert client.post(address, data).status_code == 403
    key.refresh_from_db()
    assert (key.revoked_at, ApiKey.objects.count()) == (None, 1)


def test_a_key_opens_no_page(api: build.Api) -> None:
    assert api.client.get(keys_of(api.agent)).status_code == 302
    assert api.client.get("/agents/").status_code == 302
