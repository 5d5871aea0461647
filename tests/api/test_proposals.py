"""Proposals as their agent sees them: one, and pages of them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote
from uuid import UUID

import pytest
from django.utils import timezone

from approvals import services
from approvals.models import Proposal
from memories.changes import Forget
from memories.cursors import write_cursor
from memories.models import AuditEntry, IndexEntry, Memory, User
from tests import build

pytestmark = pytest.mark.django_db


def get(api: build.Api, path: str = "") -> Any:
    response = api.client.get(
        path if path.startswith("http") else f"/api/v1/proposals{path}"
    )
    assert response.status_code == 200, response.content
    return response.json()


def contents(page: Any) -> list[str]:
    return [proposal["change"]["content"] for proposal in page["results"]]


def test_a_proposal_shows_all_of_itself(api: build.Api) -> None:
    old = build.memory(api.agent)
    made = api.amp(
        "remember",
        "procedural",
        content="Ask first.",
        tags=["b", "a"],
        metadata={"supersedes": [old.pk.hex], "n": 1.5},
        ttl_seconds=86_400,
    ).json()

    body = get(api, f"/{made['proposal']['id']}")

    proposal = Proposal.objects.pending().get()
    ends = (proposal.created_at + timedelta(days=1)).isoformat().replace("+00:00", "Z")
    assert body == {
        "id": str(proposal.pk),
        "op": "remember",
        "memory_type": "procedural",
        "agent_id": api.agent.agent_id,
        "status": "pending",
        "stale": False,
        "revision": 1,
        "created_at": proposal.created_at.isoformat().replace("+00:00", "Z"),
        "expires_at": ends,
        "memory_id": made["ids"][0],
        "targets": [
            {"memory_id": str(old.pk), "version": 1, "current_version": 1, "state": "live"}
        ],
        "change": {
            "content": "Ask first.",
            "tags": ["b", "a"],
            "metadata": {"supersedes": [old.pk.hex], "n": 1.5},
            "expires_at": ends,
            "supersedes": [str(old.pk)],
        },
        "decision": None,
        "closed_reason": None,
        "index": None,
        "url": made["proposal"]["url"],
        "review_url": made["proposal"]["review_url"],
    }


@pytest.mark.parametrize("op", ["forget", "expire"])
def test_what_makes_no_memory_reserves_no_id(api: build.Api, op: str) -> None:
    memory = build.memory(api.agent)
    api.amp(op, memory_ids=[str(memory.pk)])

    body = get(api, "?status=pending")["results"][0]

    assert body["memory_id"] is None
    assert body["change"]["content"] is None
    assert (body["change"]["tags"], body["change"]["metadata"]) == ([], {})


def test_an_edit_is_shown_and_the_editor_is_not(api: build.Api, reviewer: User) -> None:
    url = api.amp("remember", content="cat", tags=["a", "b"]).json()["proposal"]["url"]
    build.approve(Proposal.objects.get(), reviewer, content="violin", tags=("a",))

    body = get(api, url)

    decision = body["decision"]
    assert decision.pop("at").endswith("Z")
    assert decision == {
        "outcome": "approved",
        "edited": True,
        "reason": None,
        "comment": None,
        "content": "violin",
        "tags": ["a"],
    }
    assert reviewer.username not in str(body)


def test_the_index_state_follows_an_approval(api: build.Api) -> None:
    url = api.amp("remember", content="x").json()["proposal"]["url"]
    build.approve(Proposal.objects.get())
    states = [get(api, url)["index"]]

    IndexEntry.objects.update(last_error="the embedder failed")
    states.append(get(api, url)["index"])
    IndexEntry.objects.update(last_error="")
    build.drain()
    states.append(get(api, url)["index"])

    assert states == ["queued", "failed", "indexed"]


@pytest.mark.parametrize(
    ("field", "reason"), [("lapses_at", "lapsed"), ("ends_at", "ttl_passed")]
)
def test_a_proposal_whose_time_is_over_is_closed_when_it_is_read(
    api: build.Api, field: str, reason: str
) -> None:
    url = api.amp("remember", content="x").json()["proposal"]["url"]
    Proposal.objects.update(**{field: timezone.now()})

    listed = get(api, "?status=expired")["results"]

    assert (listed[0]["status"], listed[0]["closed_reason"]) == ("expired", reason)
    assert get(api, url) == listed[0]


def test_another_agents_proposal_is_unknown(api: build.Api) -> None:
    proposal = build.held(build.agent())

    for method in ("get", "delete"):
        response = getattr(api.client, method)(f"/api/v1/proposals/{proposal.pk}")
        assert (response.status_code, response.json()["code"]) == (
            404,
            "proposal_not_found",
        )
    assert get(api)["results"] == []
    proposal.refresh_from_db()
    assert proposal.is_pending


def test_an_attempt_on_anothers_proposal_is_noted_in_the_own_record_alone(
    api: build.Api,
) -> None:
    proposal = build.held(build.agent())
    before = AuditEntry.objects.filter(agent=proposal.agent_id).count()

    response = api.client.post(f"/api/v1/proposals/{proposal.pk}/approve")

    assert response.status_code == 403
    proposal.refresh_from_db()
    assert proposal.is_pending
    entry = AuditEntry.objects.get(action="decision.refused")
    assert (entry.agent_id, entry.chain) == (api.agent.pk, str(api.agent.pk))
    assert AuditEntry.objects.filter(agent=proposal.agent_id).count() == before


def test_what_a_person_proposed_is_not_the_agents_to_withdraw(
    api: build.Api, reviewer: User
) -> None:
    memory = build.memory(api.agent)
    change = Forget(agent=api.agent.pk, memory_type="semantic", memory_ids=(memory.pk,))
    held = services.propose(change, author=reviewer, seen_version=1, approve=False)
    assert held.outcome.proposal is not None

    refused = api.client.delete(f"/api/v1/proposals/{held.outcome.proposal.pk}")

    assert (refused.status_code, refused.json()["code"]) == (403, "not_yours")
    assert Proposal.objects.get(pk=held.outcome.proposal.pk).is_pending


def test_withdrawing_needs_the_scope_of_what_was_proposed(api: build.Api) -> None:
    url = api.amp("remember", content="x").json()["proposal"]["url"]

    reader = build.Api(api.agent, ["recall"]).client.delete(url)
    writer = build.Api(api.agent, ["remember"]).client.delete(url)

    assert (reader.status_code, reader.json()["code"]) == (403, "missing_scope")
    assert writer.status_code == 200


def test_pages_hold_every_proposal_once_newest_first(api: build.Api) -> None:
    for n in range(7):
        api.amp("remember", content=f"text {n}")
    at = Proposal.objects.first()
    assert at is not None
    Proposal.objects.update(created_at=at.created_at)  # ties are broken by id

    page, seen = get(api, "?limit=3&status=pending"), []
    while True:
        seen += contents(page)
        if page["next"] is None:
            break
        assert "status=pending" in page["next"]
        page = get(api, page["next"])

    assert seen == [f"text {n}" for n in reversed(range(7))]


def test_a_proposal_that_arrives_meanwhile_moves_no_page(api: build.Api) -> None:
    for n in range(4):
        api.amp("remember", content=f"text {n}")
    first = get(api, "?limit=2")
    api.amp("remember", content="new")

    assert contents(get(api, first["next"])) == ["text 1", "text 0"]


def test_a_list_is_narrowed(api: build.Api) -> None:
    memory = build.memory(api.agent, "old")
    api.amp("forget", memory_ids=[str(memory.pk)])
    api.amp("remember", content="new")
    later = quote(timezone.now().isoformat())

    assert contents(get(api, "?status=approved")) == ["old"]
    assert contents(get(api, "?op=forget")) == [None]
    assert contents(get(api, "?op=remember&status=pending")) == ["new"]
    assert get(api, f"?updated_after={later}")["results"] == []
    build.reject(Proposal.objects.pending().get(op="remember"))
    assert contents(get(api, f"?updated_after={later}")) == ["new"]


@pytest.mark.parametrize(
    "cursor",
    [
        *("x", "", "e30=", "bnVsbA==", "WzEsMl0=", "W10=", "ключ", "=" * 9, "%00"),
        "W1" * 5_000,
        write_cursor((datetime.fromisoformat("0001-01-01T00:00:00+14:00"), UUID(int=1))),
        write_cursor((datetime.fromisoformat("2030-01-01T00:00:00"), UUID(int=1))),
    ],
)
def test_a_cursor_that_is_not_ours_is_refused(api: build.Api, cursor: str) -> None:
    response = api.client.get(f"/api/v1/proposals?cursor={cursor}")

    assert response.status_code == 400
    assert response.json()["code"] == ("nul" if cursor == "%00" else "bad_cursor")


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=201",
        "limit=x",
        "limit=-1",
        "limit=٣",
        "status=open",
        "op=recall",
        "updated_after=yesterday",
        "updated_after=2030-01-01",
        "updated_after=2030-01-01T00:00:00",
        "updated_after=2030-13-01T00:00:00Z",
        "updated_after=0001-01-01T00:00:00%2B14:00",
        "updated_after=9999-12-31T23:59:59-14:00",
    ],
)
def test_a_parameter_that_means_nothing_is_refused(api: build.Api, query: str) -> None:
    response = api.client.get(f"/api/v1/proposals?{query}")

    assert (response.status_code, response.json()["code"]) == (400, "bad_parameter")
    assert query.partition("=")[0] in response.json()["detail"]


def test_a_memory_forgotten_after_its_approval_leaves_the_decision_as_it_was(
    api: build.Api,
) -> None:
    url = api.amp("remember", content="x").json()["proposal"]["url"]
    build.approve(Proposal.objects.get())
    build.approve(build.forgetting(api.agent, Memory.objects.get()))

    body = get(api, url)

    assert (body["status"], body["stale"]) == ("approved", False)
