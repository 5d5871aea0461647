"""Who may decide in the browser: no key, no forged form, and not everybody who may look."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client

from approvals.models import Decision, Proposal
from memories.actors import SYSTEM
from memories.errors import NotAllowed
from memories.models import Agent, AuditEntry, IndexEntry, Memory, User
from memories.services import set_active
from tests import build
from tests.approvals.pages import address, press

KEYS: list[Any] = ["Bearer {}", "bearer {}", "Api-Key {}", None]


@pytest.mark.case("G1")
@pytest.mark.parametrize("scheme", KEYS)
@pytest.mark.parametrize("act", ["approve", "reject", "rebase", "retry"])
@pytest.mark.parametrize("signed_in", [True, False])
def test_a_key_decides_nothing_by_any_page(
    desk: Client, agent: Agent, api: build.Api, scheme: Any, act: str, signed_in: bool
) -> None:
    proposal = build.held(agent)
    client = desk if signed_in else Client(enforce_csrf_checks=True)
    header = (
        {"Authorization": scheme.format(api.text)} if scheme else {"X-API-Key": api.text}
    )

    response = client.post(
        address(proposal, act), {"seen": build.seen(proposal)}, headers=header
    )

    assert response.status_code == 403
    assert response.headers["Content-Type"] == "application/problem+json"
    assert response.json()["code"] == "agents_cannot_decide"
    proposal.refresh_from_db()
    assert proposal.is_pending
    refused = AuditEntry.objects.get(action="decision.refused")
    assert refused.proposal_id == proposal.pk
    assert act in (refused.payload or "")


def test_a_page_takes_no_key_for_a_session(agent: Agent, api: build.Api) -> None:
    response = api.client.get(address(build.held(agent)))
    assert response.status_code == 302


@pytest.mark.case("G27")
def test_a_basic_header_switches_no_csrf_check_off(agent: Agent, reviewer: User) -> None:
    proposal = build.held(agent)
    client = Client(enforce_csrf_checks=True)
    client.force_login(reviewer)
    response = client.post(
        address(proposal, "approve"),
        {"seen": build.seen(proposal)},
        headers={"Authorization": "Basic cm9zYTp4"},
    )
    assert response.status_code == 403
    assert "out of date" in response.content.decode()
    assert not Memory.objects.exists()


@pytest.mark.case("G27")
def test_identity_is_the_sessions_whatever_the_form_says(
    desk: Client, agent: Agent, reviewer: User
) -> None:
    build.person("boss", role="admin")
    proposal = build.held(agent)
    press(desk, proposal, "Approve", reviewer="boss", user="boss", username="boss")
    assert Decision.objects.get(proposal=proposal).reviewer == reviewer


@pytest.mark.case("G27")
def test_a_wrong_host_is_refused(desk: Client, agent: Agent) -> None:
    response = desk.get(address(build.held(agent)), headers={"Host": "evil.example"})
    assert response.status_code == 400


def test_an_old_form_in_htmx_reloads_the_page_with_a_sentence(
    agent: Agent, reviewer: User
) -> None:
    proposal = build.held(agent)
    client = Client(enforce_csrf_checks=True)
    client.force_login(reviewer)
    here = f"http://testserver{address(proposal)}"
    response = client.post(
        address(proposal, "approve"), headers={**build.HTMX, "HX-Current-URL": here}
    )
    assert response.headers["HX-Redirect"] == address(proposal)
    page = client.get(address(proposal)).content.decode()
    assert "nothing was decided" in page


def test_an_old_form_leads_to_no_other_site(agent: Agent, reviewer: User) -> None:
    proposal = build.held(agent)
    client = Client(enforce_csrf_checks=True)
    client.force_login(reviewer)
    here = {"HX-Current-URL": "http://testserver//evil.example/x"}
    response = client.post(address(proposal, "approve"), headers={**build.HTMX, **here})
    assert response.headers["HX-Redirect"] == "/"


@pytest.mark.parametrize("act", ["approve", "reject", "rebase"])
def test_a_viewer_is_refused_and_that_is_kept(agent: Agent, act: str) -> None:
    proposal = build.held(agent)
    viewer = build.person("vic", role="viewer")
    client = Client()
    client.force_login(viewer)
    response = client.post(address(proposal, act), {"seen": build.seen(proposal)})
    assert response.status_code == 403
    assert Proposal.objects.pending().count() == 1
    assert AuditEntry.objects.get(action="decision.refused").actor_label == "vic"


def test_the_owner_of_the_agent_is_refused(reviewer: User, desk: Client) -> None:
    proposal = build.held(build.agent(owner=reviewer))
    response = desk.post(address(proposal, "approve"), {"seen": build.seen(proposal)})
    assert response.status_code == 403
    assert "You own this agent" in response.content.decode()


def test_an_agent_that_is_switched_off_can_only_be_rejected(
    desk: Client, agent: Agent
) -> None:
    proposal = build.held(agent)
    set_active(agent, False, actor=SYSTEM)
    assert "switched off" in desk.get(address(proposal)).content.decode()
    assert press(desk, proposal, "Approve").status_code == 403
    assert press(desk, proposal, "Reject").status_code == 302


def test_who_proposed_waits_for_a_second_person(
    desk: Client, agent: Agent, reviewer: User, settings: LazySettings
) -> None:
    settings.REQUIRE_SECOND_PERSON = True
    proposal = build.held(agent)
    Proposal.objects.filter(pk=proposal.pk).update(author=reviewer, author_key=None)
    assert "a second person approves it" in desk.get(address(proposal)).content.decode()
    assert press(desk, proposal, "Approve").status_code == 403


def test_a_viewer_asks_for_no_retry(agent: Agent) -> None:
    proposal = build.held(agent)
    build.approve(proposal)
    IndexEntry.objects.update(last_error="odd")
    client = Client()
    client.force_login(build.person(role="viewer"))
    assert client.post(address(proposal, "retry")).status_code == 403
    assert IndexEntry.objects.get().last_error == "odd"


def test_a_card_says_beforehand_what_a_refusal_would_say(reviewer: User) -> None:
    viewer = build.person("vic", role="viewer")
    proposal = build.held(build.agent(owner=reviewer))
    for person in (viewer, reviewer):
        client = Client()
        client.force_login(person)
        card = client.get(address(proposal)).content.decode()
        with pytest.raises(NotAllowed) as refused:
            build.approve(proposal, person)
        assert f'<p class="why">{refused.value}</p>' in card
