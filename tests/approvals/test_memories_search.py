"""The search of the memories' page is the recall that agents have."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from memories.embedding import EmbeddingFailed
from memories.embedding.hashed import HashEmbedder
from memories.errors import RecallUnavailable
from memories.index import IndexUnavailable
from memories.index.edge import EdgeIndex
from memories.models import Agent
from tests import build
from tests.approvals.memory_pages import LIST, shown, signed_in, text_of

pytestmark = pytest.mark.django_db

TEXTS = (
    "Alice drinks tea in the morning.",
    "Bob drinks mate.",
    "Refunds over 500 euros need a second approval.",
    "Tea is kept in the blue box.",
    "The invoice number begins with INV-2024.",
    "Nobody drinks coffee after four.",
)


@pytest.mark.parametrize("query", ["who drinks tea", "INV-2024", "(paren", "refund limit"])
@pytest.mark.parametrize("top", [5, 20])
def test_it_gives_the_ids_that_the_agent_recalls_in_the_same_order(
    desk: Client, api: build.Api, query: str, top: int
) -> None:
    for text in TEXTS:
        build.memory(api.agent, text, tags=["kept"])
    build.memory(build.agent(), "Somebody else drinks tea.")
    build.short_term(api.agent, "The user drinks tea right now.")
    build.drain()
    recalled = api.amp("recall", query=query, top_k=top, tags=["kept"]).json()["hits"]
    page = desk.get(
        LIST,
        {
            "agent": str(api.agent.pk),
            "type": "semantic",
            "q": query,
            "tag": "kept",
            "top": "" if top == 20 else str(top),
        },
    )
    assert recalled
    assert shown(page) == [hit["id"] for hit in recalled]
    for hit in recalled:
        assert f"{hit['score']:.3f}" in text_of(page)


def test_it_says_what_each_leg_gave(desk: Client, agent: Agent) -> None:
    build.memory(agent, "Alice drinks tea.")
    build.memory(agent, "Zebras sleep.")
    build.drain()
    page = text_of(desk.get(LIST, {"q": "Alice drinks tea."}))
    first, _, second = page.partition("</li>")
    assert "Alice drinks tea." in first
    assert 'relevance <b class="number">1.00</b>' in first
    assert "(cosine 1.000)" in first
    assert 'by words <b class="number">1.</b> (BM25' in first
    assert "by words not found" in second


def test_without_a_type_every_type_is_searched(desk: Client, agent: Agent) -> None:
    memory, note = build.memory(agent, "tea rule"), build.short_term(agent, "tea note")
    build.drain()
    page = desk.get(LIST, {"q": "tea"})
    assert set(shown(page)) == {str(memory.pk), str(note.pk)}


def test_with_several_agents_one_has_to_be_chosen(desk: Client, agent: Agent) -> None:
    build.memory(agent, "tea")
    assert "Choose an agent" not in text_of(desk.get(LIST, {"q": "tea"}))
    build.agent()
    page = desk.get(LIST, {"q": "tea"})
    assert "Choose an agent" in text_of(page)
    assert f'href="/memories/?q=tea&amp;agent={agent.pk}"' in text_of(page)
    assert shown(page) == []


def test_nothing_found_says_so(desk: Client, agent: Agent) -> None:
    page = desk.get(LIST, {"q": "tea"})
    assert page.status_code == 200
    assert "Nothing is recalled" in text_of(page)


def test_an_index_that_is_down_is_one_sentence(
    desk: Client, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(*_: Any) -> None:
        raise IndexUnavailable("it is down")

    build.memory(agent, "tea")
    monkeypatch.setattr(EdgeIndex, "search", down)
    page = desk.get(LIST, {"q": "tea"})
    assert page.status_code == RecallUnavailable.http_status
    assert "The index cannot answer right now." in text_of(page)
    assert "Nothing is recalled" not in text_of(page)
    assert len(shown(desk.get(LIST))) == 1


def test_an_embedder_that_is_down_leaves_the_words_and_says_so(
    desk: Client, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(*_: Any) -> None:
        raise EmbeddingFailed("it is down")

    memory = build.memory(agent, "The samovar is on the shelf.")
    build.drain()
    monkeypatch.setattr(HashEmbedder, "embed_query", down)
    page = desk.get(LIST, {"q": "samovar"})
    assert shown(page) == [str(memory.pk)]
    assert "The embedder is down" in text_of(page)
    assert 'relevance <b class="number">unknown</b>' in text_of(page)


def test_a_viewer_searches_too(agent: Agent) -> None:
    memory = build.memory(agent, "tea")
    build.drain()
    client = signed_in(build.person(role="viewer"))
    assert shown(client.get(LIST, {"q": "tea"})) == [str(memory.pk)]
