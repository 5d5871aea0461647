"""Relations between settings, judged at start: a wrong mix is refused, naming the setting."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register, run_checks
from django.core.exceptions import ImproperlyConfigured
from django.http.request import validate_host

from memories.embedding import configured_kind
from memories.embedding.base import PASSAGE_ATTEMPTS
from memories.index.base import BATCH

LOCAL = "local:"

# Setting -> its least value.
LEAST = {
    "INDEX_BATCH": 1,
    "INDEX_DRAIN_SECONDS": 1,
    "INDEX_LEASE_SECONDS": 1,
    "QDRANT_TIMEOUT_SECONDS": 1,
    "EMBEDDER_DIMENSION": 0,
    "EMBEDDER_CHARACTERS": 1,
    "EMBEDDER_TIMEOUT_SECONDS": 1,
    "WEB_THREADS": 2,
    "MAX_WAITING_REQUESTS": 0,
    "MAX_WAITING_PER_AGENT": 0,
    "MAX_BODY_BYTES": 1,
    "MAX_CONTENT_CHARACTERS": 1,
    "MAX_TAGS": 0,
    "MAX_TAG_CHARACTERS": 1,
    "MAX_METADATA_BYTES": 2,
    "MAX_MEMORY_IDS": 2,
    "MAX_PENDING_PER_AGENT": 1,
    "EPISODIC_TTL_SECONDS": 0,
    "WORKING_TTL_SECONDS": 1,
    "PROPOSAL_TTL_DAYS": 0,
    "REJECTED_ECHO_DAYS": 0,
    "IDEMPOTENCY_HOURS": 1,
    "UNDO_SECONDS": 0,
    "LOGIN_FAILURES_PER_NAME": 1,
    "LOGIN_FAILURES_PER_ADDRESS": 1,
    "LOGIN_FAILURE_WINDOW_SECONDS": 1,
}


# Beyond these an instant leads out of the calendar, or a number out of its column.
MOST = {"_SECONDS": 3_153_600_000, "_DAYS": 36_500, "_HOURS": 876_000, "": 2**31 - 1}


def _most(name: str) -> int:
    """A hundred years of whatever the name counts."""
    return next(most for unit, most in MOST.items() if name.endswith(unit))


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what listens on, or is called, ``host``."""
    name = host.strip("[]").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def beyond_loopback(host: str) -> list[str]:
    """What is missing before others may reach this process, one sentence each."""
    missing = []
    if not settings.SECRET_KEY_GIVEN:
        missing.append(f"SECRET_KEY has to be set to serve on {host}.")
    if all(is_loopback(name) for name in settings.ALLOWED_HOSTS):
        missing.append(
            f"ALLOWED_HOSTS or PUBLIC_URL has to name the address under which {host} is "
            "reached."
        )
    if settings.DEBUG:
        missing.append(f"DEBUG has to be off to serve on {host}.")
    return missing


def complaints() -> list[str]:
    """What forbids a start, each as a sentence and what to change."""
    found = [m for m in run_checks() if m.is_serious() and not m.is_silenced()]
    return [f"{message.msg} {message.hint or ''}".strip() for message in found]


def _public_hosts() -> list[str]:
    return [name for name in settings.ALLOWED_HOSTS if not is_loopback(name)]


def _is_shared(qdrant_url: str) -> bool:
    return bool(qdrant_url) and not qdrant_url.startswith(LOCAL)


@register(Tags.compatibility)
def one_process_or_several(**_: Any) -> Iterator[CheckMessage]:
    """An index that one process owns, and a broker for several, do not go together."""
    if settings.EMBEDDED or _is_shared(settings.QDRANT_URL):
        return
    hint = "Set QDRANT_URL to a Qdrant server, or unset CELERY_BROKER_URL."
    if settings.QDRANT_URL:
        yield Error(
            "QDRANT_URL=local:PATH belongs to one process; CELERY_BROKER_URL makes several.",
            hint=hint,
            id="ampsite.E002",
        )
    else:
        yield Error(
            "Qdrant Edge belongs to one process; CELERY_BROKER_URL makes several.",
            hint=hint,
            id="ampsite.E001",
        )


@register(Tags.security)
def signing_key(**_: Any) -> Iterator[CheckMessage]:
    """A key that each process made for itself would end every other's sessions."""
    if settings.SECRET_KEY_GIVEN:
        return
    if not settings.EMBEDDED:
        yield Error(
            "SECRET_KEY is not set, and CELERY_BROKER_URL makes several processes.",
            hint="Give all of them the same SECRET_KEY of at least 50 random characters.",
            id="ampsite.E003",
        )
    elif _public_hosts():
        yield Error(
            f"SECRET_KEY is not set, and others reach this as {_public_hosts()[0]}.",
            hint="Set SECRET_KEY to at least 50 random characters.",
            id="ampsite.E004",
        )


@register(Tags.security)
def public_address(**_: Any) -> Iterator[CheckMessage]:
    if settings.DEBUG and _public_hosts():
        yield Error(
            f"DEBUG shows code and settings, and others reach this as {_public_hosts()[0]}.",
            hint="Unset DEBUG, or take that name from ALLOWED_HOSTS and PUBLIC_URL.",
            id="ampsite.E005",
        )
    if not settings.PUBLIC_URL:
        return
    url = urlsplit(settings.PUBLIC_URL)
    if url.scheme not in {"http", "https"} or not url.hostname or url.path or url.query:
        yield Error(
            "PUBLIC_URL is not of the form https://desk.example.org.",
            hint="Set PUBLIC_URL to scheme and host (and port), without a path.",
            id="ampsite.E006",
        )
    elif not validate_host(url.hostname, settings.ALLOWED_HOSTS):
        yield Error(
            f"ALLOWED_HOSTS does not name {url.hostname}, the host of PUBLIC_URL.",
            hint="Add it to ALLOWED_HOSTS, or unset ALLOWED_HOSTS.",
            id="ampsite.E007",
        )


@register(Tags.compatibility)
def index_address(**_: Any) -> Iterator[CheckMessage]:
    url = settings.QDRANT_URL
    if not url:
        return
    if url.startswith(LOCAL):
        is_sound = len(url) > len(LOCAL)
    else:
        parts = urlsplit(url)
        is_sound = parts.scheme in {"http", "https"} and bool(parts.hostname)
    if not is_sound:
        yield Error(
            "QDRANT_URL is neither http://HOST:6333 nor local:PATH.",
            hint="Set QDRANT_URL to one of the two, or unset it for Qdrant Edge.",
            id="ampsite.E008",
        )


@register(Tags.compatibility)
def lease(**_: Any) -> Iterator[CheckMessage]:
    """A lease that ends while its batch is still being sent lets a second worker send an
    older version after a newer one."""
    slowest = settings.INDEX_BATCH * settings.QDRANT_TIMEOUT_SECONDS
    parts = "INDEX_BATCH times QDRANT_TIMEOUT_SECONDS"
    if settings.AMPSITE_EMBEDDER == "openai":
        slowest += PASSAGE_ATTEMPTS * settings.EMBEDDER_TIMEOUT_SECONDS
        parts += f" and {PASSAGE_ATTEMPTS} times EMBEDDER_TIMEOUT_SECONDS"
    if slowest >= settings.INDEX_LEASE_SECONDS:
        yield Error(
            f"A batch may take {slowest} seconds ({parts}), "
            f"longer than INDEX_LEASE_SECONDS ({settings.INDEX_LEASE_SECONDS}).",
            hint="Raise INDEX_LEASE_SECONDS or lower INDEX_BATCH.",
            id="ampsite.E009",
        )


@register(Tags.compatibility)
def embedder(**_: Any) -> Iterator[CheckMessage]:
    """Of what is set; whether it answers is a matter of the machine, and /readyz names it."""
    try:
        kind = configured_kind()
    except ImproperlyConfigured as error:
        yield Error(
            str(error), hint="Set it, or unset AMPSITE_EMBEDDER.", id="ampsite.E010"
        )
        return
    floor, ceiling = settings.EMBEDDER_FLOOR, settings.EMBEDDER_CEILING
    is_unset = floor is None and ceiling is None
    if not is_unset and (floor is None or ceiling is None or floor >= ceiling):
        yield Error(
            "EMBEDDER_FLOOR and EMBEDDER_CEILING are not two cosines, the first below "
            "the second.",
            hint="Measure both with python -m bench.relevance, or unset both.",
            id="ampsite.E015",
        )
    if kind.embedder != "openai":
        return
    url = urlsplit(settings.EMBEDDER_URL)
    if url.scheme not in {"http", "https"} or not url.hostname:
        yield Error(
            "EMBEDDER_URL is not of the form https://HOST/v1.",
            hint="Set EMBEDDER_URL to the address of the embedder up to /v1.",
            id="ampsite.E016",
        )
    elif url.hostname == "api.openai.com" and not settings.EMBEDDER_API_KEY:
        yield Error(
            "EMBEDDER_API_KEY is not set, and api.openai.com answers nobody without.",
            hint="Set EMBEDDER_API_KEY, or EMBEDDER_URL to a server of your own.",
            id="ampsite.E017",
        )


@register(Tags.compatibility)
def numbers(**_: Any) -> Iterator[CheckMessage]:
    for name, least in LEAST.items():
        value, most = getattr(settings, name), _most(name)
        if not least <= value <= most:
            yield Error(
                f"{name} is {value}; it has to be {least} to {most}.",
                hint=f"Set {name} within these.",
                id="ampsite.E011",
            )
    if settings.INDEX_BATCH > BATCH:
        yield Error(
            f"INDEX_BATCH is {settings.INDEX_BATCH}; the index takes {BATCH} at a time.",
            hint=f"Set INDEX_BATCH to {BATCH} or less.",
            id="ampsite.E012",
        )
    if settings.MAX_WAITING_REQUESTS >= settings.WEB_THREADS:
        yield Error(
            "Requests that wait for a decision could take every thread.",
            hint="Set MAX_WAITING_REQUESTS below WEB_THREADS.",
            id="ampsite.E013",
        )
    if settings.SQLITE_SYNCHRONOUS not in {"FULL", "NORMAL", "EXTRA"}:
        yield Error(
            f"SQLITE_SYNCHRONOUS is {settings.SQLITE_SYNCHRONOUS!r}.",
            hint="Set SQLITE_SYNCHRONOUS to FULL or NORMAL.",
            id="ampsite.E014",
        )
