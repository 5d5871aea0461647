"""The signing key of an embedded installation, made once and kept beside its data."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured


def secret_from(data_dir: Path) -> str:
    """The key in ``data_dir/secret-key`` (0600), made on first use.

    Two processes that start at once agree: the file appears whole or not at all. Raises
    ``ImproperlyConfigured`` where there can be no such file.
    """
    try:
        return _kept_in(data_dir)
    except OSError as error:
        raise ImproperlyConfigured(
            f"AMPSITE_DATA_DIR cannot be used: {data_dir}: {error.strerror}."
        ) from error


def _kept_in(data_dir: Path) -> str:
    path = data_dir / "secret-key"
    if not path.exists():
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = path.with_name(f"secret-key.{os.getpid()}")
        with os.fdopen(
            os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w"
        ) as file:
            file.write(secrets.token_urlsafe(50))
        try:
            os.link(draft, path)
        except FileExistsError:
            pass  # the other process was faster; its key counts
        finally:
            draft.unlink()
    return path.read_text().strip()
