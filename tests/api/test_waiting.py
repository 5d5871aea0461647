"""``Prefer: wait=N``: when it waits, for how long, and what it then says."""

from __future__ import annotations

import time
from typing import Any
from uuid import uuid4

import pytest
from django.db import OperationalError
from pytest_django.fixtures import Settings

from approvals.models import Proposal
from memories.api import waiting
from memories.api.waiting import preferred_wait, wait_until
from memories.models import User
from tests import build

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("prefer", "seconds"),
    [
        ("wait=5", 5),
        ("WAIT = 5", 5),
        ('wait="5"', 5),
        ("respond-async, wait=5; x=y", 5),
        ("wait=600", 60),
        ("wait=0", 0),
        (None, 0),
        ("", 0),
        ("wait", 0),
        ("wait=", 0),
        ("wait=-5", 0),
        ("wait=5.5", 0),
        ("wait=٥", 0),
        ("wait=5, wait=6", 0),
        ("await=5", 0),
        ("wait=99999999999999999999", 0),
    ],
)
def test_a_preference_is_read_or_ignored(prefer: str | None, seconds: int) -> None:
    assert preferred_wait(prefer) == seconds


def test_a_malformed_preference_fails_no_request(api: build.Api) -> None:
    response = api.amp("remember", content="x", headers={"Prefer": "wait=soon;;=,"})

    assert response.status_code == 202
    assert "Preference-Applied" not in response.headers


def test_a_wait_without_a_decision_ends_in_the_202(api: build.Api) -> None:
    begin = time.monotonic()

    response = api.amp("remember", content="x", headers={"Prefer": "wait=1"})

    assert 1 <= time.monotonic() - begin < 5
    assert response.status_code == 202
    assert response.headers["Preference-Applied"] == "wait=1"
    assert response.json()["proposal"]["status"] == "pending"


def decided(api: build.Api, op: str, *, decide: Any, **members: Any) -> Any:
    """The answer to a repeat that waits on a proposal which was decided meanwhile."""
    headers = {"Idempotency-Key": str(uuid4())}
    first = api.amp(op, headers=headers, **members)
    assert first.status_code == 202
    decide(Proposal.objects.get(pk=first.json()["proposal"]["id"]))
    return api.amp(op, headers={**headers, "Prefer": "wait=5"}, **members)


def test_an_approval_within_the_wait_is_the_answer(api: build.Api) -> None:
    response = decided(api, "remember", content="x", decide=build.approve)

    proposal = Proposal.objects.get()
    assert response.status_code == 200
    assert response.json() == {
        "op": "remember",
        "ok": True,
        "ids": [str(proposal.memory_id)],
        "approved": True,
        "proposal": {
            "id": str(proposal.pk),
            "status": "approved",
            "edited": False,
            "url": f"http://testserver/api/v1/proposals/{proposal.pk}",
            "review_url": f"http://testserver/proposals/{proposal.pk}/",
        },
    }


def test_an_edit_is_told(api: build.Api) -> None:
    response = decided(
        api, "remember", content="x", decide=lambda p: build.approve(p, content="y")
    )

    body = response.json()
    assert body["detail"].startswith("approved with changes")
    assert body["proposal"]["edited"] is True
    assert api.client.get(body["proposal"]["url"]).json()["decision"]["content"] == "y"


def test_a_rejection_gives_reason_and_comment(api: build.Api, reviewer: User) -> None:
    def reject(proposal: Proposal) -> None:
        build.reject(proposal, reviewer, reason="untrue", comment="It is rock.")

    response = decided(api, "remember", content="x", decide=reject)

    body = response.json()
    assert response.status_code == 200
    assert (body["ok"], body["approved"]) == (False, False)
    assert body["detail"] == "untrue: It is rock."
    assert body["proposal"]["status"] == "rejected"
    assert "ids" not in body
    assert "rosa" not in response.content.decode()


def test_a_withdrawal_ends_a_wait(api: build.Api) -> None:
    def withdraw(proposal: Proposal) -> None:
        api.client.delete(f"/api/v1/proposals/{proposal.pk}")

    body = decided(api, "remember", content="x", decide=withdraw).json()

    assert (body["ok"], body["approved"]) == (False, False)
    assert body["detail"] == "the proposal is withdrawn (by_agent)"


def test_an_approved_forget_lists_what_was_forgotten_then_and_now(api: build.Api) -> None:
    short = build.short_term(api.agent)
    one, two = build.memory(api.agent, "one"), build.memory(api.agent, "two")
    unknown = str(uuid4())
    named = [str(memory.pk) for memory in (one, short, two)]

    body = decided(
        api,
        "forget",
        memory_ids=[*named, unknown],
        decide=lambda p: build.approve(p, memory_ids=(two.pk,)),
    ).json()

    assert body["ids"] == [str(short.pk), str(two.pk)]
    assert body["detail"] == "approved with changes; 1 id is unknown"


def test_an_approved_expire_says_when(api: build.Api) -> None:
    memory = build.memory(api.agent)

    body = decided(
        api,
        "expire",
        memory_ids=[str(memory.pk)],
        ttl_seconds=3_600,
        decide=build.approve,
    ).json()

    memory.refresh_from_db()
    assert memory.expires_at is not None
    ends = memory.expires_at.isoformat().replace("+00:00", "Z")
    assert (body["ids"], body["detail"]) == ([str(memory.pk)], f"expires at {ends}")


def test_a_short_term_memory_is_waited_for_until_it_can_be_recalled(api: build.Api) -> None:
    headers = {"Idempotency-Key": "k", "Prefer": "wait=1"}
    begin = time.monotonic()
    unindexed = api.amp("remember", "episodic", content="x", headers=headers)
    waited = time.monotonic() - begin
    build.drain()

    begin = time.monotonic()
    indexed = api.amp("remember", "episodic", content="x", headers=headers)

    assert unindexed.status_code == indexed.status_code == 200
    assert waited >= 1 > time.monotonic() - begin
    assert indexed.headers["Preference-Applied"] == "wait=1"


@pytest.mark.parametrize("setting", ["MAX_WAITING_REQUESTS", "MAX_WAITING_PER_AGENT"])
def test_over_the_cap_the_answer_comes_at_once(
    api: build.Api, settings: Settings, setting: str
) -> None:
    setattr(settings, setting, 0)
    begin = time.monotonic()

    response = api.amp("remember", content="x", headers={"Prefer": "wait=30"})

    assert time.monotonic() - begin < 5
    assert response.status_code == 202
    assert "Preference-Applied" not in response.headers


def test_a_place_is_given_back(settings: Settings) -> None:
    settings.MAX_WAITING_REQUESTS = settings.MAX_WAITING_PER_AGENT = 1
    agent, inner = uuid4(), []

    def look() -> bool:
        inner.append(wait_until(lambda: True, seconds=1, agent=agent))
        return True

    assert wait_until(look, seconds=1, agent=agent)
    assert inner == [None]
    assert wait_until(lambda: True, seconds=1, agent=agent)
    assert not waiting._waiting


def test_a_stopping_server_lets_go_of_who_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_stopping", type(waiting._stopping)())
    waiting.stop_waiting()
    begin = time.monotonic()

    wait_until(lambda: False, seconds=30, agent=uuid4())

    assert time.monotonic() - begin < 5


def test_a_database_that_fails_ends_the_wait_and_not_the_request() -> None:
    def broken() -> bool:
        raise OperationalError("gone")

    assert wait_until(broken, seconds=30, agent=uuid4()) is False
