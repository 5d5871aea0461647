"""Any server with OpenAI's ``/v1/embeddings``: OpenAI, Ollama, vLLM, TEI, llama.cpp."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Sequence
from typing import Any

import httpx

from memories.embedding.base import (
    PASSAGE_ATTEMPTS,
    QUERY_ATTEMPTS,
    EmbedderUnavailable,
    EmbeddingFailed,
    Kind,
    Vector,
    scaled,
)

# Known without asking; of any other model EMBEDDER_DIMENSION has to say it.
DIMENSIONS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}
SHORTENABLE = "text-embedding-3-"  # models that take `dimensions`

PAUSE_SECONDS = 0.5  # before the second attempt; doubled before each further one
LONGEST_PAUSE_SECONDS = 5.0  # whoever is told to wait longer gives up and comes back

TRANSIENT = {408, 409, 425, 429}
OF_THE_TEXT = {400, 413, 422}


class OpenAI:
    """Threads may share it. Neither a text nor the key is in any error or log line."""

    name = "openai"

    def __init__(
        self,
        kind: Kind,
        *,
        url: str,
        api_key: str,
        timeout_seconds: float,
        characters: int,
        floor: float | None,
        ceiling: float | None,
    ) -> None:
        self.dimension = kind.dimension
        self.floor, self.ceiling = floor, ceiling
        self._characters = characters
        self._timeout_seconds = timeout_seconds
        self._body: dict[str, Any] = {"model": kind.model}
        if (
            kind.model.startswith(SHORTENABLE)
            and DIMENSIONS.get(kind.model) != kind.dimension
        ):
            self._body["dimensions"] = kind.dimension
        self._url = f"{url.rstrip('/')}/embeddings"
        headers = {"Content-Type": "application/json"}
        if api_key:
            headers["Authorization"] = f"Bearer {api_key}"
        self._client = httpx.Client(headers=headers, timeout=timeout_seconds)

    def embed_passages(self, texts: list[str]) -> list[Vector]:
        if not texts:
            return []
        return self._ask(texts, PASSAGE_ATTEMPTS, deadline=None)

    def embed_query(self, text: str) -> Vector:
        deadline = time.monotonic() + self._timeout_seconds
        (vector,) = self._ask([text], QUERY_ATTEMPTS, deadline=deadline)
        return vector

    def _ask(
        self, texts: Sequence[str], attempts: int, *, deadline: float | None
    ) -> list[Vector]:
        """One request for all texts, repeated while the server is busy or away."""
        body = {**self._body, "input": [text[: self._characters] for text in texts]}
        content = json.dumps(body)  # ASCII: a lone surrogate cannot break it
        for attempt in range(1, attempts + 1):
            pause = PAUSE_SECONDS * 2 ** (attempt - 1) * random.uniform(0.5, 1.5)  # noqa: S311
            try:
                answer = self._post(content, deadline)
            except httpx.RequestError as error:
                problem = f"cannot be reached or read ({type(error).__name__})"
            else:
                if answer.status_code == httpx.codes.OK:
                    return self._vectors(answer, len(texts))
                problem = self._problem(answer)
                pause = max(pause, _retry_after(answer))
            ends = time.monotonic() + pause
            is_late = deadline is not None and ends >= deadline
            if attempt == attempts or is_late or pause > LONGEST_PAUSE_SECONDS:
                break
            time.sleep(pause)
        raise EmbedderUnavailable(f"The embedder at EMBEDDER_URL {problem}.")

    def _post(self, content: str, deadline: float | None) -> httpx.Response:
        left = self._timeout_seconds
        if deadline is not None:
            left = max(0.01, deadline - time.monotonic())
        return self._client.post(self._url, content=content, timeout=left)

    def _problem(self, answer: httpx.Response) -> str:
        """What is wrong with the server, for an answer that may be better next time.
        Raises for one that will not."""
        status = answer.status_code
        if status in TRANSIENT or status >= httpx.codes.INTERNAL_SERVER_ERROR:
            return f"answered {status}"
        if status in OF_THE_TEXT:
            raise EmbeddingFailed(
                f"The embedder refused the text with {status}; if it is too long for "
                "EMBEDDER_MODEL, lower EMBEDDER_CHARACTERS."
            )
        said = {
            401: "refused the key: look at EMBEDDER_API_KEY",
            403: "refused the key: look at EMBEDDER_API_KEY",
            404: "answered 404: look at EMBEDDER_URL and EMBEDDER_MODEL",
        }.get(status, f"answered {status}: look at EMBEDDER_URL")
        raise EmbedderUnavailable(f"The embedder at EMBEDDER_URL {said}.")

    def _vectors(self, answer: httpx.Response, count: int) -> list[Vector]:
        """In the order of the texts, which ``index`` names and the list need not keep."""
        try:
            items = {item["index"]: item["embedding"] for item in answer.json()["data"]}
        except (ValueError, TypeError, KeyError) as error:
            raise EmbedderUnavailable(
                "The embedder at EMBEDDER_URL did not answer with a list of embeddings."
            ) from error
        if set(items) != set(range(count)):
            raise EmbeddingFailed(
                f"The embedder answered with {len(items)} vectors for {count} texts."
            )
        return [scaled(items[number], self.dimension) for number in range(count)]


def _retry_after(answer: httpx.Response) -> float:
    """Seconds that the server asks to wait; 0 where it gives none, or a date."""
    text = answer.headers.get("Retry-After", "")
    return float(text) if text.isascii() and text.isdigit() else 0.0
