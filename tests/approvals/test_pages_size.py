"""Cards of bounded size, whatever an agent names: texts there is no room for are shown by
their beginning and lead to a page of their own."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.test import Client

from approvals.models import Proposal
from memories.models import Agent, Memory
from tests import build
from tests.approvals.pages import address

pytestmark = pytest.mark.once

MOST_BYTES = 3_000_000


def test_long_targets_are_shortened_and_shown_in_full_on_their_own_page(
    desk: Client, agent: Agent
) -> None:
    long = [build.memory(agent, f"{n} " + "word " * 12_000 + f"END{n}") for n in range(6)]
    proposal = build.forgetting(agent, *long)
    text = desk.get(address(proposal)).content.decode()
    assert "more characters" in text
    assert "END0" in text
    assert "END5" not in text
    whole = desk.get(address(proposal) + f"memories/{long[5].pk}/")
    assert "END5" in whole.content.decode()
    assert desk.get(address(proposal) + f"memories/{uuid4()}/").status_code == 404


def test_the_sources_of_a_merge_are_compared_whole_and_shown_as_far_as_there_is_room(
    desk: Client, agent: Agent
) -> None:
    long = [build.memory(agent, f"{n} " + "word " * 12_000 + f"END{n}") for n in range(6)]
    proposal = build.merging(agent, *long, content="word END5 new")
    text = desk.get(address(proposal)).content.decode()
    link = f'href="{address(proposal)}memories/{long[5].pk}/"'
    assert link in text
    assert f"memories/{long[0].pk}/" not in text
    result = text.partition("<h3>Result</h3>")[2].partition("</section>")[0]
    assert "<ins> new</ins>" in result
    assert "word END5<span" in result


@pytest.mark.parametrize("unit", ["word ", "\"'& ", "a\u200b", "\u200b\u200c", "\u0430a "])
def test_a_merge_of_the_largest_texts_makes_a_page_of_bounded_size(
    desk: Client, agent: Agent, unit: str
) -> None:
    proposal = build.merging(agent, *(build.memory(agent, f"{n}") for n in range(100)))
    largest = ("x " + unit * 65_000)[:65_000]
    Memory.objects.update(content=largest)
    Proposal.objects.filter(pk=proposal.pk).update(
        change_json={**proposal.change_json, "content": largest}
    )
    assert len(desk.get(address(proposal)).content) < MOST_BYTES


def test_the_largest_texts_make_a_page_of_bounded_size(desk: Client, agent: Agent) -> None:
    old = build.memory(agent, "\n".join(str(number**3) for number in range(6_000))[:65_536])
    proposal = build.held(agent, "x\n" * 32_000, supersedes=[old.pk])
    build.approve(build.revising(old, "a\u200b" * 30_000))
    assert len(desk.get(address(proposal)).content) < MOST_BYTES
