"""A retry with the same key has no second effect and the same answer."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from approvals.models import Proposal
from memories import idempotency
from memories.models import IdempotencyRecord, Memory
from tests import build

pytestmark = pytest.mark.django_db


def remember(api: build.Api, key: str, memory_type: str = "episodic", **more: Any) -> Any:
    headers = {"Idempotency-Key": key, **more.pop("headers", {})}
    members = {"content": "x", **more}
    return api.amp("remember", memory_type, headers=headers, **members)


@pytest.mark.parametrize("memory_type", ["episodic", "semantic"])
def test_a_repeat_gives_the_first_answer(api: build.Api, memory_type: str) -> None:
    first, again = (remember(api, "k1", memory_type) for _ in range(2))

    assert first.status_code == again.status_code
    assert first.json() == again.json()
    assert "Idempotency-Replayed" not in first.headers
    assert again.headers["Idempotency-Replayed"] == "true"
    assert Memory.objects.count() + Proposal.objects.count() == 1


def test_without_a_key_a_short_term_text_is_remembered_twice(api: build.Api) -> None:
    for _ in range(2):
        api.amp("remember", "episodic", content="x")

    assert Memory.objects.count() == 2


def test_the_answer_stays_what_it_was_when_the_change_was_held(api: build.Api) -> None:
    first = remember(api, "k1", "semantic")
    build.approve(Proposal.objects.get())

    again = remember(api, "k1", "semantic")

    assert (again.status_code, again.json()) == (202, first.json())


def test_a_repeat_that_waits_waits_on_the_same_proposal(api: build.Api) -> None:
    remember(api, "k1", "semantic")
    build.approve(Proposal.objects.get())

    again = remember(api, "k1", "semantic", headers={"Prefer": "wait=5"})

    assert again.status_code == 200
    assert again.json()["approved"] is True
    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.headers["Preference-Applied"] == "wait=5"


def test_a_key_serves_one_request_only(api: build.Api) -> None:
    remember(api, "k1")

    other_body = remember(api, "k1", content="y")
    other_query = api.amp(
        "remember",
        "episodic",
        content="x",
        url_query="?a=b",
        headers={"Idempotency-Key": "k1"},
    )

    for response in (other_body, other_query):
        assert (response.status_code, response.json()["code"]) == (
            422,
            "idempotency_mismatch",
        )
    assert Memory.objects.count() == 1


def test_a_key_belongs_to_its_agent(api: build.Api) -> None:
    other = build.Api(build.agent())

    remember(api, "k1")
    response = remember(other, "k1", content="y")

    assert response.status_code == 200


def test_quoted_and_bare_are_the_same_key(api: build.Api) -> None:
    remember(api, "k1")

    assert remember(api, '"k1"').headers["Idempotency-Replayed"] == "true"


@pytest.mark.parametrize(
    "key", ["", '""', "x" * 256, "ключ".encode().decode("latin-1"), '"']
)
def test_what_is_no_key_is_refused(api: build.Api, key: str) -> None:
    response = remember(api, key)

    assert (response.status_code, response.json()["code"]) == (400, "bad_idempotency_key")
    assert not Memory.objects.exists()


def test_the_longest_key_is_kept_whole(api: build.Api) -> None:
    remember(api, "x" * 255)

    assert IdempotencyRecord.objects.get().key == "x" * 255


def test_errors_are_not_kept(api: build.Api) -> None:
    api.amp(
        "remember",
        "semantic",
        content="x",
        metadata={"supersedes": ["0190a5b6-0000-7000-8000-000000000000"]},
        headers={"Idempotency-Key": "k1"},
    )

    assert remember(api, "k1").status_code == 200


def test_a_withdrawal_can_be_repeated(api: build.Api) -> None:
    url = api.amp("remember", content="x").json()["proposal"]["url"]
    headers = {"Idempotency-Key": "k1"}

    first, again = (api.client.delete(url, headers=headers) for _ in range(2))

    assert first.status_code == again.status_code == 200
    assert first.json() == again.json()
    assert again.headers["Idempotency-Replayed"] == "true"


def test_what_is_kept_holds_no_memory_text(api: build.Api) -> None:
    remember(api, "k1", "semantic", content="a secret text", tags=["secret"])

    record = IdempotencyRecord.objects.values().get()
    assert "secret" not in str(record)


def test_keys_are_let_go_of_after_their_hours(api: build.Api) -> None:
    remember(api, "old")
    remember(api, "new")
    past = timezone.now() - timedelta(hours=25)
    IdempotencyRecord.objects.filter(key="old").update(created_at=past)

    again = remember(api, "old", content="y")  # before any sweep
    IdempotencyRecord.objects.filter(key="old").update(created_at=past)
    deleted = idempotency.forget_expired()

    assert again.status_code == 200
    assert deleted == 1
    assert IdempotencyRecord.objects.get().key == "new"
