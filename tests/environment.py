"""The surroundings of the tests, as a plugin that is loaded by name.

pytest-django reads Django's settings before any conftest.py is imported, which would be too
late to keep the tests away from a real installation. Everything temporary, pytest's own
folders included, goes into one folder that is gone in the end; TMPDIR says where it is made.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

# In memory, where there is enough of it: each test opens an index of its own, and that waits
# for the disk ten times as long as for the processor. A container may have 64 MB only, and
# a mapped file that finds no room kills the process.
MEMORY = "/dev/shm"  # noqa: S108  # only a new folder of its own is ever used there
ENOUGH_BYTES = 2 << 30


def _fast_place() -> str | None:
    if "TMPDIR" in os.environ or not os.access(MEMORY, os.W_OK):
        return None
    return MEMORY if shutil.disk_usage(MEMORY).free >= ENOUGH_BYTES else None


_folder = tempfile.mkdtemp(prefix="ampsite-test-", dir=_fast_place())
atexit.register(shutil.rmtree, _folder, ignore_errors=True)
os.environ["TMPDIR"] = tempfile.tempdir = _folder
os.environ["AMPSITE_DATA_DIR"] = _folder
os.environ.setdefault("AMPSITE_EMBEDDER", "hash")
os.environ.setdefault("SECRET_KEY", "only for tests")
