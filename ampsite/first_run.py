"""The first run: an admin, a demo agent with a key, a filled queue, and a note of it all."""

from __future__ import annotations

import json
import os
import re
import secrets
from pathlib import Path

from django.conf import settings
from django.urls import reverse

from approvals import demo
from approvals.models import Proposal
from memories.actors import SYSTEM
from memories.models import User
from memories.services import create_person
from memories.writing import writing

ADMIN = "admin"
CREDENTIAL = r"^ +password: (\S+)$"


def note_path() -> Path:
    return Path(settings.DATA_DIR) / "first-login.txt"


def prepare(base_url: str) -> None:
    """Make all of it where there is no person yet; otherwise change nothing.

    One transaction, the note written as its last step: cut off at any point, the next
    run starts from nothing or finds everything.
    """
    with writing():
        if User.objects.exists():
            return
        password = secrets.token_urlsafe(12)
        admin = create_person(ADMIN, password=password, role="admin", actor=SYSTEM)
        agent, key, text = demo.demo_agent(key_name="first run")
        if demo.is_seeded(agent):
            proposal = Proposal.objects.pending().filter(agent=agent).oldest_first().first()
        else:
            proposal = demo.seed(key, reviewer=admin)
        _write(_note(base_url, password, text, proposal))


def told(base_url: str) -> str:
    """What to print: the note, with the address of this run, and without a password that
    was changed since. "" where there is no note."""
    try:
        note = note_path().read_text()
    except FileNotFoundError:
        return ""
    note = re.sub(r"https?://[^/\s]+", base_url, note)
    password = re.search(CREDENTIAL, note, re.MULTILINE)
    admin = User.objects.filter(username=ADMIN).first()
    if password and not (admin and admin.check_password(password[1])):
        note = note.replace(password[0], "    password: the one it was changed to")
    return note


def _note(base_url: str, password: str, key: str, proposal: Proposal | None) -> str:
    lines = [
        f"Ampsite is ready: {base_url}/",
        "",
        f"    user: {ADMIN}",
        f"    password: {password}",
        f"    API key of the agent {demo.AGENT_ID}: {key}",
    ]
    if proposal is not None:
        lines += [
            "",
            "An agent wants to remember something. Look at it and approve it:",
            "",
            f"    {base_url}{reverse('approvals:proposal', args=[proposal.pk])}",
            "",
            "From then on the agent recalls it:",
            "",
            *_curl(base_url, key),
        ]
    return "\n".join([*lines, "", f"This note is kept in {note_path()}.", ""])


def _curl(base_url: str, key: str) -> list[str]:
    envelope = {"op": "recall", "memory_type": "semantic", "query": demo.QUESTION}
    return [
        f"    curl -s {base_url}/api/v1/amp \\",
        f"      -H 'Authorization: Bearer {key}' \\",
        "      -H 'Content-Type: application/json' \\",
        f"      -d '{json.dumps(envelope)}'",
    ]


def _write(note: str) -> None:
    """Whole or not at all, and never readable by others."""
    path = note_path()
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(note)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
