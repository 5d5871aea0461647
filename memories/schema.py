"""Whether JSON is an ``amp/1`` envelope at all: its version, the schema, and how ids are
spelled. What is wrong is said in our own words, with a pointer to each member at fault."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import UUID

import jsonschema_rs
from django.conf import settings

from memories.changes import JSON
from memories.errors import Fault, Malformed
from memories.strict import pointer_to, require_plain

VERSION = "amp/1"
OPERATIONS = ("remember", "recall", "forget", "merge", "expire")
MOST_FAULTS = 100  # a body may have a hundred thousand
SCHEMA = (Path(__file__).parent / "api" / "amp-schema.json").read_bytes()

# Formats stay unchecked: `uuid` would refuse spellings that are accepted here.
_VALIDATOR = jsonschema_rs.validator_for(json.loads(SCHEMA), validate_formats=False)
_HEX = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_UUID = re.compile(
    rf"(?:urn:uuid:)?{_HEX}|\{{{_HEX}\}}|[0-9a-f]{{32}}", re.ASCII | re.IGNORECASE
)
_TYPES = {
    "array": "a list",
    "integer": "a whole number",
    "null": "null",
    "object": "an object",
    "string": "a text",
}


def op_of(data: JSON) -> str | None:
    """The operation, where it can be told; for errors that answer as results."""
    op = data.get("op") if isinstance(data, dict) else None
    return op if isinstance(op, str) and op in OPERATIONS else None


def parse_id(text: str) -> UUID | None:
    """Hyphenated, hyphenless, upper case, braced and ``urn:uuid:``; nothing else."""
    # In lower case, because Python knows the prefix of a URN only so.
    return UUID(text.lower()) if _UUID.fullmatch(text) else None


def well_formed(data: JSON) -> dict[str, Any]:
    """The envelope's members. Raises ``Malformed``, also for NUL outside the metadata,
    which is left to be judged once its size is known."""
    if not isinstance(data, dict):
        raise _malformed([Fault("", "The body is one JSON object, the envelope.")])
    if op_of(data) is None:
        known = ", ".join(OPERATIONS)
        raise _malformed([Fault("/op", f"The operation is one of {known}.")])
    version = data.get("amp_version", VERSION)
    if isinstance(version, str) and version != VERSION:
        message = f"This version of AMP is not spoken here; send {VERSION}."
        fault = Fault("/amp_version", message)
        raise Malformed(message, code="unsupported_version", faults=[fault])
    short = _shortened(data)
    for name, member in short.items():
        if name != "metadata":
            _require_plain_flat(name, member)
    faults: dict[str, Fault] = {}
    for fault in islice(_all_faults(short), MOST_FAULTS):
        faults.setdefault(fault.pointer, fault)
    if faults:
        raise _malformed(list(faults.values()))
    return data


def _shortened(data: dict[str, Any]) -> dict[str, Any]:
    """With each list cut just beyond what the limits allow: what is longer is refused by
    them, and half a million faulty members would take seconds to name."""
    most = max(settings.MAX_TAGS, settings.MAX_MEMORY_IDS) + 1
    return {
        name: member[:most] if isinstance(member, list) else member
        for name, member in data.items()
    }


def _all_faults(data: dict[str, Any]) -> Iterator[Fault]:
    for error in _VALIDATOR.iter_errors(data):
        yield from _faults(error)
    texts = data.get("memory_ids")
    for position, text in enumerate(texts if isinstance(texts, list) else ()):
        if isinstance(text, str) and parse_id(text) is None:
            yield Fault(pointer_to("memory_ids", position), "An id is a UUID.")


def _require_plain_flat(name: str, member: JSON) -> None:
    """All but metadata is flat once the schema holds; what is not, it refuses."""
    if isinstance(member, list):
        for position, text in enumerate(member):
            if isinstance(text, str):
                require_plain(text, pointer=pointer_to(name, position))
    elif not isinstance(member, dict):
        require_plain(member, pointer=pointer_to(name))


def _malformed(faults: list[Fault]) -> Malformed:
    return Malformed(faults[0].message, code="invalid_envelope", faults=faults)


def _faults(error: jsonschema_rs.ValidationError) -> list[Fault]:
    """Our own sentences: the library's quote the value at fault."""
    kind: Any = error.kind  # one class per keyword, each with members of its own
    path = error.instance_path
    where = pointer_to(*path)
    name = path[0] if path else ""
    match kind.name:
        case "required":
            return [Fault(pointer_to(*path, kind.property), f"{kind.property} is missing.")]
        case "additionalProperties":
            return [
                Fault(pointer_to(*path, extra), "The envelope has no such member.")
                for extra in kind.unexpected
            ]
        case "type":
            types = sorted(kind.types, key="null".__eq__)  # null last
            allowed = " or ".join(_TYPES[one] for one in types)
            return [Fault(where, f"{_subject(path)} is {allowed}.")]
        case "enum":
            return [Fault(where, f"{name} is one of {', '.join(kind.options)}.")]
        case "minimum":
            return [Fault(where, f"{name} is at least {kind.limit}.")]
        case _:
            return [Fault(where, f"{name} is not what the schema allows.")]


def _subject(path: list[str | int]) -> str:
    return f"Each of {path[0]}" if len(path) > 1 else str(path[0])
