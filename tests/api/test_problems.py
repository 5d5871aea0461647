"""One shape for every error, and no address that answers with another."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from memories import recall
from memories.schema import SCHEMA
from tests import build

pytestmark = pytest.mark.django_db

MEMBERS = {"type", "title", "status", "detail", "instance", "code", "errors", "ok"}


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/api/v1/amp", 405, "method_not_allowed"),
        ("PUT", "/api/v1/amp/", 405, "method_not_allowed"),
        ("POST", "/api/v1/whoami", 405, "method_not_allowed"),
        ("GET", "/api/v1/proposals/x", 404, "proposal_not_found"),
        ("GET", "/api/v1/nothing", 404, "not_found"),
        ("POST", "/api/v2/amp", 404, "not_found"),
        ("GET", "/api", 404, "not_found"),
        ("GET", "/api/", 404, "not_found"),
        ("GET", "/.well-known/nothing", 404, "not_found"),
        ("POST", "/.well-known/amp-schema.json", 405, "method_not_allowed"),
        ("GET", "/api/v1/proposals?cursor=x", 400, "bad_cursor"),
        ("GET", "/api/v1/proposals?limit=0", 400, "bad_parameter"),
        ("POST", "/api/v1/amp", 415, "not_json"),
    ],
)
def test_every_error_has_one_shape(
    api: build.Api, method: str, path: str, status: int, code: str
) -> None:
    response = api.client.generic(method, path, headers={"Accept": "text/html"})

    document = json.loads(response.content)
    assert (response.status_code, document["code"]) == (status, code)
    assert response.headers["Content-Type"] == "application/problem+json"
    assert set(document) == MEMBERS
    assert document["status"] == status
    assert document["instance"] == path.partition("?")[0]
    if status == 405:
        assert "OPTIONS" in response.headers["Allow"]


def test_an_error_inside_says_nothing_of_what_is_inside(
    api: build.Api, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(question: recall.Question) -> recall.Answer:
        raise RuntimeError(f"row ({question.query})")

    monkeypatch.setattr(recall, "recall", broken)

    response = api.amp("recall", query="a secret text")

    document = json.loads(response.content)
    assert (response.status_code, document["code"]) == (500, "internal_error")
    assert document["op"] == "recall"
    assert "a secret" not in response.content.decode()
    assert "RuntimeError" in caplog.text
    assert "a secret" not in caplog.text


@pytest.mark.case("G27")
def test_a_wrong_host_is_refused_in_the_same_shape(api: build.Api) -> None:
    response = api.client.get("/api/v1/whoami", headers={"Host": "elsewhere.example"})

    assert response.status_code == 400
    assert set(json.loads(response.content)) == MEMBERS


def test_an_unknown_page_is_no_problem_document(client: Client) -> None:
    response = client.get("/nothing-here/")

    assert response.status_code == 404
    assert response.headers["Content-Type"].startswith("text/html")


@pytest.mark.case("W13")
@pytest.mark.parametrize("slash", ["", "/"])
@pytest.mark.parametrize(
    "path", ["/api/v1/whoami", "/api/v1/proposals", "/.well-known/amp-schema.json"]
)
def test_an_address_answers_with_and_without_its_slash(
    api: build.Api, path: str, slash: str
) -> None:
    assert api.client.get(path + slash).status_code == 200
    assert api.client.head(path + slash).status_code == 200


@pytest.mark.case("W13")
@pytest.mark.parametrize("slash", ["", "/"])
def test_an_envelope_is_taken_with_and_without_the_slash(
    api: build.Api, slash: str
) -> None:
    envelope = {"op": "remember", "memory_type": "episodic", "content": "x"}

    response = api.client.post(
        f"/api/v1/amp{slash}", envelope, content_type="application/json"
    )

    assert response.status_code == 200


def test_the_schema_is_served_byte_for_byte(client: Client) -> None:
    response: Any = client.get("/.well-known/amp-schema.json")

    assert response.content == SCHEMA
    assert json.loads(response.content)["$id"].endswith("/amp/1/envelope.json")
    assert response.headers["Content-Type"] == "application/schema+json"


def test_options_names_the_methods(api: build.Api) -> None:
    response = api.client.options("/api/v1/proposals")

    assert response.status_code == 204
    assert response.headers["Allow"] == "GET, HEAD, OPTIONS"


def test_answers_are_kept_by_no_cache(api: build.Api) -> None:
    assert api.client.get("/api/v1/whoami").headers["Cache-Control"] == "no-store"
