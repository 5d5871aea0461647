"""The first run: an admin, a demo with its key and a filled queue, and a note of it all."""

from __future__ import annotations

import json
import logging
import os
import re
import secrets
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from approvals import demo
from approvals.models import Proposal
from memories.actors import SYSTEM
from memories.errors import DomainError
from memories.models import ApiKey, User
from memories.services import create_person
from memories.writing import writing

logger = logging.getLogger(__name__)

ADMIN = "admin"
ADDRESS = r"^Ampsite is ready: (\S+)/$"
CREDENTIAL = r"^ +password: (\S+)$"
KEY = r"^ +API key of the agent \S+: (\S+)$"
PROPOSAL = r"/proposals/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/"


def note_path() -> Path:
    return Path(settings.DATA_DIR) / "first-login.txt"


def is_due() -> bool:
    return not User.objects.exists()


def prepare(base_url: str) -> None:
    """Make all of it where there is no person yet; otherwise change nothing.

    One transaction, the note written as its last step: cut off at any point, the next
    run starts from nothing or finds everything.
    """
    with writing():
        if not is_due():
            return
        password = secrets.token_urlsafe(12)
        admin = create_person(
            ADMIN, password=password, role="admin", has_first_password=True, actor=SYSTEM
        )
        seeded = _seeded(admin)
        lines = _login(base_url, password)
        if seeded:
            lines += [*_key(seeded.key), *_first_steps(base_url, seeded.proposal.pk)]
            lines += [
                "From then on the agent recalls it:",
                "",
                *_curl(base_url, seeded.key),
            ]
        _write(_text(lines))


def told(base_url: str) -> str:
    """What to print on a later run: what of the note is still true, with the address of
    this run, and what to do next. "" where there is no note, or not of this database."""
    try:
        note = note_path().read_text()
    except FileNotFoundError:
        return ""
    password, key = _found(CREDENTIAL, note), _found(KEY, note)
    admin = User.objects.filter(username=ADMIN, is_active=True).first()
    # Not ``authenticate``, which would note a use.
    opens = ApiKey.objects.usable(timezone.now()).filter(prefix=key[:13]).exists()
    if admin is None and not opens:
        return ""
    lines = [f"Ampsite is ready: {base_url}/", ""]
    if admin:
        kept = admin.check_password(password)
        lines = _login(base_url, password if kept else "the one it was changed to")
    if opens:
        lines += _key(key)
    first = _first_proposal(note)
    if first and first.is_pending:
        lines += _first_steps(base_url, first.pk)
        asked = "From then on the agent recalls it:"
    else:
        lines += _next_steps(base_url)
        asked = "Ask what the agent knows:"
    if opens:
        lines += [asked, "", *_curl(base_url, key)]
    return _text(lines)


def renew_note() -> None:
    """Leave in the note only what is still true: a key that opens nothing goes, and the
    note with it where nothing else is left. One of another database stays as it is."""
    try:
        note = note_path().read_text()
    except FileNotFoundError:
        return
    if renewed := told(_found(ADDRESS, note)):
        _write(renewed)
    elif ApiKey.objects.filter(prefix=_found(KEY, note)[:13]).exists():
        note_path().unlink()


def still_open() -> list[str]:
    """What a first run or a demo left that still opens something, one sentence each, with
    what ends it."""
    sentences = []
    for user in User.objects.filter(has_first_password=True, is_active=True):
        name = user.get_username()
        sentences.append(
            f"The password of {name} is still the one of the first run: change it at "
            f"{reverse('approvals:password')} or with manage.py changepassword {name}."
        )
    keys = ApiKey.objects.usable(timezone.now()).filter(is_demo=True)
    agents = sorted(set(keys.values_list("agent__agent_id", flat=True)))
    if agents:
        sentences.append(
            f"Keys of the demo still open the API ({', '.join(agents)}): revoke them on the "
            "Agents page, or run manage.py seed_demo --end."
        )
    return sentences


def against_others(*, first_run: bool) -> list[str]:
    """Why others may not reach this database yet: ``still_open``, or that ``first_run``
    would only now print accounts and write them to a file."""
    sentences = still_open()
    if first_run and is_due():
        sentences.append(
            "Nobody can log in yet. Start on 127.0.0.1 first, or make an admin with "
            "manage.py create_reviewer NAME --role admin."
        )
    return sentences


def _seeded(admin: User) -> demo.Seeded | None:
    """The demo; nothing where the site has agents of its own by these names, or limits
    that are too low for it."""
    if demo.is_seeded():
        return None
    try:
        return demo.seed(reviewer=admin)
    except DomainError as error:
        logger.warning("No demo: %s", error)
        return None


def _login(base_url: str, password: str) -> list[str]:
    return [
        f"Ampsite is ready: {base_url}/",
        "",
        f"    user: {ADMIN}",
        f"    password: {password}",
    ]


def _key(key: str) -> list[str]:
    return [f"    API key of the agent {demo.AGENT_ID}: {key}"]


def _first_steps(base_url: str, proposal_id: UUID) -> list[str]:
    return [
        "",
        "An agent wants to remember something. Look at it and approve it:",
        "",
        f"    {base_url}{reverse('approvals:proposal', args=[proposal_id])}",
        "",
    ]


def _next_steps(base_url: str) -> list[str]:
    waiting = Proposal.objects.pending().count()
    if waiting:
        what = "1 proposal waits" if waiting == 1 else f"{waiting:,} proposals wait"
        return ["", f"{what} for a decision: {base_url}{reverse('approvals:queue')}", ""]
    return [
        "",
        "Nothing waits for a decision. To connect an agent of your own:",
        "",
        "    .venv/bin/python manage.py create_agent NAME",
        "",
    ]


def _curl(base_url: str, key: str) -> list[str]:
    envelope = {"op": "recall", "memory_type": "semantic", "query": demo.QUESTION}
    return [
        f"    curl -s {base_url}/api/v1/amp \\",
        f"      -H 'Authorization: Bearer {key}' \\",
        "      -H 'Content-Type: application/json' \\",
        f"      -d '{json.dumps(envelope)}'",
    ]


def _text(lines: list[str]) -> str:
    return "\n".join([*lines, "", f"This note is kept in {note_path()}.", ""])


def _found(pattern: str, note: str) -> str:
    found = re.search(pattern, note, re.MULTILINE)
    return found[1] if found else ""


def _first_proposal(note: str) -> Proposal | None:
    found = _found(PROPOSAL, note)
    return Proposal.objects.filter(pk=found).first() if found else None


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
