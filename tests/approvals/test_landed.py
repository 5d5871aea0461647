"""What an approval let in, and how the index follows: one answer for card and API."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from approvals.models import Proposal
from memories.models import Agent, IndexEntry
from tests import build
from tests.approvals.pages import address


def shown(desk: Client, api: build.Api, proposal: Proposal) -> tuple[Any, str]:
    """The index state by the API and by the card."""
    page = desk.get(address(proposal)).content.decode()
    state = page.partition('class="index" data-state="')[2].partition('"')[0]
    return api.client.get(f"/api/v1/proposals/{proposal.pk}").json()["index"], state


def test_an_unticked_target_is_no_matter_of_the_decision(
    desk: Client, agent: Agent, api: build.Api
) -> None:
    stay, go = build.memory(agent, "stay"), build.memory(agent, "go")
    proposal = build.forgetting(agent, stay, go)
    build.approve(proposal, memory_ids=(go.pk,))
    build.drain()
    IndexEntry.objects.filter(memory=stay).update(indexed_version=0, last_error="odd")
    assert shown(desk, api, proposal) == ("indexed", "indexed")


def test_what_a_new_memory_replaced_counts_as_well(
    desk: Client, agent: Agent, api: build.Api
) -> None:
    old = build.memory(agent, "old")
    proposal = build.held(agent, "new", supersedes=[old.pk])
    build.approve(proposal)
    build.drain()
    IndexEntry.objects.filter(memory=old).update(indexed_version=0, last_error="odd")
    assert shown(desk, api, proposal) == ("failed", "failed")


@pytest.mark.parametrize(("forgotten", "state"), [(False, "queued"), (True, "indexed")])
def test_a_new_collection_waits_for_what_is_live_alone(
    desk: Client, agent: Agent, api: build.Api, forgotten: bool, state: str
) -> None:
    proposal = build.held(agent)
    build.approve(proposal)
    if forgotten:
        build.approve(build.forgetting(agent, build.made_by(proposal)))
    IndexEntry.objects.update(collection="the-one-before")
    assert shown(desk, api, proposal) == (state, state)


def test_a_card_does_not_say_that_what_was_forgotten_is_recalled(
    desk: Client, agent: Agent
) -> None:
    proposal = build.held(agent)
    build.approve(proposal)
    build.drain()
    assert "Agents recall it" in desk.get(address(proposal)).content.decode()
    forget = build.forgetting(agent, build.made_by(proposal))
    build.approve(forget)
    build.drain()
    for one in (proposal, forget):
        text = desk.get(address(one)).content.decode()
        assert "indexed" in text
        assert "Agents recall it" not in text
