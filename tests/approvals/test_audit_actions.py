"""The actions of the audit: what the code writes is what the page offers and can say."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from approvals.audit_sentences import ACTIONS, saying
from approvals.models import Proposal

ROOT = Path(__file__).resolve().parents[2]
WRITES = re.compile(r"\baudit\.(append|Event)\b|\bevent_about\b")
ACTION = re.compile(r"[a-z_]+\.[a-z_]+")
OF_OPERATIONS = "f'{change.op}.{what}'"


def written_in(source: str) -> Iterator[str]:
    """The actions a module writes: constants, and one for each operation where the word
    after the dot is handed to the module's ``_event``."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and ACTION.fullmatch(str(node.value)):
            yield str(node.value)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "audit.Event":
            (action,) = (one.value for one in node.keywords if one.arg == "action")
            if isinstance(action, ast.JoinedStr):
                assert ast.unparse(action) == OF_OPERATIONS
                yield from (
                    f"{op}.{what}" for op in Proposal.Op.values for what in _whats(tree)
                )


def _whats(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "self._event":
            what = node.args[1]
            assert isinstance(what, ast.Constant)
            yield str(what.value)


def test_the_page_offers_every_action_that_is_written_and_no_other() -> None:
    written: set[str] = set()
    for folder in ("memories", "approvals", "ampsite"):
        for path in (ROOT / folder).rglob("*.py"):
            source = path.read_text()
            if WRITES.search(source):
                written.update(written_in(source))
    assert written == set(ACTIONS)


@pytest.mark.parametrize("action", ACTIONS)
def test_every_action_has_a_sentence_even_without_its_payload(action: str) -> None:
    assert "“" not in saying(action, {}, ()).thing


def test_a_restore_says_of_which_backup() -> None:
    said = saying("site.restored", {"made_at": "2026-05-03T10:00:00+00:00"}, ())
    assert (said.did, said.thing + said.more, said.agent) == (
        "restored",
        "a backup made at 2026-05-03T10:00:00+00:00",
        "",
    )
