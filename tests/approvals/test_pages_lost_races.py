"""A card that is no longer true: stale, decided, withdrawn or rebased meanwhile."""

from __future__ import annotations

import pytest
from django.test import Client

from approvals import services
from approvals.models import Decision
from memories.models import Agent, Memory
from tests import build
from tests.approvals.pages import Forms, address, card, press


def texts(agent: Agent) -> list[str]:
    return list(Memory.objects.live().filter(agent=agent).values_list("content", flat=True))


@pytest.mark.case("G5")
@pytest.mark.parametrize("headers", [{}, build.HTMX])
def test_the_second_replacement_turns_stale_and_cannot_be_approved(
    desk: Client, agent: Agent, headers: dict[str, str]
) -> None:
    memory = build.memory(agent, "Tea at four.")
    first = build.held(agent, "Tea at five.", supersedes=[memory.pk])
    second = build.held(agent, "Tea at six.", supersedes=[memory.pk])
    opened = card(desk, second)
    press(desk, first, "Approve")

    response = press(
        desk,
        second,
        "Edit and approve",
        forms=opened,
        headers=headers,
        content="Tea at seven.",
    )

    text = response.content.decode()
    assert response.status_code == 409
    assert "moved on" in text
    for heading in ("As drafted", "As it is now", "As proposed"):
        assert heading in text
    assert "Tea at seven." in text  # nothing typed is lost
    assert texts(agent) == ["Tea at five."]


@pytest.mark.case("G6")
def test_a_memory_edited_meanwhile_makes_the_proposal_stale_until_rebased(
    desk: Client, agent: Agent
) -> None:
    memory = build.memory(agent, "Tea at four.")
    proposal = build.held(agent, "Tea at five.", supersedes=[memory.pk])
    opened = card(desk, proposal)
    build.approve(build.revising(memory, "Tea at four, always."))
    refused = press(desk, proposal, "Approve", forms=opened)
    assert refused.status_code == 409

    rebased = press(desk, proposal, "Rebase", forms=Forms(refused))
    assert rebased.headers["Location"] == address(proposal)
    page = desk.get(address(proposal))
    assert "Rebased on what is true now" in page.content.decode()
    press(desk, proposal, "Approve", forms=Forms(page))

    assert texts(agent) == ["Tea at five."]


def test_what_was_typed_survives_a_409_and_the_rebase(desk: Client, agent: Agent) -> None:
    memory = build.memory(agent, "Tea at four.")
    proposal = build.held(agent, "Tea at five.", supersedes=[memory.pk])
    opened = card(desk, proposal)
    build.approve(build.revising(memory, "Tea at four, always."))
    refused = press(desk, proposal, "Edit", forms=opened, content="Tea at nine.")
    fresh = press(desk, proposal, "Rebase", forms=Forms(refused))
    assert Forms(fresh).by_button("Edit and approve").fields["content"] == "Tea at nine."
    press(desk, proposal, "Edit and approve", forms=Forms(fresh))
    assert texts(agent) == ["Tea at nine."]


@pytest.mark.case("G7")
@pytest.mark.parametrize("button", ["Approve", "Edit and approve", "Reject"])
@pytest.mark.parametrize("headers", [{}, build.HTMX])
def test_who_comes_second_reads_who_and_when(
    desk: Client, agent: Agent, button: str, headers: dict[str, str]
) -> None:
    proposal = build.held(agent, "text")
    opened = card(desk, proposal)
    build.approve(proposal, build.person("sam"))

    typed = {"comment": "my comment"} if button == "Reject" else {}
    response = press(desk, proposal, button, forms=opened, headers=headers, **typed)

    text = response.content.decode()
    assert response.status_code == 409
    assert "Already approved by sam at" in text
    assert "my comment" in text or not typed
    assert Decision.objects.filter(proposal=proposal).count() == 1


@pytest.mark.case("G17")
def test_pressing_twice_has_one_effect(desk: Client, agent: Agent) -> None:
    proposal = build.held(agent)
    opened = card(desk, proposal)
    codes = [press(desk, proposal, "Approve", forms=opened).status_code for _ in range(2)]
    assert codes == [302, 409]
    assert len(texts(agent)) == 1


@pytest.mark.case("G18")
def test_a_withdrawn_proposal_cannot_be_approved(
    desk: Client, agent: Agent, api: build.Api
) -> None:
    proposal = build.held(agent)
    opened = card(desk, proposal)
    services.withdraw(proposal.pk, by=api.key)
    response = press(desk, proposal, "Approve", forms=opened)
    assert response.status_code == 409
    assert "The agent withdrew it." in response.content.decode()
    assert texts(agent) == []


@pytest.mark.case("G28")
def test_a_rebase_by_somebody_else_calls_for_a_fresh_look(
    desk: Client, agent: Agent
) -> None:
    memory = build.memory(agent, "Tea at four.")
    proposal = build.held(agent, "Tea at five.", supersedes=[memory.pk])
    build.approve(build.revising(memory, "Tea at four, always."))
    opened = card(desk, proposal)
    services.rebase(proposal.pk, reviewer=build.person(), seen=build.seen(proposal))

    response = press(desk, proposal, "Approve", forms=opened)

    assert response.status_code == 409
    assert "changed since it was shown" in response.content.decode()
    press(desk, proposal, "Approve", forms=Forms(response))
    assert texts(agent) == ["Tea at five."]


@pytest.mark.case("G28")
def test_a_card_from_before_a_rebase_that_dropped_a_target_gets_the_fresh_one(
    desk: Client, agent: Agent
) -> None:
    gone, *others = (build.memory(agent, text) for text in ("a", "b", "c"))
    proposal = build.forgetting(agent, gone, *others)
    build.approve(build.forgetting(agent, gone))
    opened = card(desk, proposal)
    services.rebase(proposal.pk, reviewer=build.person(), seen=build.seen(proposal))
    address_of_form = address(proposal, "approve")
    seen = opened.by_button("Reject").fields["seen"]

    both = {"seen": seen, "targets_shown": "1", "memory_ids": [gone.pk, others[0].pk]}
    response = desk.post(address_of_form, both)

    assert response.status_code == 409
    assert "changed since it was shown" in response.content.decode()
    assert str(gone.pk) not in Forms(response).by_button("Edit").ticked["memory_ids"]
    assert len(texts(agent)) == 2


def test_a_form_without_seen_decides_nothing(desk: Client, agent: Agent) -> None:
    for act in ("approve", "reject"):
        assert desk.post(address(build.held(agent), act)).status_code == 409
    assert not Decision.objects.exists()
