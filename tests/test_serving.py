"""What the web server itself answers for: addresses behind a proxy, and limits."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from ampsite.serving import LARGEST_BODY_BYTES, CannotListen, Signals, WebServer, bind
from tests.faults.server import opened

FORWARDED = {
    "X-Forwarded-For": "203.0.113.9, 198.51.100.7",
    "X-Forwarded-Proto": "https",
    "X-Forwarded-Host": "desk.example.org",
}


def mirror(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    start_response("200 OK", [("Content-Type", "application/json")])
    names = ("REMOTE_ADDR", "wsgi.url_scheme", "HTTP_HOST", "HTTP_X_FORWARDED_FOR")
    yield json.dumps({name: environ.get(name) for name in names}).encode()


@contextmanager
def running() -> Iterator[str]:
    listener = bind("127.0.0.1", 0)
    server, signals = WebServer(mirror, listener), Signals()
    port = listener.getsockname()[1]
    server.listen()
    thread = Thread(target=server.run, args=(signals,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{port}/"
    finally:
        signals.asked = True
        thread.join(10)
        assert server.stop(5)


def asked(url: str, headers: dict[str, str]) -> dict[str, str | None]:
    with opened(urllib.request.Request(url, headers=headers)) as answer:
        seen: dict[str, str | None] = json.load(answer)
        return seen


def test_who_is_not_a_proxy_cannot_claim_another_address() -> None:
    with running() as url:
        seen = asked(url, FORWARDED)
    assert seen["REMOTE_ADDR"] == "127.0.0.1"
    assert seen["wsgi.url_scheme"] == "http"
    assert seen["HTTP_X_FORWARDED_FOR"] is None


def test_a_trusted_proxy_says_who_asks(settings: Settings) -> None:
    settings.TRUST_PROXY = True
    with running() as url:
        seen = asked(url, FORWARDED)
    # The last address is the proxy's own word; those before it anybody could have sent.
    assert seen["REMOTE_ADDR"] == "198.51.100.7"
    assert seen["wsgi.url_scheme"] == "https"


def test_a_body_beyond_all_bounds_is_refused_unread() -> None:
    headers = {"Content-Length": str(LARGEST_BODY_BYTES + 1)}
    with running() as url, pytest.raises(urllib.error.HTTPError) as caught:
        opened(urllib.request.Request(url, b"", headers, method="POST"))
    assert caught.value.code == 413


@pytest.mark.parametrize("port", [-1, 65_536])
def test_there_are_only_so_many_ports(port: int) -> None:
    with pytest.raises(CannotListen, match=str(port)):
        bind("127.0.0.1", port)
