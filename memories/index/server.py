"""A Qdrant server or cluster; or, as ``local:PATH``, the client's own local mode."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from threading import Lock, RLock
from uuid import UUID

from qdrant_client import QdrantClient, models
from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.http.exceptions import ApiException, UnexpectedResponse

from memories.index import base
from memories.index.edge import encode_document, encode_query

LOCAL = "local:"
PAGE = 1_000  # ids per scroll
CONFLICT = 409

_INDEXES: dict[str, models.KeywordIndexParams | models.IntegerIndexParams] = {
    "scope": models.KeywordIndexParams(
        type=models.KeywordIndexType.KEYWORD, is_tenant=True
    ),
    "tags": models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD),
    "user_id": models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD),
    "expires_at": models.IntegerIndexParams(
        type=models.IntegerIndexType.INTEGER, lookup=False, range=True
    ),
}
# The local mode answers with RuntimeError when it is closed or its folder is taken.
_FAILURES = (ApiException, QdrantException, RuntimeError, OSError, sqlite3.Error)


@dataclass(slots=True)
class _Folder:
    """The client of a local path. Even this process can open one only once, so that the
    collections of a path share it; and it is plain Python, where a search beside a write
    would read half of it, so that they take turns."""

    client: QdrantClient
    turn: AbstractContextManager[object] = field(default_factory=RLock)
    users: int = 0


_folders: dict[str, _Folder] = {}
_folders_lock = Lock()


class ServerIndex:
    """``MemoryIndex`` over one collection; processes may share a server, not a local path."""

    def __init__(
        self,
        url: str,
        *,
        collection: str,
        dimension: int,
        api_key: str,
        timeout_seconds: int,
    ) -> None:
        self._url = url
        self._collection = collection
        self._dimension = dimension
        self._api_key = api_key
        self._timeout_seconds = timeout_seconds
        self._local = url.startswith(LOCAL)
        self._open: QdrantClient | None = None
        self._turn: AbstractContextManager[object] = nullcontext()

    @property
    def _client(self) -> QdrantClient:
        if self._open is None:
            raise base.IndexUnavailable("The index is closed.")
        return self._open

    def ensure(self) -> None:
        self._connect()
        with self._translated():
            try:
                self._ensure_collection(self._client)
            except BaseException:
                self._release()
                raise

    def put(self, points: Sequence[base.Point]) -> None:
        ready = [self._engine_point(point) for point in points]
        for batch in base.batches(ready):
            with self._translated():
                self._client.upsert(self._collection, batch, wait=True)

    def drop(self, ids: Iterable[UUID]) -> None:
        for batch in base.batches(ids):
            selector = models.PointIdsList(points=list(batch))
            with self._translated():
                self._client.delete(self._collection, selector, wait=True)

    def search(self, query: base.Query) -> tuple[base.Leg, ...]:
        asked: dict[str, list[float] | models.SparseVector] = {}
        if query.dense is not None:
            asked[base.DENSE] = base.unit_floats(query.dense, self._dimension)
        terms, weights = encode_query(query.text)
        if terms:
            asked[base.BM25] = models.SparseVector(indices=terms, values=weights)
        conditions = _filter(query)
        requests = [
            models.QueryRequest(
                query=vector, using=name, filter=conditions, limit=query.limit
            )
            for name, vector in asked.items()
        ]
        with self._translated():
            answers = self._client.query_batch_points(self._collection, requests)
        legs = [
            base.Leg(name, _hits(answer.points))
            for name, answer in zip(asked, answers, strict=True)
        ]
        if not terms:
            legs.append(base.Leg(base.BM25, ()))
        return tuple(legs)

    def similarities(self, ids: Iterable[UUID], dense: base.Vector) -> dict[UUID, float]:
        vector = base.unit_floats(dense, self._dimension)
        found: dict[UUID, float] = {}
        for batch in base.batches(set(ids)):
            only = models.Filter(must=[models.HasIdCondition(has_id=list(batch))])
            with self._translated():
                answer = self._client.query_points(
                    self._collection,
                    query=vector,
                    using=base.DENSE,
                    query_filter=only,
                    limit=len(batch),
                    with_payload=False,
                )
            found.update(_hits(answer.points))
        return found

    def count(self) -> int:
        with self._translated():
            return self._client.count(self._collection, exact=True).count

    def ids(self) -> Iterator[UUID]:
        offset: models.ExtendedPointId | None = None
        while True:
            with self._translated():
                records, following = self._client.scroll(
                    self._collection, limit=PAGE, offset=offset, with_payload=False
                )
            yield from (UUID(str(record.id)) for record in records)
            if following is None:
                return
            offset = str(following)

    def flush(self) -> None:
        """Only ask whether the server is there: every write waited until it had it."""
        with self._translated():
            self._client.count(self._collection, exact=False)

    def close(self) -> None:
        with self._translated():
            self._release()

    def destroy(self) -> None:
        self._connect()
        with self._translated():
            try:
                # An unknown one is no error.
                self._client.delete_collection(self._collection)
            finally:
                self._release()

    def _connect(self) -> None:
        """Before anything is asked: only now is it known whose turn there is to wait for."""
        with self._translated():
            if self._open is None:
                self._open = self._opened()

    def _opened(self) -> QdrantClient:
        if not self._local:
            return QdrantClient(
                url=self._url,
                api_key=self._api_key or None,
                timeout=self._timeout_seconds,
                check_compatibility=False,  # it asks the server once more and only warns
            )
        path = self._url.removeprefix(LOCAL)
        with _folders_lock:
            folder = _folders.get(path)
            if folder is None:
                client = QdrantClient(path=path, force_disable_check_same_thread=True)
                folder = _folders[path] = _Folder(client)
            folder.users += 1
            self._turn = folder.turn
        return folder.client

    def _release(self) -> None:
        client, self._open = self._open, None
        if client is None:
            return
        if not self._local:
            client.close()
            return
        path = self._url.removeprefix(LOCAL)
        with _folders_lock:
            _folders[path].users -= 1
            if not _folders[path].users:
                del _folders[path]
                client.close()  # in here, or whoever opens it meanwhile finds it taken

    def _ensure_collection(self, client: QdrantClient) -> None:
        if not client.collection_exists(self._collection):
            try:
                client.create_collection(
                    self._collection,
                    vectors_config={
                        base.DENSE: models.VectorParams(
                            size=self._dimension, distance=models.Distance.COSINE
                        )
                    },
                    sparse_vectors_config={
                        base.BM25: models.SparseVectorParams(modifier=models.Modifier.IDF)
                    },
                )
            except UnexpectedResponse as error:
                if error.status_code != CONFLICT:  # another process was faster
                    raise
        about = client.get_collection(self._collection)
        vectors = about.config.params.vectors
        stored = vectors.get(base.DENSE) if isinstance(vectors, dict) else None
        if stored is None or stored.size != self._dimension:
            size = (
                "no" if stored is None else f"a {base.DENSE} vector size of {stored.size},"
            )
            raise base.IndexUnavailable(
                f"The collection {self._collection} at {self._url} has {size} "
                f"not {self._dimension}: delete it, and it is built again."
            )
        if self._local:
            return  # it has no payload indexes and warns about each
        existing = about.payload_schema
        for name, params in _INDEXES.items():
            if name not in existing:
                client.create_payload_index(self._collection, name, params, wait=True)

    def _engine_point(self, point: base.Point) -> models.PointStruct:
        indices, values = encode_document(point.text)
        vectors: dict[str, models.Vector] = {
            base.BM25: models.SparseVector(indices=indices, values=values)
        }
        if point.dense is not None:
            vectors[base.DENSE] = base.unit_floats(point.dense, self._dimension)
        return models.PointStruct(
            id=str(point.id), vector=vectors, payload=base.payload(point)
        )

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            with self._turn:
                yield
        except _FAILURES as error:
            if "already accessed by another instance" in str(error):
                raise base.IndexInUse(
                    f"Another process already uses the index at {self._url}: stop it, or let "
                    "QDRANT_URL name a server that several processes can share."
                ) from error
            raise base.IndexUnavailable(
                f"The index at {self._url} failed: {error}"
            ) from error


def _filter(query: base.Query) -> models.Filter:
    scopes = [base.scope(query.agent_id, kind) for kind in query.memory_types]
    must: list[models.Condition] = [
        models.FieldCondition(key="scope", match=models.MatchAny(any=scopes))
    ]
    if query.tags:  # MatchAny of nothing matches nothing
        must.append(
            models.FieldCondition(key="tags", match=models.MatchAny(any=list(query.tags)))
        )
    if query.user_id is not None:
        must.append(
            models.FieldCondition(
                key="user_id", match=models.MatchValue(value=query.user_id)
            )
        )
    expired = models.FieldCondition(key="expires_at", range=models.Range(lte=query.now))
    return models.Filter(must=must, must_not=[expired])


def _hits(points: Sequence[models.ScoredPoint]) -> tuple[tuple[UUID, float], ...]:
    return tuple((UUID(str(point.id)), point.score) for point in points)
