"""A backup that was never restored is none: each of these restores one."""

from __future__ import annotations

import io
import json
import re
import sqlite3
import tarfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event, Thread
from urllib.parse import quote
from uuid import uuid4

import pytest
from django.db import connection

from ampsite.archive import NotABackup, extract
from ampsite.dumps import CannotDump, check
from tests.faults.server import Agent, Reviewer, Server, installed, manage, serving

RECALL_SECONDS = 30


@contextmanager
def writing_on(agent: Agent) -> Iterator[list[str]]:
    """An agent that goes on remembering; the texts that were acknowledged so far."""
    kept: list[str] = []
    enough = Event()

    def write() -> None:
        while not enough.is_set():
            text = f"Line {len(kept)} of {uuid4().hex}."
            agent.amp("remember", "episodic", content=text)
            kept.append(text)

    thread = Thread(target=write)
    thread.start()
    try:
        yield kept
    finally:
        enough.set()
        thread.join(30)


def recalls(agent: Agent, memory_type: str, text: str) -> bool:
    hits = agent.amp("recall", memory_type, query=text, top_k=3).get("hits", [])
    return text in {hit["content"] for hit in hits}


def approved(server: Server, agent: Agent, text: str) -> str:
    assert Reviewer(server).approve(agent.propose(text))
    return text


def back_up(data: Path, file: Path, **more: str) -> None:
    done = manage(data, "backup", str(file), **more)
    assert done.returncode == 0, done.stderr


def refused(data: Path, *words: str, **more: str) -> str:
    """The one sentence of a command that did not do it."""
    done = manage(data, *words, **more)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    return done.stderr


def rehearse(tmp_path: Path, origin: dict[str, str], elsewhere: dict[str, str]) -> None:
    """Back a busy server up, restore it at another place, and find everything there."""
    one, two, file = tmp_path / "one", tmp_path / "two", tmp_path / "backup"
    key = installed(one, **origin)
    with serving(one, tmp_path / "log", **origin) as server:
        agent = Agent(server, key)
        facts = [
            approved(server, agent, f"The code of door {n} is {n}7{n}.") for n in "123"
        ]
        waiting = agent.propose("The code of door 4 is 474.")
        with writing_on(agent) as written:
            while len(written) < 5:
                time.sleep(0.01)
            before = list(written)
            back_up(one, file, **origin)
            during = len(written)
        assert during > len(before), "nothing was written meanwhile"
    assert file.stat().st_mode & 0o777 == 0o600

    done = manage(two, "restore", str(file), **elsewhere)
    assert done.returncode == 0, done.stderr
    assert re.match(r"Restored as of \d+ [A-Z][a-z]+ \d{4}, \d\d:\d\d UTC: ", done.stdout)
    with serving(two, tmp_path / "log", **elsewhere) as server:
        agent = Agent(server, key)
        deadline = time.monotonic() + RECALL_SECONDS
        for memory_type, texts in (("semantic", facts), ("episodic", before)):
            for text in texts:
                while not recalls(agent, memory_type, text):
                    assert time.monotonic() < deadline, f"{text} is not recalled"
                    time.sleep(0.1)
        assert Reviewer(server).approve(waiting)
        assert agent.proposal(waiting)["status"] == "approved"
        assert manage(two, "audit_verify", **elsewhere).returncode == 0
        assert "in use" in refused(two, "restore", str(file), "--overwrite", **elsewhere)


def test_a_busy_server_is_restored_elsewhere(tmp_path: Path) -> None:
    rehearse(tmp_path, {}, {})


@pytest.mark.postgres
@pytest.mark.skipif(connection.vendor != "postgresql", reason="needs a database server")
def test_a_busy_server_with_postgresql_is_restored_elsewhere(
    tmp_path: Path, databases: tuple[str, str]
) -> None:
    one, two = databases
    rehearse(tmp_path, {"DATABASE_URL": one}, {"DATABASE_URL": two})

    data, file = tmp_path / "two", tmp_path / "backup"
    held = refused(data, "restore", str(file), DATABASE_URL=two)
    assert "--overwrite" in held
    done = manage(data, "restore", str(file), "--overwrite", DATABASE_URL=two)
    assert done.returncode == 0, done.stderr
    assert "sqlite" in refused(data, "restore", str(file))
    missing = refused(data, "backup", str(tmp_path / "other"), DATABASE_URL=two, PATH="")
    assert "postgresql-client" in missing
    assert not (tmp_path / "other").exists()


@pytest.fixture
def databases(transactional_db: None) -> Iterator[tuple[str, str]]:
    """The addresses of two new databases beside that of the tests."""
    told = connection.settings_dict
    who = quote(told["USER"]) + (f":{quote(told['PASSWORD'])}" if told["PASSWORD"] else "")
    names = [f"ampsite_{uuid4().hex}" for _ in range(2)]
    with connection.cursor() as cursor:
        for name in names:
            cursor.execute(f"CREATE DATABASE {name}")
    where = f"postgres://{who}@{told['HOST']}:{told['PORT'] or 5432}"
    yield f"{where}/{names[0]}", f"{where}/{names[1]}"
    with connection.cursor() as cursor:
        for name in names:
            cursor.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_what_is_there_is_replaced_only_when_told(tmp_path: Path) -> None:
    one, two, file = tmp_path / "one", tmp_path / "two", tmp_path / "backup"
    installed(one)
    assert manage(one, "create_agent", "scout").returncode == 0
    back_up(one, file)
    assert "exists already" in refused(one, "backup", str(file))

    installed(two)
    assert "--overwrite" in refused(two, "restore", str(file))
    assert "exists already" not in manage(two, "create_agent", "scout").stderr
    done = manage(two, "restore", str(file), "--overwrite")
    assert done.returncode == 0, done.stderr
    assert "scout exists already" in refused(two, "create_agent", "scout")
    assert manage(two, "audit_verify").returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["backup", "one", "two"]


def test_a_signing_key_that_the_site_made_goes_with_it(tmp_path: Path) -> None:
    one, two, file = tmp_path / "one", tmp_path / "two", tmp_path / "backup"
    for data in (one, two):
        data.mkdir()
        assert manage(data, "migrate", "--noinput", SECRET_KEY="").returncode == 0
    back_up(one, file, SECRET_KEY="")
    made = (one / "secret-key").read_text()
    assert (two / "secret-key").read_text() != made
    done = manage(two, "restore", str(file), "--overwrite", SECRET_KEY="")
    assert done.returncode == 0, done.stderr
    assert (two / "secret-key").read_text() == made
    assert (two / "secret-key").stat().st_mode & 0o777 == 0o600
    with tarfile.open(file) as tar:
        assert tar.getnames() == ["manifest.json", "database", "secret-key"]


def test_a_backup_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    one, file = tmp_path / "one", tmp_path / "backup"
    installed(one)
    back_up(one, file)
    newer = tmp_path / "newer"
    _rewritten(file, newer, '"0001_initial"', '"0999_of_tomorrow"')
    (tmp_path / "two").mkdir()
    assert "newer" in refused(tmp_path / "two", "restore", str(newer))
    assert not (tmp_path / "two" / "ampsite.sqlite3").exists()


def test_an_empty_database_is_not_backed_up(tmp_path: Path) -> None:
    assert "no database" in refused(tmp_path, "backup", str(tmp_path / "backup"))
    (tmp_path / "ampsite.sqlite3").touch()
    assert "empty" in refused(tmp_path, "backup", str(tmp_path / "backup"))
    assert not (tmp_path / "backup").exists()


def test_an_audit_that_was_tampered_with_is_named(tmp_path: Path) -> None:
    one, file = tmp_path / "one", tmp_path / "backup"
    installed(one)
    sql = "UPDATE memories_auditentry SET actor_label = 'x' WHERE sequence = 1"
    code = f"from django.db import connection; connection.cursor().execute({sql!r})"
    assert manage(one, "shell", "-c", code).returncode == 0
    back_up(one, file)
    (tmp_path / "two").mkdir()
    said = refused(tmp_path / "two", "restore", str(file))
    assert "restored" in said
    assert "Entry 1" in said


def test_a_file_that_is_not_whole_is_refused(tmp_path: Path) -> None:
    whole, file = tmp_path / "whole", tmp_path / "file"
    installed(tmp_path / "one")
    back_up(tmp_path / "one", whole)
    good = whole.read_bytes()
    middle = len(good) // 2
    for number, content in enumerate(
        [
            b"",
            b"no backup",
            good[:middle],
            good[:middle] + bytes([good[middle] ^ 1]) + good[middle + 1 :],
        ]
    ):
        file.write_bytes(content)
        folder = tmp_path / str(number)
        folder.mkdir()
        with pytest.raises(NotABackup):
            extract(file, folder)
    (tmp_path / "two").mkdir()
    assert str(file) in refused(tmp_path / "two", "restore", str(file))
    assert "No such file" in refused(tmp_path / "two", "restore", str(tmp_path / "none"))


@pytest.mark.parametrize("manifest", [b'"abc"', b"[" * 100_000, b'{"digests": []}'])
def test_a_manifest_of_another_shape_is_refused(tmp_path: Path, manifest: bytes) -> None:
    file = tmp_path / "file"
    with tarfile.open(file, "w:gz") as tar:
        member = tarfile.TarInfo("manifest.json")
        member.size = len(manifest)
        tar.addfile(member, io.BytesIO(manifest))

    with pytest.raises(NotABackup):
        extract(file, tmp_path)


def test_a_database_of_something_else_is_no_dump(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other")) as other:
        other.execute("CREATE TABLE tea (id INTEGER)")
        other.commit()

    with pytest.raises(CannotDump, match="no database of Ampsite"):
        check(tmp_path / "other", "sqlite")


def _rewritten(source: Path, target: Path, old: str, new: str) -> None:
    """A copy of the backup whose manifest says something else."""
    folder = target.with_suffix(".d")
    folder.mkdir()
    extract(source, folder)
    with tarfile.open(source) as tar:
        tar.extract("manifest.json", folder)
    manifest = folder / "manifest.json"
    text = manifest.read_text().replace(old, new)
    assert json.loads(text)
    manifest.write_text(text)
    with tarfile.open(target, "w:gz") as tar:
        for path in sorted(folder.iterdir(), key=lambda path: path != manifest):
            tar.add(path, path.name)
