"""What counts as a request body: size, type, strict JSON, then the schema."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from memories.models import Memory
from tests import build

pytestmark = pytest.mark.django_db

PLAIN = {"op": "remember", "memory_type": "episodic", "content": "x"}


def post(api: build.Api, body: bytes, content_type: str = "application/json") -> Any:
    return api.client.post("/api/v1/amp", body, content_type=content_type)


def refused(response: Any, status: int, code: str) -> dict[str, Any]:
    """The problem document, and nothing was stored."""
    document: dict[str, Any] = json.loads(response.content)
    assert response.status_code == status, document
    assert response.headers["Content-Type"] == "application/problem+json"
    assert document["code"] == code
    assert document["ok"] is False
    assert not Memory.objects.exists()
    return document


@pytest.mark.case("W1")
@pytest.mark.parametrize("body", [b"null", b"[]", b'"x"', b"1"])
def test_the_body_is_one_object(api: build.Api, body: bytes) -> None:
    refused(post(api, body), 400, "invalid_envelope")


@pytest.mark.case("W1")
@pytest.mark.parametrize(
    "body",
    [
        b" ",
        b"{",
        b"op=remember",
        b"{} x",
        b"[" * 500,
        b'{"op":"recall","op":"recall","memory_type":"episodic","query":"x"}',
        b'{"op":"recall","\\u006fp":"recall","memory_type":"episodic","query":"x"}',
        b'\xef\xbb\xbf{"op":"recall","memory_type":"episodic","query":"x"}',
        '{"op":"recall","memory_type":"episodic","query":"é"}'.encode("latin-1"),
        '{"op":"recall","memory_type":"episodic","query":"é"}'.encode("utf-16"),
    ],
)
def test_what_is_not_strict_json_is_refused(api: build.Api, body: bytes) -> None:
    refused(post(api, body), 400, "invalid_json")


@pytest.mark.case("W1")
def test_an_empty_body_is_refused(api: build.Api) -> None:
    response = api.client.generic(
        "POST", "/api/v1/amp", b"", headers={"Content-Type": "application/json"}
    )

    assert response.status_code in {400, 415}
    assert json.loads(response.content)["ok"] is False


@pytest.mark.case("W1")
@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/json; charset=latin-1",
    ],
)
def test_only_json_in_utf8_is_read(api: build.Api, content_type: str) -> None:
    refused(post(api, json.dumps(PLAIN).encode(), content_type), 415, "not_json")


def test_json_may_name_its_charset(api: build.Api) -> None:
    response = post(api, json.dumps(PLAIN).encode(), 'application/json; charset="UTF-8"')

    assert response.status_code == 200


@pytest.mark.case("W2")
@pytest.mark.parametrize(
    ("members", "pointer"),
    [
        ({"content": "a\0b"}, "/content"),
        ({"op": "recall", "query": "a\0b"}, "/query"),
        ({"tags": ["fine", "a\0b"]}, "/tags/1"),
        ({"agent_id": "a\0b"}, "/agent_id"),
        ({"metadata": {"note": ["a\0b"]}}, "/metadata/note/0"),
        ({"metadata": {"a\0b": 1}}, "/metadata/a\\u0000b"),
    ],
)
def test_nul_is_no_text(api: build.Api, members: dict[str, Any], pointer: str) -> None:
    document = refused(post(api, json.dumps(PLAIN | members).encode()), 400, "nul")

    assert [error["pointer"] for error in document["errors"]] == [pointer]


@pytest.mark.case("W2")
@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/v1/a%00mp", 404),
        ("/api/v1/whoami?a=%00", 400),
        ("/.well-known/amp-schema.json?a=%00", 400),
    ],
)
def test_nul_in_an_address_finds_nothing(api: build.Api, path: str, status: int) -> None:
    response = api.client.get(path)

    assert response.status_code == status
    assert json.loads(response.content)["ok"] is False


@pytest.mark.case("W3")
@pytest.mark.parametrize(
    "member",
    [
        '"content":"\\ud83d"',
        '"top_k":NaN',
        '"top_k":Infinity',
        '"top_k":1e999',
        '"ttl_seconds":-1e999',
        '"ttl_seconds":18446744073709551616',
        '"metadata":{"a":1e999}',
        '"metadata":{"a":[{"b":18446744073709551616}]}',
        f'"metadata":{{"a":{"9" * 5000}}}',
        '"metadata":{"a":"\\udc00"}',
        f'"metadata":{{"a":{"[" * 63}{"]" * 63}}}',
    ],
)
def test_numbers_and_texts_that_do_not_exist_are_refused(
    api: build.Api, member: str
) -> None:
    body = f'{{"op":"remember","memory_type":"episodic","content":"x",{member}}}'
    if member.startswith('"content"'):
        body = body.replace('"content":"x",', "")

    refused(post(api, body.encode()), 400, "invalid_json")


def test_metadata_is_taken_to_the_limits_of_json(api: build.Api) -> None:
    deep: Any = 2**64 - 1
    for _ in range(62):
        deep = [deep]
    metadata = {"deep": deep, "least": -(2**63), "small": 5e-324, "é": "\u2028"}

    response = api.amp("remember", "episodic", content="x", metadata=metadata)

    assert response.status_code == 200
    assert Memory.objects.get().metadata == metadata


@pytest.mark.case("W4")
@pytest.mark.parametrize("declared", [None, "10"])
def test_a_body_over_the_limit_is_refused_by_name(
    api: build.Api, settings: Settings, declared: str | None
) -> None:
    settings.MAX_BODY_BYTES = 1_000
    body = json.dumps(PLAIN | {"content": "x" * 3_000_000}).encode()
    more: dict[str, Any] = {"CONTENT_LENGTH": declared} if declared else {}

    response = api.client.generic(
        "POST", "/api/v1/amp", body, content_type="application/json", **more
    )

    document = json.loads(response.content)
    if declared:  # what stands beyond the declared length belongs to nobody
        assert (response.status_code, document["code"]) == (400, "invalid_json")
    else:
        refused(response, 413, "body_too_large")
        assert "MAX_BODY_BYTES" in document["detail"]


@pytest.mark.case("W5")
@pytest.mark.parametrize(
    ("members", "pointers"),
    [
        ({"surprise": 1, "a/b~c": 2}, {"/surprise", "/a~1b~0c"}),
        ({"memory_type": "emotional"}, {"/memory_type"}),
        ({"top_k": -1}, {"/top_k"}),
        ({"top_k": 0}, {"/top_k"}),
        ({"top_k": 2.5}, {"/top_k"}),
        ({"top_k": "5"}, {"/top_k"}),
        ({"tags": None}, {"/tags"}),
        ({"tags": ["a", 1]}, {"/tags/1"}),
        ({"memory_ids": ["x", 1]}, {"/memory_ids/0", "/memory_ids/1"}),
        ({"metadata": []}, {"/metadata"}),
        ({"ttl_seconds": -1}, {"/ttl_seconds"}),
        ({"amp_version": 1}, {"/amp_version"}),
        ({"agent_id": 1, "top_k": 0}, {"/agent_id", "/top_k"}),
    ],
)
def test_each_member_at_fault_is_pointed_to(
    api: build.Api, members: dict[str, Any], pointers: set[str]
) -> None:
    response = post(api, json.dumps(PLAIN | members).encode())

    document = refused(response, 400, "invalid_envelope")
    assert {error["pointer"] for error in document["errors"]} == pointers
    assert document["op"] == "remember"


@pytest.mark.case("W5")
@pytest.mark.parametrize(
    ("envelope", "pointers"),
    [
        ({}, ["/op"]),
        ({"op": "forgive", "tags": 1}, ["/op"]),
        ({"op": 1}, ["/op"]),
        ({"op": "remember"}, ["/memory_type", "/content"]),
        ({"op": "recall", "memory_type": "semantic"}, ["/query"]),
        ({"op": "merge", "memory_type": "semantic"}, ["/memory_ids"]),
    ],
)
def test_what_is_missing_is_named_where_it_belongs(
    api: build.Api, envelope: dict[str, Any], pointers: list[str]
) -> None:
    document = refused(post(api, json.dumps(envelope).encode()), 400, "invalid_envelope")

    assert [error["pointer"] for error in document["errors"]] == pointers


def test_an_error_never_quotes_what_was_sent(api: build.Api) -> None:
    response = post(api, json.dumps(PLAIN | {"top_k": "a secret"}).encode())

    assert "a secret" not in response.content.decode()


def test_another_version_is_named_as_such(api: build.Api) -> None:
    response = api.amp("remember", content="x", amp_version="amp/2")

    document = refused(response, 400, "unsupported_version")
    assert document["errors"][0]["pointer"] == "/amp_version"


def test_null_means_absent(api: build.Api) -> None:
    nothing: dict[str, Any] = {
        "agent_id": None,
        "top_k": None,
        "ttl_seconds": None,
        "metadata": None,
    }

    response = api.amp("remember", "episodic", content="x", amp_version="amp/1", **nothing)

    assert response.status_code == 200
    assert Memory.objects.get().metadata == {}


def test_whole_numbers_may_be_written_as_floats(api: build.Api) -> None:
    api.amp("remember", "episodic", content="x", ttl_seconds=60.0)

    response = api.amp("recall", "episodic", query="", top_k=1e2)

    assert len(response.json()["hits"]) == 1


@pytest.mark.parametrize(
    "member",
    [
        '"tags":[' + "1," * 400_000 + "1]",
        '"memory_ids":[' + '"",' * 300_000 + '""]',
        '"tags":[' + '"",' * 300_000 + "1]",
        ",".join(f'"{n}":0' for n in range(90_000)),
    ],
    ids=["tags", "ids", "empty tags", "members"],
)
def test_a_body_full_of_faults_is_refused_in_few_words(api: build.Api, member: str) -> None:
    body = f'{{"op":"remember","memory_type":"episodic","content":"x",{member}}}'
    begin = time.monotonic()

    response = post(api, body.encode())

    assert response.status_code in {400, 422}
    assert len(response.json()["errors"]) <= 100
    assert time.monotonic() - begin < 10
