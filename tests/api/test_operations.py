"""Every operation on every type, and what each answers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from approvals.models import Proposal
from memories.models import Memory, MemoryType
from tests import build

pytestmark = pytest.mark.django_db

LONG_TERM = {"semantic", "procedural"}


def done(api: build.Api, op: str, memory_type: str, **members: Any) -> dict[str, Any]:
    """The result of an operation, approved where that is needed, and indexed."""
    response = api.amp(op, memory_type, **members)
    body: dict[str, Any] = response.json()
    if memory_type in LONG_TERM and op != "recall":
        assert response.status_code == 202
        assert body["approved"] is False
        build.approve(Proposal.objects.get(pk=body["proposal"]["id"]))
    else:
        assert response.status_code == 200
        assert "approved" not in body
    build.drain()
    assert body["ok"] is True
    return body


def found(api: build.Api, memory_type: str, query: str) -> list[str]:
    body = done(api, "recall", memory_type, query=query)
    return [hit["id"] for hit in body.get("hits", [])]


@pytest.mark.case("W18")
@pytest.mark.parametrize("memory_type", MemoryType.values)
def test_every_operation_works_on_every_type(api: build.Api, memory_type: str) -> None:
    one = done(api, "remember", memory_type, content="blue whale")["ids"]
    two = done(api, "remember", memory_type, content="red fox", tags=["t"])["ids"]
    assert found(api, memory_type, "whale")[0] == one[0]

    merged = done(api, "merge", memory_type, memory_ids=[*two, *one])["ids"]
    assert found(api, memory_type, "whale fox") == merged
    assert Memory.objects.get(pk=merged[0]).content == "blue whale\nred fox"

    done(api, "expire", memory_type, memory_ids=merged)
    assert found(api, memory_type, "whale fox") == []

    three = done(api, "remember", memory_type, content="grey heron")["ids"]
    done(api, "forget", memory_type, memory_ids=three)
    assert found(api, memory_type, "heron") == []
    assert not Memory.objects.live().exists()


@pytest.mark.parametrize("op", ["remember", "recall", "merge", "expire", "forget"])
@pytest.mark.parametrize("memory_type", MemoryType.values)
def test_each_of_the_twenty_cells_answers(
    api: build.Api, op: str, memory_type: str
) -> None:
    make = build.memory if memory_type in LONG_TERM else build.short_term
    targets = [make(api.agent, text, memory_type=memory_type) for text in ("one", "two")]
    members: dict[str, Any] = {
        "remember": {"content": "three"},
        "recall": {"query": "one"},
    }.get(op, {"memory_ids": [str(memory.pk) for memory in targets]})
    build.drain()

    body = done(api, op, memory_type, **members)

    assert body["op"] == op
    live = {"remember": 3, "recall": 2, "merge": 1, "expire": 0, "forget": 0}[op]
    assert Memory.objects.live().filter(memory_type=memory_type).count() == live


@pytest.mark.case("W14")
@pytest.mark.parametrize(
    ("memory_type", "ttl", "seconds"),
    [
        ("working", None, 3_600),
        ("working", 2, 2),
        ("episodic", None, None),
        ("episodic", 60, 60),
        ("semantic", None, None),
        ("semantic", 60, 60),
    ],
)
def test_a_memory_lives_as_long_as_its_type_or_its_ttl_says(
    api: build.Api, memory_type: str, ttl: int | None, seconds: int | None
) -> None:
    before = timezone.now()

    done(api, "remember", memory_type, content="x", ttl_seconds=ttl)

    ends = Memory.objects.get().expires_at
    if seconds is None:
        assert ends is None
    else:
        assert ends is not None
        late = ends - before - timedelta(seconds=seconds)
        assert timedelta() <= late < timedelta(seconds=5)


@pytest.mark.case("W15")
def test_forget_leaves_out_what_is_not_there_and_counts_it(api: build.Api) -> None:
    mine, gone = (build.short_term(api.agent, text) for text in ("mine", "gone"))
    foreign = build.short_term(build.agent())
    api.amp("forget", "episodic", memory_ids=[str(gone.pk)])
    unknown = "0190a5b6-0000-7000-8000-000000000000"
    named = [str(mine.pk), unknown, str(foreign.pk), str(gone.pk), mine.pk.hex]

    first = api.amp("forget", "episodic", memory_ids=named)
    again = api.amp("forget", "episodic", memory_ids=[str(mine.pk)])

    assert first.status_code == again.status_code == 200
    assert first.json() == {
        "op": "forget",
        "ok": True,
        "ids": [str(mine.pk)],
        "detail": "3 ids are unknown; 1 id was repeated",
    }
    assert again.json() == {"op": "forget", "ok": True, "detail": "1 id is unknown"}


def test_a_mixed_forget_does_at_once_what_it_may(api: build.Api) -> None:
    short, long = build.short_term(api.agent), build.memory(api.agent)

    response = api.amp("forget", "episodic", memory_ids=[str(long.pk), str(short.pk)])

    body = response.json()
    assert response.status_code == 202
    assert body["ids"] == [str(short.pk)]
    assert body["detail"].startswith("held for review")
    assert Memory.objects.live().get() == long


def test_expire_says_when(api: build.Api) -> None:
    short, long = build.short_term(api.agent), build.memory(api.agent)

    now = api.amp("expire", "episodic", memory_ids=[str(short.pk)], ttl_seconds=0)
    held = api.amp("expire", memory_ids=[str(long.pk)], ttl_seconds=3_600)
    later = api.amp("expire", memory_ids=[str(long.pk)], ttl_seconds=7_200)

    assert now.json() == {"op": "expire", "ok": True, "ids": [str(short.pk)]}
    assert Memory.objects.get(pk=short.pk).state == "expired"
    ends = api.client.get(held.json()["proposal"]["url"]).json()["change"]["expires_at"]
    assert held.json()["detail"].endswith(f"; expires at {ends}")
    assert later.json()["proposal"] != held.json()["proposal"]


def test_expire_may_lengthen_a_life(api: build.Api) -> None:
    memory = build.short_term(api.agent, ttl_seconds=10)

    body = api.amp("expire", "episodic", memory_ids=[str(memory.pk)], ttl_seconds=9_000)

    memory.refresh_from_db()
    assert memory.expires_at is not None
    assert memory.expires_at > timezone.now() + timedelta(seconds=8_000)
    ends = memory.expires_at.isoformat().replace("+00:00", "Z")
    assert body.json()["detail"] == f"expires at {ends}"


def test_a_merge_keeps_what_it_came_from(api: build.Api) -> None:
    one = build.short_term(api.agent, "one", tags=["a", "b"])
    two = build.short_term(api.agent, "two", tags=["b", "c"])

    body = api.amp(
        "merge",
        "episodic",
        memory_ids=[str(two.pk), str(one.pk)],
        content="both",
        tags=["z"],
        metadata={"why": "same"},
    ).json()

    made = Memory.objects.get(pk=body["ids"][0])
    assert made.content == "both"
    assert made.tags == ["z", "a", "b", "c"]
    assert made.metadata == {"why": "same", "amp_merged_from": [str(two.pk), str(one.pk)]}
    assert set(made.supersedes.all()) == {one, two}
