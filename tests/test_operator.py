"""What an operator reads when something is wrong: one sentence, no traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.server import installed, manage


@pytest.mark.case("F12")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("WEB_THREADS", "many"),
        ("DEBUG", "maybe"),
        ("LOG_LEVEL", "loud"),
        ("PUBLIC_URL", "http://[desk"),
        ("PUBLIC_URL", "http://desk:99999"),
        ("QDRANT_URL", "http://[qdrant"),
        ("DATABASE_URL", "garbage"),
    ],
)
def test_a_variable_that_means_nothing_is_named(
    tmp_path: Path, name: str, value: str
) -> None:
    _refused(tmp_path, "check", said=name, **{name: value})


def test_a_data_folder_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    _refused(tmp_path / "file", "check", said="AMPSITE_DATA_DIR", SECRET_KEY="")


@pytest.mark.parametrize(
    "words",
    [
        ["create_agent", "scout"],
        ["create_reviewer", "rosa", "--password", "correct horse battery"],
        ["audit_verify"],
        ["reindex", "--check"],
        ["seed_demo"],
    ],
)
def test_a_database_that_is_not_migrated_is_told_what_to_run(
    tmp_path: Path, words: list[str]
) -> None:
    _refused(tmp_path, *words, said="manage.py migrate")


@pytest.mark.parametrize(
    "words",
    [
        ["create_agent", "scout"],
        ["serve", "--port", "0"],
        ["restore", "/nowhere/backup"],
        ["backup", "/nowhere/backup"],
    ],
)
def test_a_command_that_is_refused_leaves_nothing_in_the_wrong_folder(
    tmp_path: Path, words: list[str]
) -> None:
    data = tmp_path / "wrong"
    said = "/nowhere/backup" if words[0] == "restore" else str(data)
    _refused(data, *words, said=said, SECRET_KEY="")
    assert not data.exists()
    data.mkdir()
    _refused(data, *words, said=said, SECRET_KEY="")
    assert list(data.iterdir()) == []


def test_an_empty_database_is_named(tmp_path: Path) -> None:
    database = tmp_path / "ampsite.sqlite3"
    database.touch()
    _refused(tmp_path, "audit_verify", said=f"not up to date ({database})")


def test_what_migrating_makes_is_kept(tmp_path: Path) -> None:
    data = tmp_path / "deep" / "data"
    for _ in range(2):
        assert manage(data, "migrate", "--noinput", SECRET_KEY="").returncode == 0
        kept = (data / "secret-key").read_text()
    assert (data / "secret-key").stat().st_mode & 0o777 == 0o600
    assert len(kept) > 50
    told = "from django.conf import settings; print(settings.SECRET_KEY)"
    done = manage(data, "shell", "--no-imports", "-c", told, SECRET_KEY="")
    assert done.stdout.strip() == kept


def test_a_file_that_is_no_database_is_told_from_one(tmp_path: Path) -> None:
    (tmp_path / "ampsite.sqlite3").write_bytes(b"no database at all" * 100)
    _refused(tmp_path, "audit_verify", said="The database cannot be used")


@pytest.mark.parametrize(
    "words",
    [
        ["create_reviewer", "", "--password", "correct horse battery"],
        ["create_agent", "scout", "--scopes", ""],
        ["create_agent", "scout", "--name", "x" * 256],
        ["create_agent", "scout", "--name", "\udcff"],
    ],
)
def test_an_argument_that_cannot_be_is_a_sentence(tmp_path: Path, words: list[str]) -> None:
    data = tmp_path / "data"
    installed(data)
    _refused(data, *words, said="")


def _refused(data: Path, *words: str, said: str, **more: str) -> None:
    done = manage(data, *words, **more)
    assert done.returncode != 0
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
