"""What an agent may do, and what may happen, between a proposal and its decision."""

from __future__ import annotations

from typing import Any

import pytest

from approvals.models import Proposal
from memories.models import Memory, User
from tests import build

pytestmark = pytest.mark.django_db


def ids(*memories: Memory) -> list[str]:
    return [str(memory.pk) for memory in memories]


def replaced(api: build.Api, memory: Memory, text: str = "new") -> Any:
    return api.amp("remember", content=text, metadata={"supersedes": ids(memory)})


def go(memory: Memory, how: str) -> None:
    """The memory leaves the living in one of three ways, by a person's decision."""
    agent = memory.agent
    proposal = {
        "forgotten": lambda: build.forgetting(agent, memory),
        "expired": lambda: build.expiring(agent, memory),
        "retired": lambda: build.held(agent, "its successor", supersedes=[memory.pk]),
    }[how]()
    build.approve(proposal)


@pytest.mark.case("G21")
def test_a_memory_that_supersedes_another_replaces_it_once_approved(
    api: build.Api, reviewer: User
) -> None:
    old = build.memory(api.agent, "The code is 1234")

    response = replaced(api, old, "The code is 5678")
    build.approve(Proposal.objects.get(pk=response.json()["proposal"]["id"]), reviewer)
    build.drain()

    hits = api.amp("recall", query="code").json()["hits"]
    old.refresh_from_db()
    assert [hit["content"] for hit in hits] == ["The code is 5678"]
    assert (old.state, str(old.superseded_by_id)) == ("retired", response.json()["ids"][0])


@pytest.mark.case("G21")
def test_of_two_successors_the_second_turns_stale(api: build.Api) -> None:
    old = build.memory(api.agent)
    first, second = replaced(api, old, "first").json(), replaced(api, old, "second").json()

    build.approve(Proposal.objects.get(pk=first["proposal"]["id"]))

    body = api.client.get(second["proposal"]["url"]).json()
    assert (body["status"], body["stale"]) == ("pending", True)
    assert body["targets"] == [
        {
            "memory_id": str(old.pk),
            "version": 1,
            "current_version": 2,
            "state": "retired",
        }
    ]


def test_a_short_term_memory_that_supersedes_a_long_term_one_is_held(
    api: build.Api,
) -> None:
    old = build.memory(api.agent)

    response = api.amp(
        "remember", "episodic", content="x", metadata={"supersedes": ids(old)}
    )

    assert response.status_code == 202


def test_superseding_a_reserved_id_replaces_the_proposal(api: build.Api) -> None:
    first = api.amp("remember", content="first").json()

    second = api.amp("remember", content="2nd", metadata={"supersedes": first["ids"]})

    body = api.client.get(first["proposal"]["url"]).json()
    assert second.status_code == 202
    assert (body["status"], body["closed_reason"]) == ("withdrawn", "replaced")


def test_forgetting_a_reserved_id_withdraws_its_proposal(api: build.Api) -> None:
    made = api.amp("remember", content="first").json()

    response = api.amp("forget", memory_ids=made["ids"])

    assert response.status_code == 200
    assert response.json() == {
        "op": "forget",
        "ok": True,
        "ids": made["ids"],
        "detail": "1 pending proposal withdrawn",
    }
    assert api.client.get(made["proposal"]["url"]).json()["status"] == "withdrawn"


@pytest.mark.parametrize("op", ["merge", "expire"])
def test_a_reserved_id_is_no_memory_yet(api: build.Api, op: str) -> None:
    made = api.amp("remember", content="first").json()
    known = build.memory(api.agent)

    response = api.amp(op, memory_ids=[*made["ids"], str(known.pk)])

    assert response.status_code == 404


@pytest.mark.case("G29")
@pytest.mark.parametrize("how", ["forgotten", "expired", "retired"])
@pytest.mark.parametrize("op", ["forget", "expire", "merge", "remember"])
def test_a_target_that_goes_ends_its_proposals_or_makes_them_stale(
    api: build.Api, op: str, how: str
) -> None:
    memory, other = build.memory(api.agent, "one"), build.memory(api.agent, "two")
    if op == "remember":
        response = replaced(api, memory)
    else:
        targets = [memory, other] if op == "merge" else [memory]
        more: dict[str, Any] = {"ttl_seconds": 60} if op == "expire" else {}
        response = api.amp(op, memory_ids=ids(*targets), **more)
    if op == "forget" and how == "forgotten":
        # The same again is the same proposal; another one forgets it together.
        build.approve(build.forgetting(api.agent, memory, other))
    else:
        go(memory, how)

    body = api.client.get(response.json()["proposal"]["url"]).json()

    gone = ("expired", "target_gone", False)
    expected = ("pending", None, True) if op == "remember" else gone
    assert (body["status"], body["closed_reason"], body["stale"]) == expected


@pytest.mark.case("G32")
def test_the_same_request_is_the_same_proposal(api: build.Api) -> None:
    one, two = build.memory(api.agent, "one"), build.memory(api.agent, "two")
    both = {"memory_ids": ids(one, two)}
    requests: list[tuple[str, dict[str, Any]]] = [
        ("remember", {"content": "x", "tags": ["t"], "metadata": {"a": 1}}),
        ("forget", both),
        ("merge", both),
        ("expire", both),
        ("expire", both | {"ttl_seconds": 60}),
    ]

    for op, members in requests:
        first, again = api.amp(op, **members), api.amp(op, **members)
        assert (first.status_code, again.status_code) == (202, 202)
        assert first.json()["proposal"] == again.json()["proposal"]
        assert first.json().get("ids") == again.json().get("ids")
    assert Proposal.objects.pending().count() == len(requests)


@pytest.mark.case("G32")
@pytest.mark.parametrize(
    "change",
    [
        {"content": "y"},
        {"tags": ["u"]},
        {"metadata": {"a": 2}},
        {"ttl_seconds": 60},
        {"memory_type": "procedural"},
    ],
)
def test_any_other_member_makes_another_proposal(
    api: build.Api, change: dict[str, Any]
) -> None:
    members: dict[str, Any] = {
        "memory_type": "semantic",
        "content": "x",
        "tags": ["t"],
        "metadata": {"a": 1},
    }
    first = api.amp("remember", **members).json()

    second = api.amp("remember", **(members | change)).json()

    assert first["proposal"]["id"] != second["proposal"]["id"]


@pytest.mark.case("G32")
def test_the_same_text_that_replaces_something_is_another_proposal(
    api: build.Api,
) -> None:
    old = build.memory(api.agent)
    first = api.amp("remember", content="x").json()

    second = api.amp("remember", content="x", metadata={"supersedes": ids(old)}).json()
    again = api.amp("remember", content="x", metadata={"supersedes": ids(old)}).json()

    assert first["proposal"]["id"] != second["proposal"]["id"]
    assert second["proposal"]["id"] == again["proposal"]["id"]


def test_a_full_queue_asks_for_patience(api: build.Api, settings: Any) -> None:
    settings.MAX_PENDING_PER_AGENT = 1
    api.amp("remember", content="one")

    response = api.amp("remember", content="two")
    short_term = api.amp("remember", "episodic", content="two")

    assert (response.status_code, response.json()["code"]) == (429, "queue_full")
    assert int(response.headers["Retry-After"]) > 0
    assert short_term.status_code == 200
