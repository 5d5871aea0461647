"""The surroundings of the tests, as a plugin that is loaded by name.

pytest-django reads Django's settings before any conftest.py is imported, which would be too
late to keep the tests away from a real installation.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

_folder = tempfile.mkdtemp(prefix="ampsite-test-")
atexit.register(shutil.rmtree, _folder, ignore_errors=True)
os.environ["AMPSITE_DATA_DIR"] = _folder
os.environ.setdefault("AMPSITE_EMBEDDER", "hash")
os.environ.setdefault("SECRET_KEY", "only for tests")
