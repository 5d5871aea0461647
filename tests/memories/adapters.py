"""The index adapters as the contract tests see them."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

from memories.embedding.hashed import HashEmbedder
from memories.index.base import Leg, MemoryIndex, Point, Query, Vector
from memories.index.edge import EdgeIndex
from memories.index.server import ServerIndex

ADAPTERS = ("edge", "local")
NOW = 1_800_000_000
embedder = HashEmbedder()


def make(
    kind: str,
    path: Path,
    *,
    dimension: int = embedder.dimension,
    name: str = "memories",
) -> MemoryIndex:
    if kind == "edge":
        return EdgeIndex(path / "edge" / name, dimension=dimension)
    return ServerIndex(
        f"local:{path / 'local'}",
        collection=name,
        dimension=dimension,
        api_key="",
        timeout_seconds=5,
    )


def opened(
    kind: str,
    path: Path,
    *,
    dimension: int = embedder.dimension,
    name: str = "memories",
) -> MemoryIndex:
    index = make(kind, path, dimension=dimension, name=name)
    index.ensure()
    return index


def point(
    number: int,
    text: str,
    *,
    agent_id: str = "ada",
    memory_type: str = "semantic",
    user_id: str | None = None,
    tags: tuple[str, ...] = (),
    expires_at: int | None = None,
    dense: Vector | None = None,
) -> Point:
    return Point(
        id=UUID(int=number),
        agent_id=agent_id,
        memory_type=memory_type,
        user_id=user_id,
        tags=tags,
        expires_at=expires_at,
        version=1,
        text=text,
        dense=embedder.embed_query(text) if dense is None else dense,
    )


def query(
    text: str,
    *,
    agent_id: str = "ada",
    memory_types: tuple[str, ...] = ("semantic",),
    tags: tuple[str, ...] = (),
    user_id: str | None = None,
    now: int = NOW,
    limit: int = 10,
    dense: Vector | None = None,
) -> Query:
    return Query(
        agent_id=agent_id,
        memory_types=memory_types,
        text=text,
        dense=embedder.embed_query(text) if dense is None else dense,
        tags=tags,
        user_id=user_id,
        now=now,
        limit=limit,
    )


def words_only(text: str, *, limit: int = 3) -> Query:
    """A query to the lexical leg alone."""
    return Query(
        agent_id="ada",
        memory_types=("semantic",),
        text=text,
        dense=None,
        now=NOW,
        limit=limit,
    )


def numbers(leg: Leg) -> list[int]:
    return [found.int for found, _ in leg.hits]
