"""docs/api.md: every example runs as written and answers in the shape that is shown."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from approvals.models import Proposal
from memories import errors
from tests import build

DOCUMENT = (Path(settings.BASE_DIR) / "docs" / "api.md").read_text()
EXAMPLE = re.compile(
    r"```sh\n(?P<command>.*?)```\s*(?P<note><!--.*?-->)?\s*```json\n(?P<status>\d+)\n"
    r"(?P<body>.*?)```",
    re.DOTALL,
)
GENERATED = {"id", "ids", "url", "review_url", "at", "created_at", "expires_at"} | {
    "memory_id",
    "instance",
    "prefix",
    "score",
    "relevance",
    "agent_id",
}


def same(shown: Any, real: Any, name: str = "") -> bool:
    """Equal but for what differs from site to site, whose type is compared."""
    if isinstance(shown, dict) and isinstance(real, dict):
        return shown.keys() == real.keys() and all(
            same(shown[key], real[key], key) for key in shown
        )
    if isinstance(shown, list) and isinstance(real, list):
        return len(shown) == len(real) and all(
            same(one, other, name) for one, other in zip(shown, real, strict=True)
        )
    if name in GENERATED and shown is not None:
        return isinstance(real, type(shown))
    return bool(shown == real)


def run(command: str, known: dict[str, str]) -> Any:
    """A curl command, sent through the test client."""
    for name, value in known.items():
        command = command.replace(name, value)
    words = shlex.split(command.replace("\\\n", " "))
    assert words.pop(0) == "curl"
    headers, method, body, url = {}, "", "", ""
    while words:
        match words.pop(0):
            case "-s":
                pass
            case "-H":
                name, _, value = words.pop(0).partition(": ")
                headers[name] = value
            case "-X":
                method = words.pop(0)
            case "-d":
                body = words.pop(0)
            case word:
                url = word
    content_type = headers.pop("Content-Type", "")
    return Client(headers=headers).generic(
        method or ("POST" if body else "GET"), url, body, content_type=content_type
    )


@pytest.mark.django_db
def test_every_example_answers_as_it_is_shown() -> None:
    api = build.Api(build.agent("billing-bot"))
    known = {"$AMPSITE": "", "$KEY": api.text}
    examples = list(EXAMPLE.finditer(DOCUMENT))

    for example in examples:
        if example["note"]:
            build.approve(Proposal.objects.get(pk=known["$PROPOSAL"]))
            build.drain()
        response = run(example["command"], known)
        build.drain()
        body = json.loads(response.content)
        assert response.status_code == int(example["status"]), body
        assert same(json.loads(example["body"]), body), body
        if body.get("hits"):
            known["$ID"] = body["hits"][0]["id"]
        if body.get("proposal"):
            known["$PROPOSAL"] = body["proposal"]["id"]

    assert len(examples) == DOCUMENT.count("```sh") > 0


def test_the_table_of_codes_is_complete() -> None:
    """Every code that the API's own modules can answer with is in the document."""
    folder = Path(settings.BASE_DIR) / "memories"
    sources = [*folder.glob("api/*.py"), folder / "strict.py", folder / "envelope.py"]
    sources += [folder / "schema.py"]
    sources += [folder / "idempotency.py", folder / "limits.py"]
    found = {
        code
        for source in sources
        for code in re.findall(r'code(?:: str)? ?= ?"([a-z_]+)"', source.read_text())
    }
    found |= {
        errors.AlreadyDecided.code,
        errors.IdempotencyInProgress.code,
        errors.IdempotencyMismatch.code,
        errors.MemoryNotFound.code,
        errors.ProposalNotFound.code,
        errors.QueueFull.code,
        errors.RecallUnavailable.code,
    }

    table = DOCUMENT.partition("| status | `code` |")[2].partition("\n\n")[0]

    assert found <= set(re.findall(r"`([a-z_]+)`", table))
