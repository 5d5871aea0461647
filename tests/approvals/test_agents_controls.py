"""What admins change about an agent: its name, its owner, its pause, itself."""

from __future__ import annotations

import json
import re

import pytest
from django.test import Client

from memories import audit
from memories.actors import SYSTEM, Actor
from memories.errors import Impossible
from memories.models import Agent, AuditEntry, Memory, User
from memories.services import edit_agent
from tests import build
from tests.approvals.pages import Forms

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(db: None) -> User:
    return build.person("ada", role="admin")


@pytest.fixture
def office(admin: User) -> Client:
    client = Client()
    client.force_login(admin)
    return client


def press(client: Client, agent: Agent, button: str) -> str:
    """Press a button of the agent's page, and return the page that follows."""
    form = Forms(client.get(f"/agents/{agent.pk}/")).by_button(button)
    response = client.post(form.action, form.data, follow=True)
    assert response.status_code == 200
    return str(response.content.decode())


def actions(agent: Agent) -> list[str]:
    entries = AuditEntry.objects.filter(agent=agent).order_by("sequence")
    return [e.action for e in entries if e.actor_label == "ada"]


def test_a_pause_holds_short_term_memory_too_until_it_ends(
    office: Client, api: build.Api
) -> None:
    agent = api.agent
    page = office.get(f"/agents/{agent.pk}/").content.decode()
    assert "every change waits for a person, short-term memory too" in page

    said = press(office, agent, "Pause")
    assert "is paused: every change waits for a person now." in said
    assert api.amp("remember", "episodic", content="Hello.").status_code == 202
    assert Memory.objects.count() == 0

    press(office, agent, "Resume")
    assert api.amp("remember", "episodic", content="Hello again.").status_code == 200
    assert actions(agent) == ["agent.paused", "agent.resumed"]


def test_a_switched_off_agent_is_shut_out_until_it_is_switched_on(
    office: Client, api: build.Api
) -> None:
    said = press(office, api.agent, "Switch off")
    assert "its keys are refused from now on" in said
    assert api.client.get("/api/v1/whoami").status_code == 401
    press(office, api.agent, "Switch on")
    assert api.client.get("/api/v1/whoami").status_code == 200
    assert actions(api.agent) == ["agent.switched_off", "agent.switched_on"]


def test_a_button_pressed_twice_does_its_one_thing_once(
    office: Client, agent: Agent
) -> None:
    for _ in range(2):
        office.post(f"/agents/{agent.pk}/pause/", {"to": "on"})
    agent.refresh_from_db()
    assert agent.is_paused
    assert actions(agent) == ["agent.paused"]


def test_an_address_typed_again_changes_nothing(office: Client, agent: Agent) -> None:
    for act in ("pause", "switch"):
        response = office.get(f"/agents/{agent.pk}/{act}/")
        assert response.headers["Location"] == f"/agents/{agent.pk}/"
        assert office.post(f"/agents/{agent.pk}/{act}/", {"to": "odd"}).status_code == 302
    assert "nothing was changed" in office.get(f"/agents/{agent.pk}/").content.decode()
    assert actions(agent) == []


def test_a_name_and_an_owner_are_changed_and_each_is_kept_in_the_audit(
    office: Client, agent: Agent, reviewer: User
) -> None:
    address = f"/agents/{agent.pk}/edit/"
    response = office.post(address, {"name": "Billing", "owner": f"{reviewer.pk}"})
    assert response.headers["Location"] == f"/agents/{agent.pk}/"
    page = office.get(f"/agents/{agent.pk}/").content.decode()
    assert "Billing" in page
    assert "rosa" in page

    shown = Forms(office.get(address)).by_button("Save")
    assert shown.fields["name"] == "Billing"
    assert shown.fields["owner"] == f"{reviewer.pk}"
    office.post(address, shown.data)
    office.post(address, {**shown.data, "owner": ""})

    entries = AuditEntry.objects.filter(agent=agent, actor_label="ada").order_by("sequence")
    assert [(e.action, json.loads(e.payload or "")) for e in entries] == [
        ("agent.renamed", {"from": "", "to": "Billing"}),
        ("agent.owner_changed", {"from": None, "to": reviewer.pk}),
        ("agent.owner_changed", {"from": reviewer.pk, "to": None}),
    ]
    assert not any(isinstance(found, audit.Break) for found in audit.verify())


def test_an_owner_made_here_decides_none_of_its_proposals(
    office: Client, desk: Client, agent: Agent, reviewer: User
) -> None:
    proposal = build.held(agent)
    assert "Approve" in Forms(desk.get(f"/proposals/{proposal.pk}/")).buttons
    office.post(f"/agents/{agent.pk}/edit/", {"owner": f"{reviewer.pk}"})
    page = desk.get(f"/proposals/{proposal.pk}/").content.decode()
    assert "You own this agent" in page


def test_a_name_that_is_too_long_is_said_at_its_field(office: Client, agent: Agent) -> None:
    response = office.post(f"/agents/{agent.pk}/edit/", {"name": "x" * 256})
    assert response.status_code == 422
    assert "at most 255" in response.content.decode()
    assert actions(agent) == []


def test_an_owner_who_left_stays_until_somebody_else_is_chosen(
    office: Client, agent: Agent, reviewer: User
) -> None:
    address = f"/agents/{agent.pk}/edit/"
    office.post(address, {"owner": f"{reviewer.pk}"})
    User.objects.filter(pk=reviewer.pk).update(is_active=False)
    gone = build.person("gone")
    User.objects.filter(pk=gone.pk).update(is_active=False)

    form = Forms(office.get(address)).by_button("Save")
    assert form.fields["owner"] == f"{reviewer.pk}"
    assert office.post(address, {**form.data, "name": "New"}).status_code == 302
    assert office.post(address, {"owner": f"{gone.pk}"}).status_code == 422


@pytest.mark.case("D17")
def test_a_limited_admin_chooses_an_owner_among_those_who_see_the_agent(
    agent: Agent,
) -> None:
    other = build.agent()
    build.person("colleague", agents=[agent.agent_id])
    build.person("stranger", agents=[other.agent_id])
    build.person("overseer")
    client = Client()
    client.force_login(build.person("limited", role="admin", agents=[agent.agent_id]))
    page = client.get(f"/agents/{agent.pk}/edit/").content.decode()
    assert "colleague" in page
    assert "overseer" in page
    assert "stranger" not in page


@pytest.mark.parametrize("role", ["viewer", "reviewer"])
@pytest.mark.parametrize("act", ["edit", "pause", "switch"])
def test_who_only_looks_changes_nothing(agent: Agent, role: str, act: str) -> None:
    client = Client()
    client.force_login(build.person(role=role))
    response = client.post(f"/agents/{agent.pk}/{act}/", {"to": "on", "name": "Mine"})
    assert response.status_code == 403
    assert "Only admins manage agents" in response.content.decode()
    entries = AuditEntry.objects.filter(agent=agent)
    assert [entry.action for entry in entries] == ["agent.created"]


@pytest.mark.case("D17")
@pytest.mark.parametrize("role", ["viewer", "reviewer", "admin"])
@pytest.mark.parametrize("act", ["edit", "pause", "switch"])
def test_an_agent_that_one_may_not_see_cannot_be_changed(
    agent: Agent, role: str, act: str
) -> None:
    client = Client()
    client.force_login(build.person(role=role, agents=[build.agent().agent_id]))
    address = f"/agents/{agent.pk}/{act}/"
    assert client.get(address).status_code == 404
    assert client.post(address, {"to": "on", "name": "Mine"}).status_code == 404
    entries = AuditEntry.objects.filter(agent=agent)
    assert [entry.action for entry in entries] == ["agent.created"]


@pytest.mark.case("G27")
@pytest.mark.parametrize("act", ["edit", "pause", "switch"])
def test_nothing_is_changed_without_the_forms_token(
    admin: User, agent: Agent, act: str
) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(admin)
    data = {"to": "on", "name": "Mine"}
    assert client.post(f"/agents/{agent.pk}/{act}/", data).status_code == 403
    assert actions(agent) == []


@pytest.mark.parametrize(
    "page", ["/agents/{pk}/edit/", "/admin/memories/agent/{pk}/change/"]
)
def test_both_pages_offer_the_same_owners(agent: Agent, page: str) -> None:
    for name, agents in (("sees-all", None), ("sees-it", [agent.agent_id]), ("no", [])):
        build.person(name, agents=agents)
    left = build.person("left")
    User.objects.filter(pk=left.pk).update(is_active=False)
    kim = build.person("kim", role="admin", agents=[agent.agent_id])
    client = Client()
    client.force_login(kim)
    text = client.get(page.format(pk=agent.pk)).content.decode()
    offered = re.findall(r'<option value="\d+"[^>]*>([^<]+)</option>', text)
    assert offered == ["kim", "sees-all", "sees-it"]


def test_who_may_not_be_chosen_is_refused_whatever_the_form_said(agent: Agent) -> None:
    kim = build.person("kim", role="admin", agents=[agent.agent_id])
    hidden, left = build.person("hidden", agents=[]), build.person("left")
    User.objects.filter(pk=left.pk).update(is_active=False)
    for owner, actor in ((hidden, Actor.of(kim)), (left, SYSTEM)):
        with pytest.raises(Impossible, match="cannot own"):
            edit_agent(agent, name="", owner=owner, actor=actor)
    agent.refresh_from_db()
    assert agent.owner is None
