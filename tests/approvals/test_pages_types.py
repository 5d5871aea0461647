"""The memory types a reviewer is shown are those of the memories, not the envelope's."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from approvals.models import Proposal
from memories.models import Agent
from tests import build
from tests.approvals.pages import address

QUEUE = "/proposals/"


@pytest.fixture
def claimed(agent: Agent, api: build.Api) -> Proposal:
    """A forget of a procedural memory and a semantic one that says "working"."""
    rule = build.memory(agent, "Ask first.", memory_type="procedural")
    fact = build.memory(agent, "Tea at four.")
    ids = [str(fact.pk), str(rule.pk)]
    response = api.amp("forget", "working", memory_ids=ids)
    return Proposal.objects.get(pk=response.json()["proposal"]["id"])


def row(response: Any) -> str:
    text = response.content.decode().partition('id="queue-list"')[2]
    return str(text.partition("</section>")[0])


def badges(response: Any) -> str:
    text = response.content.decode().partition('class="badges"')[2]
    return str(text.partition("</p>")[0])


def test_a_row_and_a_card_show_the_types_of_the_targets(
    desk: Client, claimed: Proposal
) -> None:
    assert '<span class="type">procedural, semantic</span>' in row(desk.get(QUEUE))
    shown = badges(desk.get(address(claimed)))
    assert 'class="badge">procedural</span><span class="badge">semantic</span>' in shown
    assert "working" not in shown


@pytest.mark.parametrize(("wanted", "count"), [("procedural", 1), ("working", 0)])
def test_the_filter_goes_by_the_types_of_the_targets(
    desk: Client, claimed: Proposal, wanted: str, count: int
) -> None:
    assert row(desk.get(f"{QUEUE}?type={wanted}")).count('class="row"') == count


def test_the_api_keeps_the_type_of_the_envelope(api: build.Api, claimed: Proposal) -> None:
    shown = api.client.get(f"/api/v1/proposals/{claimed.pk}").json()
    assert shown["memory_type"] == "working"


def test_the_sentence_names_a_type_where_there_is_one(desk: Client, agent: Agent) -> None:
    rule = build.memory(agent, "Ask first.", memory_type="procedural")
    fact = build.memory(agent, "Tea at four.")
    mixed = build.forgetting(agent, rule, fact)
    for proposal, sentence in (
        (build.forgetting(agent, rule), f"Forget 1 procedural memory of {agent.agent_id}"),
        (build.expiring(agent, rule), "Expire 1 procedural memory of"),
        (mixed, "Forget 2 memories of"),
        (
            build.merging(agent, rule, fact),
            f"Merge 2 memories of {agent.agent_id} into 1 semantic memory",
        ),
        (
            build.held(agent, "new", supersedes=[rule.pk]),
            f"Replace 1 procedural memory of {agent.agent_id} by 1 semantic one",
        ),
    ):
        assert sentence in desk.get(address(proposal)).content.decode()
    build.approve(mixed, memory_ids=(rule.pk,))
    assert "Forget 1 procedural memory" in desk.get(address(mixed)).content.decode()
