"""What an answer costs does not grow with what is there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests import build

pytestmark = pytest.mark.django_db


def queries(ask: Callable[[], Any]) -> int:
    """Statements but for the bounds of transactions."""
    with CaptureQueriesContext(
        connection,
    ) as captured:
        assert ask().status_code < 300
    bounds = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE", "SET LOCAL")
    return sum(not query["sql"].startswith(bounds) for query in captured)


def test_a_held_remember_costs_the_same_with_a_full_queue(api: build.Api) -> None:
    texts = iter(f"text {n}" for n in range(100))

    def held() -> Any:
        return api.amp("remember", content=next(texts), tags=["t"] * 10)

    held()  # the key's last use is noted once a minute
    few = queries(held)
    for _ in range(30):
        held()

    assert queries(held) == few
    assert few <= 9


def test_a_retry_key_adds_two_statements(api: build.Api) -> None:
    keys = iter("abc")

    def remember(**headers: str) -> Any:
        return api.amp("remember", "episodic", content="x", headers=headers)

    remember()
    plain = queries(remember)
    keyed = queries(lambda: remember(**{"Idempotency-Key": next(keys)}))

    assert keyed == plain + 2


def test_a_recall_costs_the_same_for_any_number_of_hits(api: build.Api) -> None:
    for n in range(60):
        build.short_term(api.agent, f"tea {n}")
    build.drain()

    def recall(top_k: int, query: str = "tea") -> Callable[[], Any]:
        return lambda: api.amp("recall", "episodic", query=query, top_k=top_k)

    recall(1)()

    assert queries(recall(1)) == queries(recall(50)) <= 2
    assert queries(recall(1, "")) == queries(recall(50, "")) <= 2


def test_a_list_costs_the_same_for_any_number_of_proposals(api: build.Api) -> None:
    def page() -> Any:
        return api.client.get("/api/v1/proposals?limit=200")

    def replace_and_approve(n: int) -> None:
        old = build.memory(api.agent, f"old {n}")
        build.held(api.agent, f"new {n}", supersedes=[old.pk])

    replace_and_approve(0)
    page()
    few = queries(page)
    for n in range(1, 15):
        replace_and_approve(n)

    assert queries(page) == few
    assert few <= 7
