"""The signing key of an embedded installation, made once and kept beside its data."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured


def secret_from(data_dir: Path) -> str:
    """The key in ``data_dir/secret-key``; without that file one that only this process
    knows, so that a command in the wrong folder leaves nothing there.

    Raises ``ImproperlyConfigured`` where the file cannot be read.
    """
    try:
        return _path(data_dir).read_text().strip()
    except FileNotFoundError:
        return secrets.token_urlsafe(50)
    except OSError as error:
        raise _unusable(data_dir, error) from error


def make_data_dir(data_dir: Path) -> None:
    """Raises ``ImproperlyConfigured`` where there can be no such folder."""
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise _unusable(data_dir, error) from error


def keep_secret(data_dir: Path, secret: str) -> str:
    """Keep the key in ``data_dir/secret-key`` (0600) unless one is there; return what is
    there.

    Two processes that start at once agree: the file appears whole or not at all. Raises
    ``ImproperlyConfigured`` where there can be no such file.
    """
    make_data_dir(data_dir)
    try:
        return _kept(_path(data_dir), secret)
    except OSError as error:
        raise _unusable(data_dir, error) from error


def _kept(path: Path, secret: str) -> str:
    if not path.exists():
        draft = path.with_name(f"secret-key.{os.getpid()}")
        with os.fdopen(
            os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w"
        ) as file:
            file.write(secret)
        try:
            os.link(draft, path)
        except FileExistsError:
            pass  # the other process was faster; its key counts
        finally:
            draft.unlink()
    return path.read_text().strip()


def _path(data_dir: Path) -> Path:
    return data_dir / "secret-key"


def _unusable(data_dir: Path, error: OSError) -> ImproperlyConfigured:
    return ImproperlyConfigured(
        f"AMPSITE_DATA_DIR cannot be used: {data_dir}: {error.strerror}."
    )
