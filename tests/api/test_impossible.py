"""Well formed, yet nothing that could be done: 422, with a pointer."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest

from memories.models import Memory
from tests import build

pytestmark = pytest.mark.django_db

ONE = str(uuid4())


@pytest.mark.case("W6")
@pytest.mark.parametrize(
    ("op", "members", "pointer", "code"),
    [
        ("remember", {"content": None}, "/content", "content_blank"),
        ("remember", {"content": ""}, "/content", "content_blank"),
        ("remember", {"content": " \n"}, "/content", "content_blank"),
        ("remember", {"content": "\u200b\u2060"}, "/content", "content_blank"),
        ("remember", {"content": "x" * 65_537}, "/content", "content_too_long"),
        ("remember", {"content": "x", "tags": ["t"] * 33}, "/tags", "too_many_tags"),
        ("remember", {"content": "x", "tags": ["t" * 129]}, "/tags/0", "tag_too_long"),
        ("remember", {"content": "x", "ttl_seconds": 0}, "/ttl_seconds", "ttl_zero"),
        (
            "remember",
            {"content": "x", "ttl_seconds": 10**15},
            "/ttl_seconds",
            "ttl_too_long",
        ),
        ("remember", {"content": "x", "ttl_seconds": 1e30}, "/ttl_seconds", "ttl_too_long"),
        (
            "remember",
            {"content": "x", "metadata": {"a": "x" * 65_536}},
            "/metadata",
            "metadata_too_large",
        ),
        (
            "remember",
            {"content": "x", "metadata": {"supersedes": ONE}},
            "/metadata/supersedes",
            "bad_supersedes",
        ),
        (
            "remember",
            {"content": "x", "metadata": {"supersedes": [ONE, 1]}},
            "/metadata/supersedes",
            "bad_supersedes",
        ),
        ("recall", {"query": None}, "/query", "query_missing"),
        ("forget", {"memory_ids": []}, "/memory_ids", "no_ids"),
        ("forget", {"memory_ids": [ONE] * 101}, "/memory_ids", "too_many_ids"),
        ("expire", {"memory_ids": []}, "/memory_ids", "no_ids"),
        ("merge", {"memory_ids": []}, "/memory_ids", "no_ids"),
        ("merge", {"memory_ids": [ONE]}, "/memory_ids", "too_few_ids"),
        ("merge", {"memory_ids": [ONE, ONE.upper()]}, "/memory_ids", "too_few_ids"),
    ],
)
def test_what_cannot_be_done_says_why(
    api: build.Api, op: str, members: dict[str, Any], pointer: str, code: str
) -> None:
    envelope = {"op": op, "memory_type": "episodic", **members}

    response = api.client.post("/api/v1/amp", envelope, content_type="application/json")

    document = json.loads(response.content)
    assert (response.status_code, document["code"]) == (422, code)
    assert [error["pointer"] for error in document["errors"]] == [pointer]
    assert (document["op"], document["ok"]) == (op, False)
    assert not Memory.objects.exists()


def test_an_unknown_id_is_no_memory_to_supersede(api: build.Api) -> None:
    response = api.amp("remember", content="x", metadata={"supersedes": [ONE]})

    document = json.loads(response.content)
    assert (response.status_code, document["code"]) == (422, "bad_supersedes")
    assert document["errors"][0]["pointer"] == "/metadata/supersedes"


def test_a_merged_text_that_grows_too_long_asks_for_a_content(api: build.Api) -> None:
    ids = [str(build.short_term(api.agent, letter * 40_000).pk) for letter in ("a", "b")]

    too_long = api.amp("merge", "episodic", memory_ids=ids)
    shorter = api.amp("merge", "episodic", memory_ids=ids, content="both")

    assert (too_long.status_code, too_long.json()["code"]) == (422, "content_too_long")
    assert shorter.status_code == 200


@pytest.mark.case("W16")
@pytest.mark.parametrize(
    "spelling", ["{}", "{{{}}}", "urn:uuid:{}", "URN:UUID:{}", "hyphenless", "upper"]
)
def test_ids_may_be_spelled_in_several_ways(api: build.Api, spelling: str) -> None:
    memory = build.short_term(api.agent)
    spelled = {"hyphenless": memory.pk.hex, "upper": str(memory.pk).upper()}.get(
        spelling
    ) or spelling.format(memory.pk)

    response = api.amp("forget", "episodic", memory_ids=[spelled])

    assert response.json()["ids"] == [str(memory.pk)]


@pytest.mark.parametrize("spelling", ["{} ", "{{{}", "uuid:{}", "(){}", "{}0"])
def test_other_spellings_are_no_ids(api: build.Api, spelling: str) -> None:
    response = api.amp("forget", "episodic", memory_ids=[spelling.format(ONE)])

    assert response.status_code == 400
    assert response.json()["errors"][0]["pointer"] == "/memory_ids/0"
