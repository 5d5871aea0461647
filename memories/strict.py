"""JSON as the wire contract means it: nothing doubtful is let in, nothing is guessed."""

from __future__ import annotations

import math
from typing import cast

import jiter

from memories.changes import JSON
from memories.errors import Fault, Malformed

DEEPEST = 64  # levels of nesting, the outermost value being the first
_LEAST, _GREATEST = -(2**63), 2**64 - 1


def loads(body: bytes) -> JSON:
    """The one JSON value in ``body``, UTF-8 without a byte order mark.

    Raises ``Malformed`` for what is no JSON, duplicate keys, NaN, Infinity and lone
    surrogates. What is too deep, too large a number or NUL is left to ``require_plain``.
    """
    try:
        value = jiter.from_json(
            body, allow_inf_nan=False, catch_duplicate_keys=True, cache_mode="keys"
        )
    except ValueError as error:
        raise Malformed(
            f"The body is not strict JSON: {error}.", code="invalid_json"
        ) from None
    return cast(JSON, value)


def require_plain(value: JSON, *, pointer: str = "", depth: int = 1) -> None:
    """Raises ``Malformed``, with a pointer to it, for NUL in a text or key, a number that
    is not finite or beyond 64 bit, and nesting beyond 64.

    ``pointer`` and ``depth`` say where in the body ``value`` stands.
    """
    found = _fault(value, depth)
    if found:
        path, code, message = found
        where = pointer + "".join(f"/{_escaped(step)}" for step in reversed(path))
        raise Malformed(message, code=code, faults=[Fault(where, message)])


def pointer_to(*path: str | int) -> str:
    """The JSON Pointer (RFC 6901) made of these keys and positions."""
    return "".join(f"/{_escaped(str(step))}" for step in path)


def _escaped(step: str) -> str:
    return step.replace("~", "~0").replace("/", "~1").replace("\0", "\\u0000")


def _fault(value: JSON, depth: int) -> tuple[list[str], str, str] | None:
    """The path to the first fault, innermost step first, its code and a sentence."""
    match value:
        case str():
            if "\0" in value:
                return [], "nul", "The text contains a NUL character."
        case float():
            if not math.isfinite(value):
                return [], "invalid_json", "The number is too large."
        case bool() | None:
            return None
        case int():
            if not _LEAST <= value <= _GREATEST:
                return [], "invalid_json", "The number does not fit 64 bit."
        case dict() | list():
            if depth > DEEPEST:
                message = f"The JSON is nested more than {DEEPEST} levels deep."
                return [], "invalid_json", message
            return _fault_within(value, depth)
    return None


def _fault_within(
    value: dict[str, JSON] | list[JSON], depth: int
) -> tuple[list[str], str, str] | None:
    members = value.items() if isinstance(value, dict) else enumerate(value)
    for step, member in members:
        if isinstance(step, str) and "\0" in step:
            return [step], "nul", "The key contains a NUL character."
        found = _fault(member, depth + 1)
        if found:
            found[0].append(str(step))
            return found
    return None
