"""Qdrant Edge: the engine inside this process, on disk. One process owns a shard.

``optimize()`` is never called here: it holds the GIL for seconds, so the whole process
would stand still. Unoptimized search is exact.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from typing import IO
from uuid import UUID

import qdrant_edge as qdrant

from memories.index import base
from memories.text import expand

PAGE = 1_000  # ids per scroll

# `avg_len` and English stop words and stemming measured best; other languages go
# through the same tokens unstemmed.
_BM25 = qdrant.Bm25(
    qdrant.Bm25Config(
        tokenizer=qdrant.TokenizerType.Code,
        avg_len=256,
        ascii_folding=True,
        stemmer=qdrant.SnowballParams(qdrant.SnowballLanguage.English),
        stopwords=qdrant.StopwordsSet(languages={qdrant.Language.English}, custom=set()),
    )
)

_INDEXES: dict[str, qdrant.KeywordIndexParams | qdrant.IntegerIndexParams] = {
    "scope": qdrant.KeywordIndexParams(is_tenant=True),
    "tags": qdrant.KeywordIndexParams(),
    "user_id": qdrant.KeywordIndexParams(),
    "expires_at": qdrant.IntegerIndexParams(lookup=False, range=True),
}


def encode_document(text: str) -> tuple[list[int], list[float]]:
    """BM25 weights of a stored text, as (indices, values). Raises ``ValueError`` for a text
    that the encoder cannot take."""
    try:
        vector = _BM25.embed_document(expand(text))
    except BaseException as error:
        if not _is_engines_own(error):
            raise
        raise ValueError(f"The text has no lexical vector: {error}") from error
    return vector.indices, vector.values


def encode_query(text: str) -> tuple[list[int], list[float]]:
    """BM25 terms of a query, as (indices, values); both empty where no word is left. Raises
    ``IndexUnavailable`` for a query that the encoder cannot take."""
    try:
        vector = _BM25.embed_query(expand(text))
    except BaseException as error:
        if not _is_engines_own(error):
            raise
        raise base.IndexUnavailable(f"The query has no lexical vector: {error}") from error
    return vector.indices, vector.values


class EdgeIndex:
    """``MemoryIndex`` over one shard in ``path``."""

    def __init__(self, path: Path, *, dimension: int) -> None:
        self._path = path
        self._dimension = dimension
        self._open: qdrant.EdgeShard | None = None
        self._lock: IO[bytes] | None = None

    @property
    def _shard(self) -> qdrant.EdgeShard:
        if self._open is None:
            raise base.IndexUnavailable("The index is closed.")
        return self._open

    def ensure(self) -> None:
        if self._open is None:
            lock = self._take()
            try:
                with self._translated():
                    self._open = self._load_or_create()
            except base.IndexUnavailable:
                lock.close()
                raise
            self._lock = lock
        with self._translated():
            existing = self._shard.info().payload_schema
            for field, params in _INDEXES.items():
                if field not in existing:
                    self._shard.update(
                        qdrant.UpdateOperation.create_field_index(field, params)
                    )

    def put(self, points: Sequence[base.Point]) -> None:
        ready = [self._engine_point(point) for point in points]
        for batch in base.batches(ready):
            with self._translated():
                self._shard.update(qdrant.UpdateOperation.upsert_points(batch))

    def drop(self, ids: Iterable[UUID]) -> None:
        for batch in base.batches(ids):
            with self._translated():
                self._shard.update(qdrant.UpdateOperation.delete_points(list(batch)))

    def search(self, query: base.Query) -> tuple[base.Leg, ...]:
        asked: dict[str, list[float] | qdrant.SparseVector] = {}
        if query.dense is not None:
            asked[base.DENSE] = base.unit_floats(query.dense, self._dimension)
        terms, weights = encode_query(query.text)
        if terms:
            asked[base.BM25] = qdrant.SparseVector(terms, weights)
        conditions = _filter(query)
        requests = [
            qdrant.QueryRequest(
                limit=query.limit,
                query=qdrant.Query.Nearest(vector, using=name),
                filter=conditions,
            )
            for name, vector in asked.items()
        ]
        with self._translated():
            answers = self._shard.query_batch(qdrant.QueryBatchRequest(requests))
        legs = [
            base.Leg(name, _hits(found)) for name, found in zip(asked, answers, strict=True)
        ]
        if not terms:
            legs.append(base.Leg(base.BM25, ()))
        return tuple(legs)

    def similarities(self, ids: Iterable[UUID], dense: base.Vector) -> dict[UUID, float]:
        vector = base.unit_floats(dense, self._dimension)
        found: dict[UUID, float] = {}
        for batch in base.batches(set(ids)):
            request = qdrant.QueryRequest(
                limit=len(batch),
                query=qdrant.Query.Nearest(vector, using=base.DENSE),
                filter=qdrant.Filter(must=[qdrant.HasIdCondition(set(batch))]),
            )
            with self._translated():
                found.update(_hits(self._shard.query(request)))
        return found

    def count(self) -> int:
        with self._translated():
            return self._shard.count(qdrant.CountRequest(exact=True))

    def ids(self) -> Iterator[UUID]:
        offset: qdrant.PointId | None = None
        while True:
            request = qdrant.ScrollRequest(offset=offset, limit=PAGE, with_payload=False)
            with self._translated():
                records, offset = self._shard.scroll(request)
            yield from (_uuid(record.id) for record in records)
            if offset is None:
                return

    def flush(self) -> None:
        with self._translated():
            self._shard.flush()

    def close(self) -> None:
        shard, self._open = self._open, None
        lock, self._lock = self._lock, None
        try:
            if shard is not None:
                with self._translated():
                    shard.close()
        finally:
            if lock is not None:
                lock.close()

    def destroy(self) -> None:
        self.close()
        try:
            rmtree(self._path)
        except FileNotFoundError:
            return
        except OSError as error:
            raise base.IndexUnavailable(
                f"The index in {self._path} cannot be deleted: {error.strerror}."
            ) from error

    def _take(self) -> IO[bytes]:
        """A lock of our own, held while the file is open. The engine has one too, but looks
        for it only after it touched files that the process which holds it is using."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        file = self._path.with_name(f"{self._path.name}.lock").open("ab")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.close()
            raise self._in_use() from error
        return file

    def _in_use(self) -> base.IndexInUse:
        return base.IndexInUse(
            f"Another process already uses the index in {self._path}: stop it, or set "
            "QDRANT_URL so that several processes can share an index."
        )

    def _load_or_create(self) -> qdrant.EdgeShard:
        config = qdrant.EdgeConfig(
            vectors={
                base.DENSE: qdrant.EdgeVectorParams(
                    size=self._dimension, distance=qdrant.Distance.Cosine
                )
            },
            sparse_vectors={
                base.BM25: qdrant.EdgeSparseVectorParams(modifier=qdrant.Modifier.Idf)
            },
        )
        if (self._path / "edge_config.json").exists():
            return qdrant.EdgeShard.load(str(self._path), config)
        self._path.mkdir(parents=True, exist_ok=True)
        return qdrant.EdgeShard.create(str(self._path), config)

    def _engine_point(self, point: base.Point) -> qdrant.Point:
        vectors: dict[str, list[float] | qdrant.SparseVector | list[list[float]]] = {
            base.BM25: qdrant.SparseVector(*encode_document(point.text))
        }
        if point.dense is not None:
            vectors[base.DENSE] = base.unit_floats(point.dense, self._dimension)
        return qdrant.Point(point.id, vectors, base.payload(point))

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            if not _is_engines_own(error):
                raise
            if "WouldBlock" in str(error):
                raise self._in_use() from error
            raise base.IndexUnavailable(
                f"The index in {self._path} failed: {error}"
            ) from error


def _is_engines_own(error: BaseException) -> bool:
    """The engine raises plain ``Exception``, and a panic of its own is not even one: left
    alone it would end the thread that drains the outbox."""
    return type(error) is Exception or type(error).__module__ == "pyo3_runtime"


def _filter(query: base.Query) -> qdrant.Filter:
    scopes = [base.scope(query.agent_id, kind) for kind in query.memory_types]
    must: list[qdrant.ConditionType] = [
        qdrant.FieldCondition("scope", match=qdrant.MatchAny(scopes))
    ]
    if query.tags:  # MatchAny of nothing matches nothing
        must.append(qdrant.FieldCondition("tags", match=qdrant.MatchAny(list(query.tags))))
    if query.user_id is not None:
        must.append(
            qdrant.FieldCondition("user_id", match=qdrant.MatchValue(query.user_id))
        )
    expired = qdrant.FieldCondition("expires_at", range=qdrant.RangeFloat(lte=query.now))
    return qdrant.Filter(must=must, must_not=[expired])


def _hits(points: Sequence[qdrant.ScoredPoint]) -> tuple[tuple[UUID, float], ...]:
    return tuple((_uuid(point.id), point.score) for point in points)


def _uuid(point_id: qdrant.PointId) -> UUID:
    return point_id if isinstance(point_id, UUID) else UUID(str(point_id))
