"""Who may knock: keys only, each with its scopes, for its own agent."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from memories.actors import SYSTEM
from memories.models import ApiKey, Memory
from memories.services import create_key, revoke_key, set_active
from tests import build

pytestmark = pytest.mark.django_db


def whoami(**headers: str) -> Any:
    return Client(headers={k.replace("_", "-"): v for k, v in headers.items()}).get(
        "/api/v1/whoami"
    )


@pytest.mark.parametrize(
    ("header", "shape"),
    [
        ("Authorization", "Bearer {}"),
        ("Authorization", "bearer  {}"),
        ("Authorization", "Api-Key {}"),
        ("X-API-Key", "{}"),
    ],
)
def test_a_key_is_shown_in_one_of_three_ways(
    api: build.Api, header: str, shape: str
) -> None:
    response = Client(headers={header: shape.format(api.text)}).get("/api/v1/whoami")

    assert response.status_code == 200
    assert response.json()["agent"]["agent_id"] == api.agent.agent_id


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/amp",
        "/api/v1/whoami",
        "/api/v1/proposals",
        "/api/v1/proposals/0190a5b6-0000-7000-8000-000000000000",
    ],
)
def test_without_a_key_every_door_is_shut(desk: Client, path: str) -> None:
    """Even for a person who is signed in: a session cookie opens no door."""
    response = desk.post(path, {}, content_type="application/json")

    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"].startswith("Bearer")
    assert response.json()["code"] == "no_key"


def test_a_key_that_is_wrong_revoked_expired_or_of_a_silent_agent_opens_nothing(
    api: build.Api,
) -> None:
    agent = build.agent()
    revoked, revoked_text = create_key(agent, actor=SYSTEM)
    revoke_key(revoked, actor=SYSTEM)
    past = timezone.now() - timedelta(seconds=1)
    _, expired_text = create_key(agent, actor=SYSTEM, expires_at=past)
    set_active(api.agent, False, actor=SYSTEM)

    for text in (
        revoked_text,
        expired_text,
        api.text,
        "amps_00000000_" + "x" * 43,
        "nonsense",
        "ключ",
    ):
        response = whoami(X_API_Key=text.encode().decode("latin-1"))
        assert (response.status_code, response.json()["code"]) == (401, "bad_key")


def test_two_different_keys_are_as_good_as_none(api: build.Api) -> None:
    other = build.Api(build.agent())

    mixed = whoami(Authorization=f"Bearer {api.text}", X_API_Key=other.text)
    same = whoami(Authorization=f"Bearer {api.text}", X_API_Key=api.text)

    assert (mixed.status_code, same.status_code) == (401, 200)


def test_a_password_of_a_proxy_does_not_hide_the_key(api: build.Api) -> None:
    assert whoami(Authorization="Basic eDp5", X_API_Key=api.text).status_code == 200
    assert whoami(Authorization="Basic eDp5").status_code == 401


@pytest.mark.parametrize("op", ["remember", "recall", "forget", "merge", "expire"])
def test_each_operation_needs_its_scope(op: str) -> None:
    agent = build.agent()
    ids = [str(build.short_term(agent, text).pk) for text in ("one", "two")]
    others = [scope for scope in ApiKey.SCOPES if scope != op]
    members: dict[str, Any] = {
        "remember": {"content": "x"},
        "recall": {"query": "one"},
    }.get(op, {"memory_ids": ids})

    without = build.Api(agent, others).amp(op, "episodic", **members)
    only = build.Api(agent, [op]).amp(op, "episodic", **members)

    assert (without.status_code, without.json()["code"]) == (403, "missing_scope")
    assert without.json()["op"] == op
    assert only.status_code == 200


def test_an_envelope_speaks_for_its_own_agent_only(api: build.Api) -> None:
    other = build.agent()

    foreign = api.amp("remember", "episodic", content="x", agent_id=other.agent_id)
    other_case = api.amp(
        "remember", "episodic", content="x", agent_id=api.agent.agent_id.upper()
    )
    own = api.amp("remember", "episodic", content="x", agent_id=api.agent.agent_id)

    assert (foreign.status_code, foreign.json()["code"]) == (403, "wrong_agent")
    assert other_case.status_code == 403
    assert own.status_code == 200
    assert Memory.objects.count() == 1


def test_a_new_key_gets_what_there_is_and_an_old_one_keeps_its_own(agent: Any) -> None:
    made, _ = create_key(agent, actor=SYSTEM)
    assert made.scopes == ["remember", "recall", "forget", "merge", "expire"]
    api = build.Api(agent, ApiKey.SCOPES)
    body = api.client.get("/api/v1/whoami").json()
    assert body["scopes"] == list(ApiKey.SCOPES)
    assert api.amp("recall", query="anything").status_code == 200


def test_whoami_says_what_a_key_may_do(agent: Any) -> None:
    api = build.Api(agent, ["recall"])

    body = api.client.get("/api/v1/whoami").json()

    assert body["agent"] == {"agent_id": agent.agent_id, "name": ""}
    assert body["scopes"] == ["recall"]
    assert body["limits"]["content_characters"] == 65_536
    assert body["versions"]["amp"] == ["amp/1"]
    assert api.text not in str(body)
