"""The first run lays everything out once, however often it is cut off."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from ampsite import first_run
from approvals import demo
from approvals.models import Proposal
from memories.actors import SYSTEM
from memories.models import AuditEntry, User
from memories.services import authenticate, change_password
from tests import build

URL = "http://127.0.0.1:8000"


@pytest.fixture
def note(settings: Settings) -> Path:
    return Path(settings.DATA_DIR) / "first-login.txt"


def found(pattern: str, text: str) -> str:
    (match,) = set(re.findall(pattern, text, re.MULTILINE))
    return str(match)


@pytest.mark.django_db
def test_what_the_note_says_is_true(note: Path) -> None:
    first_run.prepare(URL)
    assert note.stat().st_mode & 0o777 == 0o600
    text = note.read_text()

    browser = Client()
    password = found(r"^ +password: (\S+)$", text)
    assert browser.login(username=found(r"^ +user: (\S+)$", text), password=password)
    assert User.objects.get(username="admin").role == "admin"
    path = found(rf"{URL}(/proposals/\S+)", text)
    assert demo.FIRST in browser.get(path).content.decode()
    key = authenticate(found(r"Bearer (\S+)'", text))
    assert key is not None
    assert key.agent.agent_id == demo.AGENT_ID
    assert Proposal.objects.pending().count() >= 8


@pytest.mark.django_db
def test_a_second_run_changes_nothing(note: Path) -> None:
    first_run.prepare(URL)
    before = note.read_text()
    entries = AuditEntry.objects.count()
    first_run.prepare("http://127.0.0.1:9000")
    assert note.read_text() == before
    assert AuditEntry.objects.count() == entries


@pytest.mark.django_db
def test_a_later_run_tells_the_same_with_its_own_address(note: Path) -> None:
    first_run.prepare(URL)
    told = first_run.told("http://127.0.0.1:9000")
    assert told == note.read_text().replace(URL, "http://127.0.0.1:9000")
    assert URL not in told


@pytest.mark.django_db
def test_a_password_that_was_changed_is_told_no_longer(note: Path) -> None:
    first_run.prepare(URL)
    password = found(first_run.CREDENTIAL, note.read_text())
    assert password in first_run.told(URL)
    admin = User.objects.get(username="admin")
    change_password(admin, "correct horse battery", actor=SYSTEM)
    assert password not in first_run.told(URL)


@pytest.mark.django_db(transaction=True)
def test_a_run_that_was_cut_off_starts_from_nothing(note: Path) -> None:
    note.mkdir()  # so that writing the note, the last step, fails
    with pytest.raises(OSError, match="first-login"):
        first_run.prepare(URL)
    assert not User.objects.exists()
    assert not Proposal.objects.exists()

    note.rmdir()
    first_run.prepare(URL)
    password = found(r"^ +password: (\S+)$", note.read_text())
    assert Client().login(username="admin", password=password)


@pytest.mark.django_db
def test_where_people_are_nobody_is_added(note: Path) -> None:
    build.person("rosa")
    first_run.prepare(URL)
    assert [user.username for user in User.objects.all()] == ["rosa"]
    assert first_run.told(URL) == ""


@pytest.mark.django_db
def test_an_agent_that_came_before_the_first_person_is_no_obstacle(note: Path) -> None:
    build.agent(demo.AGENT_ID)
    first_run.prepare(URL)
    assert demo.FIRST in Proposal.objects.oldest_first()[0].change_json["content"]
