"""Static files whose address changes with their content, without a build step."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from pathlib import Path

from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import StaticFilesStorage


class VersionedStaticFilesStorage(StaticFilesStorage):
    """Adds ``?v=<digest>`` so that browsers may keep a file for a year."""

    def url(self, name: str | None) -> str:
        address = super().url(name)
        return f"{address}?v={_version(name)}" if name else address


@cache
def _version(name: str) -> str:
    found = finders.find(name)
    if not isinstance(found, str):
        raise ValueError(f"There is no static file {name!r}.")
    return sha256(Path(found).read_bytes()).hexdigest()[:12]
