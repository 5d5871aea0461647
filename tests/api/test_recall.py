"""Recall over the wire: any text is a query, and only what is true comes back."""

from __future__ import annotations

from typing import Any

import pytest

from approvals.models import Proposal
from memories import index
from memories.embedding import EmbeddingFailed, get_embedder
from memories.index import IndexUnavailable
from memories.models import Memory
from tests import build

pytestmark = pytest.mark.django_db


def contents(response: Any) -> list[str]:
    assert response.status_code == 200, response.content
    return [hit["content"] for hit in response.json().get("hits", [])]


@pytest.mark.case("W7")
@pytest.mark.parametrize(
    "query",
    [
        "what's up?",
        "time: 5pm",
        "https://x.y/?a=b",
        "(paren",
        "-word",
        "a AND",
        '"',
        "*",
        "C++",
        "🦊",
        "the of and",
        "foo:bar",
        "word " * 2_000,
    ],
)
def test_any_text_is_a_query(api: build.Api, query: str) -> None:
    build.short_term(api.agent, "a word about C++")
    build.drain()

    assert api.amp("recall", "episodic", query=query).status_code == 200


@pytest.mark.case("W8")
@pytest.mark.parametrize("query", ["", "   ", "\n"])
def test_a_blank_query_gives_the_newest_first(api: build.Api, query: str) -> None:
    for text in ("first", "second", "third"):
        build.short_term(api.agent, text)

    response = api.amp("recall", "episodic", query=query, top_k=2)

    assert contents(response) == ["third", "second"]
    assert {hit["score"] for hit in response.json()["hits"]} == {1}


LOOK_ALIKES = [
    *(f"RULE-B00{n} says: no refunds" for n in range(1, 4)),
    *(f"Patched CVE-2023-{n}234 today" for n in range(1, 4)),
    "It failed with E_DISK_42",
    "We run v1.3.2 now",
    "See /etc/apache/conf.d/page.conf",
    "Order 0190a5b6-1111-7222-8333-444455557777 is late",
]


@pytest.mark.case("W9")
@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("RULE-A002 says: no refunds", ["RULE-A002", "A002"]),
        ("Patched CVE-2024-1234 today", ["CVE-2024-1234", "2024-1234"]),
        ("It failed with E_CONN_42", ["E_CONN_42"]),
        ("We run v1.2.3 now", ["v1.2.3"]),
        ("See /etc/nginx/conf.d/site.conf", ["/etc/nginx/conf.d/site.conf", "site.conf"]),
        (
            "Order 0190a5b6-1111-7222-8333-444455556666 is late",
            ["0190a5b6-1111-7222-8333-444455556666"],
        ),
    ],
)
def test_an_identifier_finds_its_memory(
    api: build.Api, text: str, parts: list[str]
) -> None:
    for other in LOOK_ALIKES:
        build.memory(api.agent, other)
    build.memory(api.agent, text)
    build.drain()

    for query in [text, *parts]:
        assert text in contents(api.amp("recall", "semantic", query=query, top_k=3))


@pytest.mark.case("W10")
@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("認証システムはJWTを使う", "認証"),
        ("사용자는 이메일을 싫어한다", "이메일"),
        ("用户喜欢喝绿茶", "绿茶"),
        ("Клиент платит картой", "картой"),
        ("Ο πελάτης θέλει καφέ", "καφέ"),
        ("العميل يفضل الدفع نقدا", "الدفع"),
    ],
)
def test_a_word_of_any_script_finds_its_sentence(
    api: build.Api, text: str, word: str
) -> None:
    build.memory(api.agent, "something else entirely")
    build.memory(api.agent, text)
    build.drain()

    assert contents(api.amp("recall", "semantic", query=word, top_k=1)) == [text]


@pytest.mark.case("W11")
def test_better_matches_elsewhere_crowd_nothing_out(api: build.Api) -> None:
    other = build.agent()
    for n in range(20):
        build.short_term(api.agent, f"green tea {n}", tags=["other"])
        build.short_term(api.agent, f"green tea {n}", memory_type="working", tags=["right"])
        build.short_term(other, f"green tea {n}", tags=["right"])
    build.short_term(api.agent, "a long text that mentions tea once", tags=["right"])
    build.drain()

    response = api.amp("recall", "episodic", query="green tea", top_k=1, tags=["right"])

    assert contents(response) == ["a long text that mentions tea once"]


@pytest.mark.case("W12")
@pytest.mark.parametrize("query", ["tea", ""])
def test_a_hit_carries_at_least_one_of_the_tags(api: build.Api, query: str) -> None:
    for tags in (["a"], ["b", "x"], ["A"], ["c"], []):
        build.short_term(api.agent, f"tea {tags}", tags=tags)
    build.drain()

    response = api.amp("recall", "episodic", query=query, tags=["a", "b"], top_k=10)

    assert sorted(hit["tags"] for hit in response.json()["hits"]) == [["a"], ["b", "x"]]


def test_a_hit_is_exactly_what_the_protocol_says(api: build.Api) -> None:
    memory = build.short_term(api.agent, "tea", tags=["t"])
    build.drain()

    body = api.amp("recall", "episodic", query="tea").json()

    hit = body["hits"][0]
    assert 0 < hit["score"] <= 1
    assert body == {
        "op": "recall",
        "ok": True,
        "hits": [
            {
                "id": str(memory.pk),
                "content": "tea",
                "memory_type": "episodic",
                "score": hit["score"],
                "tags": ["t"],
            }
        ],
    }


def test_more_is_told_where_it_is_asked_for(api: build.Api) -> None:
    api.amp("remember", "episodic", content="tea", metadata={"source": "user"})
    build.drain()

    more = "?include=metadata,created_at&include=relevance"
    hit = api.amp("recall", "episodic", query="tea", url_query=more).json()["hits"][0]
    wrong = api.amp("recall", "episodic", query="tea", url_query="?include=vector")

    assert hit["metadata"] == {"source": "user"}
    assert hit["relevance"] == 1
    assert hit["created_at"].endswith("Z")
    assert (wrong.status_code, wrong.json()["code"]) == (400, "bad_parameter")


def test_hits_below_the_least_relevance_are_counted(api: build.Api) -> None:
    for text in ("tea", "granite cliffs", "a motor of steel"):
        build.short_term(api.agent, text)
    build.drain()

    body = api.amp("recall", "episodic", query="tea", url_query="?min_relevance=1").json()

    assert [hit["content"] for hit in body["hits"]] == ["tea"]
    assert body["detail"] == "2 hits are below min_relevance"


@pytest.mark.parametrize("least", ["x", "-0.1", "1.1", "nan", "inf", ""])
def test_a_least_relevance_is_a_share(api: build.Api, least: str) -> None:
    response = api.amp("recall", query="tea", url_query=f"?min_relevance={least}")

    assert (response.status_code, response.json()["code"]) == (400, "bad_parameter")


@pytest.mark.parametrize(("top_k", "hits"), [(None, 5), (3, 3), (100, 101), (10**6, 101)])
def test_top_k_is_five_by_default_and_a_hundred_at_most(
    api: build.Api, top_k: int | None, hits: int
) -> None:
    for n in range(102):
        build.short_term(api.agent, f"tea {n}")

    response = api.amp("recall", "episodic", query="", top_k=top_k)

    assert len(contents(response)) == min(hits, 100)


@pytest.mark.case("G14")
def test_what_is_forgotten_is_gone_at_once_though_the_index_still_has_it(
    api: build.Api,
) -> None:
    memory = build.memory(api.agent, "Alice prefers tea.")
    build.drain()
    api.amp("forget", memory_ids=[str(memory.pk)])

    waiting = api.amp("recall", query="Alice prefers tea.")
    build.approve(Proposal.objects.pending().get())
    decided = api.amp("recall", query="Alice prefers tea.")

    assert contents(waiting) == ["Alice prefers tea."]
    assert contents(decided) == []


@pytest.mark.case("G15")
def test_forgotten_hits_make_room_for_the_next_best(api: build.Api) -> None:
    for n in range(40):
        build.short_term(api.agent, f"green tea {n}")
    build.drain()
    best = [hit["id"] for hit in _recall_tea(api)]
    api.amp("forget", "episodic", memory_ids=best)

    hits = _recall_tea(api)

    assert len(hits) == 5
    assert not {hit["id"] for hit in hits} & set(best)


def _recall_tea(api: build.Api) -> list[dict[str, Any]]:
    hits: list[dict[str, Any]] = api.amp("recall", "episodic", query="tea").json()["hits"]
    return hits


def test_without_the_embedder_the_words_still_find(
    api: build.Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    build.short_term(api.agent, "green tea")
    build.drain()

    def down(text: str) -> Any:
        raise EmbeddingFailed("down")

    monkeypatch.setattr(get_embedder(), "embed_query", down)

    found = api.amp("recall", "episodic", query="tea", url_query="?include=relevance")
    judged = api.amp("recall", "episodic", query="tea", url_query="?min_relevance=0.5")

    assert contents(found) == ["green tea"]
    assert found.json()["degraded"] == ["dense"]
    assert found.json()["hits"][0]["relevance"] is None
    assert (judged.status_code, judged.json()["code"]) == (503, "index_unavailable")


def test_without_the_index_recall_is_unavailable_and_not_empty(
    api: build.Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(_: object) -> index.MemoryIndex:
        raise IndexUnavailable("down")

    monkeypatch.setattr("memories.recall.get_index", down)

    response = api.amp("recall", query="tea")
    blank = api.amp("recall", query="")

    assert (response.status_code, response.json()["code"]) == (503, "index_unavailable")
    assert int(response.headers["Retry-After"]) > 0
    assert response.json()["op"] == "recall"
    assert blank.status_code == 200


def test_expiry_is_true_before_any_sweep(api: build.Api) -> None:
    memory = build.short_term(api.agent, "tea", ttl_seconds=60)
    build.drain()
    Memory.objects.filter(pk=memory.pk).update(expires_at=memory.created_at)

    assert contents(api.amp("recall", "episodic", query="tea")) == []
    assert contents(api.amp("recall", "episodic", query="")) == []
