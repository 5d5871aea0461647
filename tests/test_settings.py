"""Every setting that is read is written down, with its default, and nothing else is."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = ROOT / "ampsite" / "settings.py"
EXAMPLE = ROOT / ".env.example"


def test_env_example_lists_exactly_the_variables_that_settings_reads() -> None:
    assert set(listed()) == {name for name, _ in _read()}


def test_env_example_says_the_defaults() -> None:
    known = listed()
    for name, default in _read():
        match default:
            case ast.Constant(value=bool(value)):
                assert known[name] == str(int(value)), name
            case ast.Constant(value=value):
                assert known[name] == str(value), name
            case _:
                pass  # worked out from other settings; the comment above it says how


def test_every_variable_is_explained_and_commented_out() -> None:
    lines = EXAMPLE.read_text().splitlines()
    assert not [line for line in lines if re.match(r"[A-Z]", line)]
    for above, line in zip(["", *lines], lines, strict=False):
        if re.match(r"#[A-Z_]+=", line):
            assert above.startswith("#"), f"{line} stands alone"


def listed() -> dict[str, str]:
    """Variable -> default, as .env.example has them."""
    found = re.findall(r"^#([A-Z_]+)=(.*)$", EXAMPLE.read_text(), re.MULTILINE)
    assert len(found) == len(dict(found)), "a variable is listed twice"
    return dict(found)


def _read() -> Iterator[tuple[str, ast.expr | None]]:
    """The name and the default of each ``env.<type>(...)`` in settings.py."""
    for node in ast.walk(ast.parse(SETTINGS.read_text())):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "env"
            and isinstance(name := node.args[0], ast.Constant)
        ):
            default = [word.value for word in node.keywords if word.arg == "default"]
            yield str(name.value), default[0] if default else None
