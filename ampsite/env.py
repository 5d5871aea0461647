"""The environment's variables as typed values; what cannot be one names its variable."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

YES = {"1", "true", "yes", "on"}
NO = {"", "0", "false", "no", "off"}


class Environment:
    """Reads a file and the real variables, which win. Each method raises
    ``ImproperlyConfigured`` in one sentence; no value that may be a secret is in it."""

    def __init__(self, file: Path) -> None:
        self._env = environ.Env()
        self._env.read_env(file)

    def text(self, name: str, *, default: str = "") -> str:
        return str(self._env.str(name, default=default))

    def names(self, name: str, *, default: Iterable[str]) -> list[str]:
        return [str(item) for item in self._env.list(name, default=list(default))]

    def number(self, name: str, *, default: int) -> int:
        try:
            return int(self._env.int(name, default=default))
        except ValueError:
            raise ImproperlyConfigured(
                f"{name} is {self.text(name)!r}; it has to be a whole number."
            ) from None

    def fraction(self, name: str, *, default: str = "") -> float | None:
        """None where it is not set."""
        text = self.text(name, default=default).strip()
        try:
            value = float(text) if text else None
        except ValueError:
            value = math.nan
        if value is not None and not -1 <= value <= 1:  # also true for NaN
            raise ImproperlyConfigured(
                f"{name} is {text!r}; it has to be a number from -1 to 1."
            )
        return value

    def switch(self, name: str, *, default: bool) -> bool:
        text = self.text(name, default=str(default)).strip().casefold()
        if text not in YES | NO:
            raise ImproperlyConfigured(f"{name} is {text!r}; it has to be 1 or 0.")
        return text in YES

    def choice(self, name: str, choices: Iterable[str], *, default: str) -> str:
        text = self.text(name, default=default).upper()
        if text not in choices:
            raise ImproperlyConfigured(
                f"{name} is {text!r}; it has to be one of {', '.join(choices)}."
            )
        return text

    def url(self, name: str, *, default: str = "") -> str:
        text = self.text(name, default=default)
        try:
            _ = urlsplit(text).port
        except ValueError as error:
            raise ImproperlyConfigured(f"{name} is no address: {error}.") from None
        return text

    def database(self, name: str, *, default: str) -> dict[str, Any]:
        url = self.text(name) or default
        try:
            if urlsplit(url).scheme in self._env.DB_SCHEMES:
                config: dict[str, Any] = self._env.db_url_config(url)
                if config["NAME"]:
                    return config
        except ValueError:
            pass  # such as a port that is no number: said below, without the password
        raise ImproperlyConfigured(
            f"{name} is not of the form postgres://USER:PASSWORD@HOST:PORT/NAME."
        )
