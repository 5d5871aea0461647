"""Texts that were sent to hurt: shown as text, shortened in lists, whole on their page."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from memories.actors import SYSTEM
from memories.models import Agent
from memories.services import create_key
from tests import build

pytestmark = pytest.mark.django_db

HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    '<a href="javascript:alert(1)">x</a>',
    '<div hx-get="/x" hx-trigger="load">y</div>',
)
RAW = re.compile(r"<img src=x|<script>alert|href=\"javascript:|hx-get=\"/x\"")


@pytest.mark.case("D10")
@pytest.mark.parametrize("text", HOSTILE)
def test_markup_is_shown_and_not_run_wherever_an_agent_or_a_person_writes(
    desk: Client, agent: Agent, text: str
) -> None:
    agent.name = text
    agent.save()
    create_key(agent, name=text, actor=SYSTEM)
    old = build.memory(agent, f"before {text}", tags=[text], metadata={text: {text: text}})
    proposal = build.held(
        agent,
        f"after {text}",
        tags=[text, "kept"],
        metadata={text: [text], "source": text, "derived_from": [text]},
        supersedes=[old.pk],
    )
    rejected = build.held(agent, f"no {text}")
    build.reject(rejected, comment=text)

    pages = [
        desk.get(reverse("approvals:proposal", args=[proposal.pk])),
        desk.get(reverse("approvals:proposal", args=[proposal.pk]), {"view": "split"}),
        desk.get(reverse("approvals:proposal", args=[rejected.pk])),
        desk.get(reverse("approvals:queue"), {"status": "any"}),
        desk.get(reverse("approvals:queue"), {"status": "any", "q": text}),
    ]

    for page in pages:
        assert page.status_code == 200
        assert not RAW.search(page.content.decode())
        policy = page.headers["Content-Security-Policy"]
        assert "unsafe" not in policy
        assert "default-src 'self'" in policy


@pytest.mark.case("D14")
def test_a_long_memory_is_short_in_the_list_and_whole_on_its_page(
    desk: Client, agent: Agent
) -> None:
    text = "".join(f"Sentence {number} of a long rule. " for number in range(1_500))
    proposal = build.held(agent, text)
    last = "Sentence 1499 of a long rule."

    queue = desk.get(reverse("approvals:queue")).content.decode()
    page = desk.get(reverse("approvals:proposal", args=[proposal.pk])).content.decode()

    assert len(text) > 40_000
    assert "Sentence 1 of" in queue
    assert last not in queue
    assert len(queue) < 20_000
    assert last in page
