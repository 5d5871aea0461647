"""Proposing a change of a memory, forgetting it, restoring a version: the pages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from approvals import services
from approvals.models import Proposal
from memories.actors import SYSTEM
from memories.changes import Forget
from memories.errors import StaleVersion
from memories.models import Agent, AuditEntry, Memory, User
from memories.services import set_paused
from tests import build
from tests.approvals.memory_pages import address, restoring, send, signed_in, text_of
from tests.approvals.pages import Forms
from tests.approvals.pages import address as proposal_address

pytestmark = pytest.mark.django_db


@pytest.fixture
def memory(agent: Agent) -> Memory:
    return build.memory(agent, "Alice drinks tea.\nWith milk.", tags=["tea", "a, b"])


@pytest.fixture
def admin(db: None) -> User:
    return build.person("ada", role="admin")


def actions() -> list[str]:
    return list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))


def test_a_change_is_proposed_and_approved_in_one_act(
    desk: Client, memory: Memory, reviewer: User
) -> None:
    before = len(actions())
    response = send(
        desk, address(memory, "propose"), "Change it", content="Mate.", tags="x"
    )
    assert response.headers["Location"] == address(memory)
    memory.refresh_from_db()
    assert (memory.content, memory.tags, memory.version) == ("Mate.", ["x"], 2)
    assert actions()[before:] == ["revise.held", "proposal.approved"]
    assert set(AuditEntry.objects.values_list("actor_label", flat=True)[before:]) == {
        "rosa"
    }
    proposal = Proposal.objects.get(op="revise")
    assert (proposal.author, proposal.status) == (reviewer, "approved")
    page = text_of(desk.get(address(memory)))
    assert "Approved: Revise 1 semantic memory of" in page
    assert "Undo" in page


def test_what_was_approved_in_the_same_act_can_be_undone(
    desk: Client, memory: Memory
) -> None:
    send(desk, address(memory, "propose"), "Change it", content="Mate.")
    send(desk, address(memory), "Undo")
    memory.refresh_from_db()
    assert memory.content == "Alice drinks tea.\nWith milk."
    assert Proposal.objects.get(op="revise").status == "pending"


def test_a_change_can_be_left_to_somebody_else(desk: Client, memory: Memory) -> None:
    send(desk, address(memory, "propose"), "Propose only", content="Mate.")
    memory.refresh_from_db()
    assert memory.version == 1
    proposal = Proposal.objects.get(op="revise")
    assert proposal.is_pending
    page = text_of(desk.get(address(memory)))
    assert "It waits in the queue." in page
    assert "omebody else" not in page
    assert f'href="{proposal_address(proposal)}"' in page


@pytest.mark.case("G11")
def test_what_was_left_untouched_is_no_change(desk: Client, agent: Agent) -> None:
    odd = build.memory(agent, "one\r\ntwo\n three ", tags=["a\nb", " c"])
    instant = timezone.now() + timedelta(days=1, microseconds=7)
    Memory.objects.filter(pk=odd.pk).update(expires_at=instant)
    entries = len(actions())
    response = send(desk, address(odd, "propose"), "Change it")
    assert response.headers["Location"] == address(odd)
    assert "Nothing changed, so nothing was written." in text_of(desk.get(address(odd)))
    assert len(actions()) == entries
    odd.refresh_from_db()
    assert (odd.version, odd.content) == (1, "one\r\ntwo\n three ")


def test_the_expiry_can_be_set_and_taken_away(desk: Client, memory: Memory) -> None:
    send(desk, address(memory, "propose"), "Change it", expires_at="2090-05-03T12:00")
    memory.refresh_from_db()
    assert memory.expires_at == datetime(2090, 5, 3, 12, tzinfo=UTC)
    assert memory.content == "Alice drinks tea.\nWith milk."
    assert memory.tags == ["tea", "a, b"]
    send(desk, address(memory, "propose"), "Change it", expires_at="")
    memory.refresh_from_db()
    assert memory.expires_at is None


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"content": ""}, "The text is empty."),
        ({"content": " \u200b\n"}, "no visible character"),
        ({"content": "x" * 70_000}, "MAX_CONTENT_CHARACTERS"),
        ({"tags": "y" * 3_000}, "MAX_TAG_CHARACTERS"),
        ({"expires_at": "soon"}, "That is no instant"),
        ({"expires_at": "2001-01-01T00:00"}, "The instant is over."),
        ({"expires_at": "9999-12-31T23:59:59-23:00"}, "beyond the calendar"),
    ],
)
def test_what_cannot_be_is_said_and_what_was_typed_is_kept(
    desk: Client, memory: Memory, typed: dict[str, str], said: str
) -> None:
    sent = {"content": "Kept as typed.", **typed}
    form = Forms(desk.get(address(memory, "propose"))).by_button("Change it")
    response = desk.post(form.action, {**form.data, **sent})
    assert response.status_code == 422
    assert said in text_of(response)
    if sent["content"]:
        assert sent["content"][:50] in text_of(response)
    assert not Proposal.objects.filter(op="revise").exists()


def test_a_change_drafted_on_an_older_version_is_409_with_both_texts(
    desk: Client, memory: Memory
) -> None:
    opened = Forms(desk.get(address(memory, "propose")))
    build.approve(build.revising(memory, "Alice drinks coffee."))
    response = send(desk, "", "Change it", forms=opened, content="Alice drinks mate.")
    assert response.status_code == 409
    page = text_of(response)
    assert "moved on to version 2" in page
    assert "<del>coffee</del>" in page
    assert "<ins>mate</ins>" in page
    memory.refresh_from_db()
    assert memory.content == "Alice drinks coffee."

    form = Forms(response).by_button("Change it")
    assert form.fields["content"] == "Alice drinks mate."
    assert form.fields["base_version"] == "2"
    send(desk, "", "Change it", forms=Forms(response))
    memory.refresh_from_db()
    assert (memory.content, memory.version) == ("Alice drinks mate.", 3)


def test_a_form_with_another_fault_still_speaks_of_the_version_it_was_drafted_on(
    desk: Client, memory: Memory
) -> None:
    opened = Forms(desk.get(address(memory, "propose")))
    build.approve(build.revising(memory, "Alice drinks coffee."))
    faulty = send(desk, "", "Change it", forms=opened, content="Mine.", expires_at="soon")
    assert faulty.status_code == 422
    assert Forms(faulty).by_button("Change it").fields["base_version"] == "1"
    again = send(desk, "", "Change it", forms=Forms(faulty), expires_at="")
    assert again.status_code == 409


def test_a_change_of_what_ended_meanwhile_is_409(desk: Client, memory: Memory) -> None:
    opened = Forms(desk.get(address(memory, "propose")))
    build.approve(build.forgetting(memory.agent, memory))
    response = send(desk, "", "Change it", forms=opened, content="Mate.")
    assert response.status_code == 409
    assert "The memory is forgotten" in text_of(response)


def test_short_term_memory_changes_at_once(desk: Client, agent: Agent) -> None:
    note = build.short_term(agent, "hello")
    send(desk, address(note, "propose"), "Change it", content="good morning")
    note.refresh_from_db()
    assert note.content == "good morning"
    assert actions()[-1] == "revise.applied"
    send(desk, address(note, "forget"), "Forget it")
    note.refresh_from_db()
    assert note.state == "forgotten"
    assert not Proposal.objects.exists()


def test_of_a_paused_agent_short_term_memory_is_held_and_approved(
    desk: Client, agent: Agent
) -> None:
    note = build.short_term(agent, "hello")
    set_paused(agent, True, actor=SYSTEM)
    send(desk, address(note, "propose"), "Change it", content="good morning")
    assert actions()[-2:] == ["revise.held", "proposal.approved"]


def test_a_reviewer_forgets_with_proposal_and_approval(
    desk: Client, memory: Memory
) -> None:
    send(desk, address(memory, "forget"), "Forget it")
    memory.refresh_from_db()
    assert memory.state == "forgotten"
    assert actions()[-2:] == ["forget.held", "proposal.approved"]


def test_an_admin_forgets_in_one_step_whatever_else_holds(
    admin: User, memory: Memory
) -> None:
    Agent.objects.update(owner=admin)
    set_paused(memory.agent, True, actor=SYSTEM)
    page = signed_in(admin)
    assert "An admin forgets in one step" in text_of(page.get(address(memory, "forget")))
    send(page, address(memory, "forget"), "Forget it")
    memory.refresh_from_db()
    assert memory.state == "forgotten"
    assert actions()[-1] == "forget.applied"
    assert not Proposal.objects.filter(op="forget").exists()


def test_where_a_second_person_is_required_an_admins_forget_waits_too(
    admin: User, desk: Client, memory: Memory, settings: Settings
) -> None:
    settings.REQUIRE_SECOND_PERSON = True
    page = signed_in(admin)
    assert "a second person approves it" in text_of(page.get(address(memory, "forget")))
    # Also where the form is made by hand.
    page.post(address(memory, "forget"), {"base_version": 1, "approve": "1"})
    memory.refresh_from_db()
    assert memory.state == "live"
    proposal = Proposal.objects.get(op="forget")
    landed = text_of(page.get(address(memory)))
    assert f'href="{proposal_address(proposal)}"' in landed
    assert "Undo" not in landed
    build.approve(proposal, User.objects.get(username="rosa"))
    memory.refresh_from_db()
    assert memory.state == "forgotten"


def test_an_admin_still_needs_a_second_person_to_change_a_text(
    admin: User, memory: Memory, settings: Settings
) -> None:
    settings.REQUIRE_SECOND_PERSON = True
    send(signed_in(admin), address(memory, "propose"), "Propose it", content="Mate.")
    assert Proposal.objects.get(op="revise").is_pending


def test_what_moved_on_is_not_forgotten_unseen(desk: Client, memory: Memory) -> None:
    opened = Forms(desk.get(address(memory, "forget")))
    build.approve(build.revising(memory, "Alice drinks coffee."))
    response = send(desk, "", "Forget it", forms=opened)
    assert response.status_code == 409
    assert "Alice drinks coffee." in text_of(response)
    memory.refresh_from_db()
    assert memory.state == "live"
    send(desk, "", "Forget it", forms=Forms(response))
    memory.refresh_from_db()
    assert memory.state == "forgotten"


def test_twice_the_same_button_has_one_effect(desk: Client, memory: Memory) -> None:
    opened = Forms(desk.get(address(memory, "forget")))
    send(desk, "", "Forget it", forms=opened)
    again = send(desk, "", "Forget it", forms=opened)
    assert again.status_code == 409
    assert "The memory is forgotten" in text_of(again)


def test_a_forget_that_an_agent_proposed_already_is_shown_not_doubled(
    desk: Client, memory: Memory
) -> None:
    build.forgetting(memory.agent, memory)
    send(desk, address(memory, "forget"), "Forget it")
    assert Proposal.objects.filter(op="forget").count() == 1
    assert "The same is proposed already." in text_of(desk.get(address(memory)))
    memory.refresh_from_db()
    assert memory.state == "live"


def test_a_version_is_restored_as_a_new_one(desk: Client, agent: Agent) -> None:
    memory = build.memory(agent, "one", tags=["t"], metadata={"k": 1})
    build.approve(build.revising(memory, "two"), tags=("u",))
    memory.refresh_from_db()
    page = text_of(desk.get(restoring(memory, 1)))
    assert "<del>two</del>" in page
    assert "<ins>one</ins>" in page
    send(desk, restoring(memory, 1), "Restore it")
    memory.refresh_from_db()
    assert (memory.content, memory.tags, memory.metadata) == ("one", ["t"], {"k": 1})
    assert memory.version == 3
    assert actions()[-2:] == ["revise.held", "proposal.approved"]


def test_restoring_keeps_the_expiry(desk: Client, memory: Memory) -> None:
    build.approve(build.revising(memory, "two"))
    memory.refresh_from_db()
    build.approve(build.expiring(memory.agent, memory, ttl_seconds=3_600))
    send(desk, restoring(memory, 1), "Restore it")
    memory.refresh_from_db()
    assert memory.content == "Alice drinks tea.\nWith milk."
    assert memory.expires_at is not None


def test_restoring_what_it_says_already_writes_nothing(
    desk: Client, memory: Memory
) -> None:
    entries = len(actions())
    response = desk.post(restoring(memory, 1), {"base_version": 1, "approve": 1})
    assert response.headers["Location"] == address(memory)
    assert len(actions()) == entries


def test_what_moved_on_is_not_restored_unseen(desk: Client, memory: Memory) -> None:
    build.approve(build.revising(memory, "two"))
    opened = Forms(desk.get(restoring(memory, 1)))
    memory.refresh_from_db()
    build.approve(build.revising(memory, "three"))
    response = send(desk, "", "Restore it", forms=opened)
    assert response.status_code == 409
    assert "<del>three</del>" in text_of(response)
    memory.refresh_from_db()
    assert memory.content == "three"


def test_when_the_audit_fails_nothing_happens(
    desk: Client, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> None:
        raise RuntimeError("the disk is full")

    monkeypatch.setattr("memories.audit.append", failing)
    with pytest.raises(RuntimeError):
        send(desk, address(memory, "propose"), "Change it", content="Mate.")
    memory.refresh_from_db()
    assert memory.version == 1
    assert not Proposal.objects.filter(op="revise").exists()


def test_the_gate_itself_forgets_nothing_unseen(memory: Memory, reviewer: User) -> None:
    build.approve(build.revising(memory, "Alice drinks coffee."))
    entries = len(actions())
    change = Forget(agent=memory.agent_id, memory_type="semantic", memory_ids=(memory.pk,))
    with pytest.raises(StaleVersion):
        services.propose(change, author=reviewer, seen_version=1, approve=True)
    memory.refresh_from_db()
    assert (memory.state, memory.version) == ("live", 2)
    assert len(actions()) == entries
    assert not Proposal.objects.filter(op="forget").exists()
