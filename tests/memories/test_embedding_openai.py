"""An embedder behind HTTP, against a small server on loopback that speaks as it does."""

from __future__ import annotations

import json
import logging
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pytest_django.fixtures import Settings

from memories.embedding import (
    EmbedderUnavailable,
    EmbeddingFailed,
    configured_kind,
    get_embedder,
    load_embedder,
    openai,
)
from memories.embedding.base import Embedder
from memories.embedding.hashed import HashEmbedder

KEY = "sk-the-key"
TEXT = "The launch code is xyzzy."
Answer = tuple[int, dict[str, str], Any]


@dataclass
class Fake:
    """Answers as OpenAI does, unless ``answers`` holds something else to say first."""

    answers: list[Answer | Callable[[Any], Answer]] = field(default_factory=list)
    asked: list[tuple[str, dict[str, str], Any]] = field(default_factory=list)
    is_silent: Event = field(default_factory=Event)  # set: nothing is answered
    url: str = ""

    def answer(self, body: Any) -> Answer:
        if self.answers:
            given = self.answers.pop(0)
            return given(body) if callable(given) else given
        return 200, {}, {"data": list(reversed(vectors(body["input"])))}


def vectors(texts: list[str]) -> list[dict[str, Any]]:
    """Of any length but one, in order."""
    made = HashEmbedder().embed_passages(texts)
    return [{"index": n, "embedding": (3 * v).tolist()} for n, v in enumerate(made)]


@pytest.fixture
def fake(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    fake = Fake()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            fake.asked.append((self.path, dict(self.headers), body))
            status, headers, answer = fake.answer(body)
            while fake.is_silent.is_set():
                time.sleep(0.01)
            content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Nothing: the log of the tests is looked at."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    fake.url = f"http://127.0.0.1:{server.server_port}/v1"
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    settings.AMPSITE_EMBEDDER, settings.EMBEDDER_MODEL = "openai", "a/model"
    settings.EMBEDDER_URL, settings.EMBEDDER_API_KEY = fake.url, KEY
    settings.EMBEDDER_DIMENSION, settings.EMBEDDER_TIMEOUT_SECONDS = 256, 5
    yield fake
    fake.is_silent.clear()
    server.shutdown()
    server.server_close()


@pytest.fixture
def embedder(fake: Fake) -> Embedder:
    return get_embedder()


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that were waited before each further attempt, of which none pass."""
    asked: list[float] = []
    clock = SimpleNamespace(sleep=asked.append, monotonic=time.monotonic)
    monkeypatch.setattr(openai, "time", clock)
    return asked


def test_a_batch_is_one_request_and_comes_back_in_its_own_order(
    fake: Fake, embedder: Embedder
) -> None:
    texts = ["tea at four", "認証システム", "\ud83d", "x" * 9_000]

    found = embedder.embed_passages(texts)

    ((path, headers, body),) = fake.asked
    assert (path, headers["Authorization"]) == ("/v1/embeddings", f"Bearer {KEY}")
    assert body == {"model": "a/model", "input": [*texts[:3], "x" * 8_000]}
    expected = HashEmbedder().embed_passages(body["input"])
    assert np.allclose(found, expected, atol=1e-6)
    assert all(vector.dtype == np.float32 for vector in found)
    assert embedder.embed_passages([]) == []
    assert len(fake.asked) == 1


def test_without_a_key_none_is_sent(fake: Fake, settings: Settings) -> None:
    settings.EMBEDDER_API_KEY = ""
    get_embedder().embed_query("tea")
    assert "Authorization" not in fake.asked[0][1]


@pytest.mark.parametrize("dimension", [0, 1536, 512])
def test_a_model_that_can_be_shortened_is_asked_to_be(
    fake: Fake, settings: Settings, dimension: int
) -> None:
    settings.EMBEDDER_MODEL = "text-embedding-3-small"
    settings.EMBEDDER_DIMENSION = dimension
    size = dimension or 1536
    fake.answers = [(200, {}, {"data": [{"index": 0, "embedding": [1.0] * size}]})]

    assert get_embedder().embed_query("tea").shape == (size,)

    assert fake.asked[0][2].get("dimensions") == (512 if dimension == 512 else None)


BUSY: list[Answer] = [
    (429, {"Retry-After": "0"}, {"error": "slow down"}),
    (500, {}, b"oops"),
    (503, {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}, {}),
]


@pytest.mark.parametrize("busy", BUSY)
def test_a_server_that_is_busy_for_a_moment_is_asked_again(
    fake: Fake, embedder: Embedder, pauses: list[float], busy: Answer
) -> None:
    fake.answers = [busy, busy]
    assert len(embedder.embed_passages(["a", "b"])) == 2
    assert len(fake.asked) == 3
    first, second = pauses
    assert 0.25 <= first <= 0.75
    assert 0.5 <= second <= 1.5


def test_a_server_that_stays_busy_is_unavailable_and_no_text_is_to_blame(
    fake: Fake, embedder: Embedder
) -> None:
    fake.answers = [BUSY[1]] * 9
    with pytest.raises(EmbedderUnavailable, match="500"):
        embedder.embed_passages(["a"])
    assert len(fake.asked) == 3


def test_who_is_told_to_wait_long_gives_up_at_once(
    fake: Fake, embedder: Embedder, pauses: list[float]
) -> None:
    fake.answers = [(429, {"Retry-After": "60"}, {})]
    with pytest.raises(EmbedderUnavailable, match="429"):
        embedder.embed_passages(["a"])
    assert (len(fake.asked), pauses) == (1, [])


def test_a_retry_waits_as_long_as_it_was_told(
    fake: Fake, embedder: Embedder, pauses: list[float]
) -> None:
    fake.answers = [(429, {"Retry-After": "4"}, {})]
    embedder.embed_passages(["a"])
    assert pauses == [4]


def test_a_question_waits_no_longer_than_the_timeout(
    fake: Fake, settings: Settings, pauses: list[float]
) -> None:
    settings.EMBEDDER_TIMEOUT_SECONDS = 1
    fake.is_silent.set()
    with pytest.raises(EmbedderUnavailable, match="Timeout"):
        get_embedder().embed_query("tea")
    assert (len(fake.asked), pauses) == (1, [])


def test_a_question_is_not_asked_again_when_the_pause_would_outlast_the_timeout(
    fake: Fake, embedder: Embedder, pauses: list[float]
) -> None:
    fake.answers = [(429, {"Retry-After": "5"}, {})]
    with pytest.raises(EmbedderUnavailable, match="429"):
        embedder.embed_query("tea")
    assert (len(fake.asked), pauses) == (1, [])


def test_an_answer_that_cannot_be_unpacked_blames_no_text(
    fake: Fake, embedder: Embedder
) -> None:
    fake.answers = [(200, {"Content-Encoding": "gzip"}, b"no gzip")] * 3
    with pytest.raises(EmbedderUnavailable, match="DecodingError"):
        embedder.embed_passages(["a"])
    assert len(fake.asked) == 3


def test_a_server_that_is_away_is_unavailable(fake: Fake, settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        settings.EMBEDDER_URL = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
    with pytest.raises(EmbedderUnavailable, match="EMBEDDER_URL"):
        get_embedder().embed_passages(["a"])


@pytest.mark.parametrize(
    ("status", "named"),
    [
        (401, "EMBEDDER_API_KEY"),
        (403, "EMBEDDER_API_KEY"),
        (404, "EMBEDDER_MODEL"),
        (302, "EMBEDDER_URL"),
    ],
)
def test_what_the_operator_has_to_change_is_named_and_not_asked_again(
    fake: Fake, embedder: Embedder, status: int, named: str
) -> None:
    fake.answers = [(status, {"Location": "http://127.0.0.1:1/"}, {})]
    with pytest.raises(EmbedderUnavailable, match=named):
        embedder.embed_passages(["a"])
    assert len(fake.asked) == 1


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_text_that_is_refused_is_to_blame_itself(
    fake: Fake, embedder: Embedder, status: int
) -> None:
    fake.answers = [(status, {}, {"error": "too long"})]
    with pytest.raises(EmbeddingFailed, match="EMBEDDER_CHARACTERS") as failure:
        embedder.embed_passages(["a"])
    assert not isinstance(failure.value, EmbedderUnavailable)
    assert len(fake.asked) == 1


def one(embedding: Any) -> Any:
    return {"data": [{"index": 0, "embedding": embedding}]}


@pytest.mark.parametrize(
    "answer",
    [
        one([1.0] * 255),
        one([float("nan")] * 256),
        one([1e200, *[float("inf")] * 255]),
        one([0.0] * 256),
        one([None] * 256),
        one("AAAA"),
        one({"a": 1}),
        one([[1.0] * 256]),
        {"data": []},
        {"data": [{"index": 1, "embedding": [1.0] * 256}]},
        {"data": vectors(["a", "b"])},
        {"data": [{"index": [], "embedding": [1.0]}]},
        {"error": "but with 200"},
        [],
        b"<html>a proxy</html>",
    ],
)
def test_an_answer_that_is_none_is_a_failure(
    fake: Fake, embedder: Embedder, answer: Any
) -> None:
    fake.answers = [(200, {}, answer)]
    with pytest.raises(EmbeddingFailed):
        embedder.embed_query("tea")


def test_another_dimension_names_the_setting(fake: Fake, embedder: Embedder) -> None:
    fake.answers = [(200, {}, one([1.0] * 255))]
    with pytest.raises(EmbeddingFailed, match="EMBEDDER_DIMENSION"):
        embedder.embed_query("tea")


def test_neither_a_text_nor_the_key_is_in_an_error_or_in_the_log(
    fake: Fake, embedder: Embedder, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    said = []
    troubles: list[list[Answer]] = [
        [BUSY[1]] * 3,
        [(400, {}, {"error": TEXT})],
        [(401, {}, KEY.encode())],
    ]
    for trouble in troubles:
        fake.answers = [*trouble]
        with pytest.raises(EmbeddingFailed) as failure:
            embedder.embed_passages([TEXT])
        said.append(f"{failure.value!r} {failure.value.__cause__!r}")
    embedder.embed_query(TEXT)
    text = caplog.text + " ".join(said) + repr(embedder)
    assert "xyzzy" not in text
    assert KEY not in text


def test_what_nobody_measured_has_no_floor(fake: Fake, settings: Settings) -> None:
    assert (get_embedder().floor, get_embedder().ceiling) == (None, None)
    settings.EMBEDDER_FLOOR, settings.EMBEDDER_CEILING = 0.1, 0.8
    assert (get_embedder().floor, get_embedder().ceiling) == (0.1, 0.8)
    before = configured_kind()
    settings.EMBEDDER_MODEL = "another"
    assert load_embedder(before).floor is None
