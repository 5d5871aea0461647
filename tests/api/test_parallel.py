"""Many requests at once, on PostgreSQL, each in a thread of its own."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event
from typing import Any

import pytest
from django.db import connection, connections

from approvals.models import Proposal
from memories import audit, idempotency
from memories.errors import IdempotencyInProgress
from memories.idempotency import Kept
from memories.models import Agent, AuditEntry, IdempotencyRecord, Memory
from tests import build

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.postgres,
    pytest.mark.skipif(connection.vendor != "postgresql", reason="needs row locks"),
]


def together(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """The results of calls that begin at the same moment, in order."""
    barrier = Barrier(len(calls))

    def one(call: Callable[[], Any]) -> Any:
        try:
            connection.ensure_connection()
            barrier.wait(timeout=30)
            return call()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(one, calls))


@pytest.mark.case("G8")
@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "k1"}])
def test_the_same_remember_at_once_is_one_proposal(
    api: build.Api, headers: dict[str, str]
) -> None:
    def remember() -> Any:
        return api.amp("remember", content="Refunds take five days.", headers=headers)

    responses = together([remember] * 20)

    proposal = Proposal.objects.get()
    assert {response.status_code for response in responses} == {202}
    assert {response.json()["proposal"]["id"] for response in responses} == {
        str(proposal.pk)
    }
    assert {response.json()["ids"][0] for response in responses} == {
        str(proposal.memory_id)
    }
    assert AuditEntry.objects.filter(action="remember.held").count() == 1


def test_one_key_stores_a_short_term_memory_once(api: build.Api) -> None:
    headers = {"Idempotency-Key": "k1"}

    responses = together(
        [lambda: api.amp("remember", "episodic", content="x", headers=headers)] * 10
    )

    made = Memory.objects.get()
    assert [response.json()["ids"] for response in responses] == [[str(made.pk)]] * 10
    replayed = [response.headers.get("Idempotency-Replayed") for response in responses]
    assert replayed.count("true") == 9


def test_a_repeat_does_not_wait_for_long_on_the_first_request(agent: Agent) -> None:
    begun, finish = Event(), Event()

    def slow() -> Kept:
        begun.set()
        finish.wait(timeout=30)
        return Kept(detail="done")

    def first() -> object:
        return idempotency.once(agent, "k1", "f", slow)

    def second() -> object:
        begun.wait(timeout=30)
        try:
            return idempotency.once(agent, "k1", "f", Kept)
        except IdempotencyInProgress as error:
            return error.code
        finally:
            finish.set()

    done, refused = together([first, second])

    assert done == (Kept(detail="done"), False)
    assert refused == "idempotency_in_progress"
    assert IdempotencyRecord.objects.get().detail == "done"


@pytest.mark.case("G24")
def test_remembering_and_recalling_at_once_loses_nothing(api: build.Api) -> None:
    def remember(n: int) -> Callable[[], Any]:
        return lambda: api.amp("remember", "episodic", content=f"item{n} of the list")

    def recall(n: int) -> Callable[[], Any]:
        return lambda: api.amp("recall", "episodic", query=f"item{n}")

    calls = [call(n) for n in range(20) for call in (remember, recall)]

    responses = together(calls)
    build.drain()

    assert {response.status_code for response in responses} == {200}
    for n in range(20):
        hits = api.amp("recall", "episodic", query=f"item{n} of the list").json()["hits"]
        assert hits[0]["content"] == f"item{n} of the list"
    assert all(isinstance(head, audit.Head) for head in audit.verify())


def test_a_decision_ends_the_wait(api: build.Api) -> None:
    reviewer = build.person()

    def wait() -> Any:
        return api.amp("remember", content="x", headers={"Prefer": "wait=20"})

    def decide() -> None:
        while not Proposal.objects.exists():
            Event().wait(0.05)
        build.approve(Proposal.objects.get(), reviewer)

    response, _ = together([wait, decide])

    body = json.loads(response.content)
    assert (response.status_code, body["approved"]) == (200, True)
    assert body["ids"] == [str(Memory.objects.get().pk)]


def test_who_waits_holds_no_transaction_open(api: build.Api) -> None:
    states: list[str] = []

    def wait() -> Any:
        return api.amp("remember", content="x", headers={"Prefer": "wait=1"})

    def look() -> None:
        while not Proposal.objects.exists():
            Event().wait(0.02)
        Event().wait(0.3)
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT state FROM pg_stat_activity WHERE datname = current_database() "
                "AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )
            states.extend(state for (state,) in cursor.fetchall())

    together([wait, look])

    assert states
    assert not [state for state in states if "transaction" in state]


@pytest.mark.parametrize("cap", ["MAX_WAITING_REQUESTS", "MAX_WAITING_PER_AGENT"])
def test_those_over_the_cap_do_not_wait(api: build.Api, settings: Any, cap: str) -> None:
    settings.MAX_WAITING_REQUESTS = settings.MAX_WAITING_PER_AGENT = 100
    setattr(settings, cap, 2)

    def wait(n: int) -> Callable[[], Any]:
        return lambda: api.amp("remember", content=f"{n}", headers={"Prefer": "wait=2"})

    responses = together([wait(n) for n in range(5)])

    waited = [response.headers.get("Preference-Applied") for response in responses]
    assert {response.status_code for response in responses} == {202}
    assert sorted(waited, key=str) == [None] * 3 + ["wait=2"] * 2
