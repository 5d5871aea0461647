from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memories.index.base import MemoryIndex
from tests.memories import adapters


@pytest.fixture(params=adapters.ADAPTERS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def index(kind: str, tmp_path: Path) -> Iterator[MemoryIndex]:
    """An open, empty index, once for each adapter."""
    index = adapters.opened(kind, tmp_path)
    yield index
    index.close()
