"""README.md: its commands run as they are written, and its tables are true."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from urllib.error import HTTPError

import pytest

from tests.faults.server import (
    PASSWORD,
    ROOT,
    Agent,
    Reviewer,
    Server,
    environment,
    installed,
    serving,
)
from tests.test_settings import listed

README = (ROOT / "README.md").read_text()
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/*.md"))]


class Shell:
    """The reader's terminal: what one block sets, the next one knows."""

    def __init__(self, server: Server, folder: Path) -> None:
        self._server, self._known = server, folder / "known"
        self._known.write_text("")

    def run(self, block: str, typed: str = "") -> str:
        """What a block prints. The project's own Python and port are this run's, and curl
        is the one beside this file."""
        block = block.replace(".venv/bin/python", f'"{sys.executable}"')
        block = block.replace(":8000", f":{self._server.port}")
        script = f"""
            set -eu
            source "{self._known}"
            curl() {{ "{sys.executable}" tests/curl.py "$@"; }}
            {block}
            set +u
            declare -p KEY OTHER_KEY AMPSITE > "{self._known}" 2> /dev/null || true
        """
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=ROOT,
            env=environment(self._server.data),
            input=typed,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, f"{block}\n{done.stderr}"
        return done.stdout

    def value(self, name: str) -> str:
        found = re.search(rf'{name}="(.*)"', self._known.read_text())
        assert found
        return found[1]


def test_an_agent_is_connected_by_the_commands_that_are_written(tmp_path: Path) -> None:
    section = README.partition("## Connect an agent")[2].partition("\n## ")[0]
    blocks = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    make, remember, recall, second, ask, recall_too = blocks
    data = tmp_path / "data"
    installed(data)
    with serving(data, tmp_path / "log") as server:
        shell = Shell(server, tmp_path)
        shell.run(make)
        held = json.loads(shell.run(remember))
        assert json.loads(shell.run(recall)).get("hits", []) == []
        assert Reviewer(server).approve(held["proposal"]["id"])
        told = Agent(server, shell.value("KEY")).amp(
            "recall", query="wait", prefer="wait=1"
        )
        assert told["ok"]
        assert _recalled(shell, recall) == held["ids"]

        shell.run(second, typed=f"{PASSWORD}\n")
        asked = json.loads(shell.run(ask))
        sam = Reviewer(server, "sam")
        with pytest.raises(HTTPError, match="404"):
            sam.open(held["proposal"]["id"])
        assert sam.approve(asked["proposal"]["id"])
        assert _recalled(shell, recall_too) == asked["ids"]


def _recalled(shell: Shell, block: str) -> list[str]:
    """The ids that a recall finds as soon as it finds any."""
    for _ in range(100):
        hits = json.loads(shell.run(block)).get("hits", [])
        if hits:
            break
    return [hit["id"] for hit in hits]


def test_its_settings_exist_and_have_the_defaults_that_are_named() -> None:
    table = README.partition("| setting | default |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| `([A-Z_]+)` \| (?:`(.*?)`)? ?\|", table, re.MULTILINE)
    known = listed()
    assert len(rows) > 8
    for name, default in rows:
        assert name in known, name
        if name != "AMPSITE_DATA_DIR":  # a folder beside manage.py
            assert default == known[name], name


def test_its_commands_exist() -> None:
    names = {
        path.stem
        for path in ROOT.glob("*/management/commands/*.py")
        if path.stem != "__init__"
    }
    text = "".join(path.read_text() for path in DOCUMENTS)
    named = set(re.findall(r"manage\.py ([a-z_]+)", text)) - {"shell"}
    assert named <= names
    assert names - named == set(), "a command that no document names"


def test_every_link_of_the_documents_leads_somewhere() -> None:
    for document in DOCUMENTS:
        for target in re.findall(r"\]\(([^)\s]+)\)", document.read_text()):
            if target.startswith("http"):
                continue
            path, _, anchor = target.partition("#")
            file = (document.parent / path).resolve() if path else document
            assert file.exists(), f"{document.name}: {target}"
            if anchor:
                assert anchor in _anchors(file), f"{document.name}: {target}"


def test_the_pictures_are_small() -> None:
    pictures = re.findall(r"!\[[^\]]+\]\((docs/screenshots/\S+)\)", README)
    assert len(pictures) == 2
    for picture in pictures:
        assert (ROOT / picture).stat().st_size < 150_000, picture


def _anchors(document: Path) -> set[str]:
    """As GitHub makes them of headings."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", text).lower().replace(" ", "-") for text in headings}
