"""Feature hashing over words and letter triples: no model, for tests and benchmarks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from zlib import crc32

import numpy as np

from memories.embedding.base import Vector
from memories.text import normalize

CHARACTERS = 4_000  # what lies beyond does not count
WORD_WEIGHT = 3.0  # of a shared word against a shared triple
_WORD = re.compile(r"\w+")


class HashEmbedder:
    """Texts that share words or parts of words are close; the same text always gives the
    same vector, in every process and version of Python."""

    name = "hash"
    dimension = 256
    floor = 0.0
    ceiling = 0.761

    def embed_passages(self, texts: list[str]) -> list[Vector]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> Vector:
        vector = np.zeros(self.dimension, dtype=np.float32)
        for feature, weight in _features(normalize(text[:CHARACTERS]).casefold()):
            digest = crc32(feature.encode("utf-8", "surrogatepass"))
            vector[(digest >> 1) % self.dimension] += weight if digest & 1 else -weight
        norm = np.linalg.norm(vector)
        if norm == 0:  # no feature at all, or they cancelled each other out
            vector[0] = norm = np.float32(1)
        unit: Vector = vector / norm
        return unit


def _features(text: str) -> Iterator[tuple[str, float]]:
    words = _WORD.findall(text)
    for word in words or text.split():
        yield word, WORD_WEIGHT
        padded = f" {word} "
        for start in range(len(padded) - 2):
            yield padded[start : start + 3], 1.0
    for pair in pairwise(words):
        yield " ".join(pair), 1.0
