"""The first run lays everything out once, however often it is cut off."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db.models import Value
from django.db.models.functions import Concat, Right
from django.test import Client
from pytest_django.fixtures import Settings

from ampsite import first_run
from approvals import demo
from approvals.models import Proposal
from memories.actors import SYSTEM
from memories.models import Agent, ApiKey, AuditEntry, User
from memories.services import authenticate, change_password, revoke_key
from tests import build
from tests.faults.server import free_port, installed, manage

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
    assert ApiKey.objects.filter(is_demo=True).count() == 3


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
def test_an_agent_of_that_name_that_was_there_before_is_left_alone(note: Path) -> None:
    mine = build.agent(demo.AGENT_ID)
    first_run.prepare(URL)
    assert list(Agent.objects.all()) == [mine]
    assert not Proposal.objects.exists()
    text = note.read_text()
    assert Client().login(username="admin", password=found(first_run.CREDENTIAL, text))
    assert "curl" not in text


@pytest.mark.django_db
def test_once_the_first_proposal_is_decided_the_next_step_is_told() -> None:
    first_run.prepare(URL)
    first = Proposal.objects.pending().oldest_first()[0]
    assert str(first.pk) in first_run.told(URL)
    waiting = Proposal.objects.pending().count()
    build.approve(first, User.objects.get(username="admin"))
    told = first_run.told(URL)
    assert str(first.pk) not in told
    assert f"{waiting - 1} proposals wait" in told
    assert f"{URL}/proposals/" in told
    assert demo.QUESTION in told


@pytest.mark.django_db
def test_where_nothing_waits_an_own_agent_is_the_next_step() -> None:
    first_run.prepare(URL)
    admin = User.objects.get(username="admin")
    for proposal in Proposal.objects.pending():
        build.reject(proposal, admin)
    told = first_run.told(URL)
    assert "create_agent" in told
    assert "wait for a decision" not in told


@pytest.mark.django_db
def test_a_key_that_was_revoked_is_told_no_longer(note: Path) -> None:
    first_run.prepare(URL)
    key = authenticate(found(first_run.KEY, note.read_text()))
    assert key is not None
    revoke_key(key, actor=SYSTEM)
    told = first_run.told(URL)
    assert key.prefix not in told
    assert "curl" not in told


@pytest.mark.django_db
def test_telling_it_again_is_no_use_of_the_key() -> None:
    first_run.prepare(URL)
    first_run.told(URL)
    assert not ApiKey.objects.exclude(last_used_at=None).exists()


@pytest.mark.django_db
def test_a_note_of_another_database_is_not_told(note: Path) -> None:
    first_run.prepare(URL)
    User.objects.filter(username="admin").update(username="ada")
    ApiKey.objects.update(prefix=Concat(Value("amps_"), Right("prefix", 7)))
    assert first_run.told(URL) == ""


@pytest.mark.django_db
@pytest.mark.case("F12")
def test_what_was_written_down_is_open_until_it_is_closed() -> None:
    first_run.prepare(URL)
    password, keys = first_run.still_open()
    assert "changepassword admin" in password
    assert "seed_demo --end" in keys
    for agent_id in ("support-bot", "billing-bot", "coding-agent"):
        assert agent_id in keys

    call_command("changepassword", "admin", "--password", "correct horse battery")
    assert first_run.still_open() == [keys]
    call_command("seed_demo", "--end")
    assert first_run.still_open() == []


@pytest.mark.django_db
def test_the_note_loses_what_the_end_of_the_demo_made_untrue(note: Path) -> None:
    first_run.prepare(URL)
    call_command("seed_demo", "--end")
    kept = note.read_text()
    assert note.stat().st_mode & 0o777 == 0o600
    assert found(first_run.CREDENTIAL, kept)
    assert "amps_" not in kept
    assert "curl" not in kept
    assert kept == first_run.told(URL)

    User.objects.update(is_active=False)
    note.write_text(kept + "    API key of the agent x: " + str(ApiKey.objects.first()))
    call_command("seed_demo", "--end")
    assert not note.exists()


@pytest.mark.django_db
def test_the_end_of_a_demo_leaves_the_note_of_another_database(note: Path) -> None:
    first_run.prepare(URL)
    other = note.read_text().replace("amps_", "amps-")
    note.write_text(other)
    User.objects.update(is_active=False)
    call_command("seed_demo", "--end")
    assert note.read_text() == other


@pytest.mark.django_db
@pytest.mark.case("F12")
def test_a_login_that_hashes_the_password_anew_does_not_change_it(
    settings: Settings, note: Path
) -> None:
    first_run.prepare(URL)
    settings.PASSWORD_HASHERS = [
        "django.contrib.auth.hashers.PBKDF2PasswordHasher",
        *settings.PASSWORD_HASHERS,
    ]
    before = User.objects.get(username="admin").password
    password = found(first_run.CREDENTIAL, note.read_text())
    assert Client().login(username="admin", password=password)
    admin = User.objects.get(username="admin")
    assert admin.password != before
    assert admin.has_first_password


@pytest.mark.django_db
@pytest.mark.case("F12")
def test_a_demo_that_is_on_is_found_whatever_its_keys_are_called() -> None:
    build.person("ada", role="admin")
    call_command("seed_demo")
    ApiKey.objects.update(name="mine")
    Agent.objects.update(name="mine")
    assert len(first_run.still_open()) == 1
    Agent.objects.update(is_active=False)
    assert first_run.still_open() == []
    own = build.key(build.agent("support-bot-2"))
    assert own.name == ""
    assert first_run.still_open() == []


@pytest.mark.django_db
@pytest.mark.case("F12")
def test_a_first_run_is_for_this_machine_alone() -> None:
    (sentence,) = first_run.against_others(first_run=True)
    assert "127.0.0.1" in sentence
    assert "create_reviewer" in sentence
    assert first_run.against_others(first_run=False) == []
    build.person("rosa")
    assert first_run.against_others(first_run=True) == []


@pytest.mark.case("F12")
def test_a_demo_is_not_served_to_others(tmp_path: Path) -> None:
    data, everywhere = tmp_path / "data", "0.0.0.0"  # noqa: S104  (refused before it listens)
    installed(data)
    assert manage(data, "seed_demo", "--reviewer", "rosa").returncode == 0
    port = str(free_port())
    done = manage(
        data,
        *["serve", "--host", everywhere, "--port", port],
        ALLOWED_HOSTS="desk.example.org",
    )
    assert done.returncode == 1
    assert everywhere in done.stderr
    assert "seed_demo --end" in done.stderr
    assert "Traceback" not in done.stderr
