"""Who may change a memory, by which page: roles, owners, limits, agents that are off."""

from __future__ import annotations

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from approvals import services
from approvals.models import Proposal
from memories.actors import SYSTEM
from memories.errors import MemoryNotFound
from memories.models import Agent, AuditEntry, Memory, User
from memories.services import set_active
from tests import build
from tests.approvals.memory_pages import address, restoring, signed_in, text_of
from tests.approvals.pages import Forms

pytestmark = pytest.mark.django_db


@pytest.fixture
def memory(agent: Agent) -> Memory:
    return build.memory(agent, "Alice drinks tea.")


@pytest.fixture
def admin(db: None) -> User:
    return build.person("ada", role="admin")


def actions() -> list[str]:
    return list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))


@pytest.mark.parametrize("why", ["owner", "second person"])
def test_who_may_not_approve_their_own_proposes_and_the_page_says_why(
    desk: Client, memory: Memory, reviewer: User, settings: Settings, why: str
) -> None:
    if why == "owner":
        Agent.objects.update(owner=reviewer)
    else:
        settings.REQUIRE_SECOND_PERSON = True
    said = "You own this agent" if why == "owner" else "a second person approves it"
    page = desk.get(address(memory, "propose"))
    assert said in text_of(page)
    assert "Change it" not in Forms(page).buttons
    # Also where the form is made by hand.
    desk.post(
        address(memory, "propose"), {"base_version": 1, "content": "x", "approve": "1"}
    )
    memory.refresh_from_db()
    assert memory.version == 1
    assert said in text_of(desk.get(address(memory)))
    desk.post(address(memory, "forget"), {"base_version": 1, "approve": "1"})
    memory.refresh_from_db()
    assert memory.state == "live"
    assert Proposal.objects.pending().count() == 2


def test_a_viewer_sees_no_buttons_and_may_do_nothing(memory: Memory) -> None:
    build.approve(build.revising(memory, "two"))
    viewer = signed_in(build.person(role="viewer"))
    page = text_of(viewer.get(address(memory)))
    for text in ("Propose a change", ">Forget<", "Restore version"):
        assert text not in page
    entries = len(actions())
    for where in (
        address(memory, "propose"),
        address(memory, "forget"),
        restoring(memory, 1),
    ):
        assert viewer.get(where).status_code == 403
        posted = viewer.post(where, {"base_version": 2, "content": "x", "approve": "1"})
        assert posted.status_code == 403
        assert "Your role reads" in text_of(posted)
    assert len(actions()) == entries


def test_of_an_agent_that_is_switched_off_nothing_changes(
    desk: Client, memory: Memory, admin: User
) -> None:
    build.approve(build.revising(memory, "two"))
    set_active(memory.agent, False, actor=SYSTEM)
    assert "The agent is switched off" in text_of(desk.get(address(memory)))
    for client in (desk, signed_in(admin)):
        for where in (
            address(memory, "propose"),
            address(memory, "forget"),
            restoring(memory, 1),
        ):
            posted = client.post(where, {"base_version": 2, "content": "x", "approve": "1"})
            assert posted.status_code == 403
            assert "The agent is switched off" in text_of(posted)
    memory.refresh_from_db()
    assert (memory.version, memory.state) == (2, "live")


def test_somebody_unknown_comes_back_to_the_form(memory: Memory) -> None:
    where = address(memory, "propose")
    for response in (Client().get(where), Client().post(where, {"content": "x"})):
        assert response.status_code == 302
        expected = f"/login/?next=%2Fmemories%2F{memory.pk}%2Fpropose%2F"
        assert response.headers["Location"] == expected


def test_a_key_opens_none_of_these_doors(memory: Memory, api: build.Api) -> None:
    for act in ("propose", "forget", "versions/1/restore"):
        data = {"base_version": 1, "content": "x", "approve": "1"}
        assert api.client.post(address(memory, act), data).status_code in {302, 403}
    memory.refresh_from_db()
    assert (memory.version, memory.state) == (1, "live")


def test_the_gate_refuses_an_agent_the_person_may_not_see(memory: Memory) -> None:
    stranger = build.person(agents=[build.agent().agent_id], role="admin")
    change = services.revision_by_hand(memory, content="x", tags=(), expires_at=None)
    assert change is not None
    with pytest.raises(MemoryNotFound):
        services.propose(change, author=stranger, seen_version=1, approve=True)
