"""An ``amp/1`` envelope: from JSON to a change or a question, or to what is wrong with it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import jsonschema_rs

from memories import limits
from memories.changes import JSON, Change, Expire, Forget, Merge, Remember
from memories.errors import Fault, Impossible, Malformed
from memories.recall import Question
from memories.strict import pointer_to, require_plain

VERSION = "amp/1"
OPERATIONS = ("remember", "recall", "forget", "merge", "expire")
SCHEMA = (Path(__file__).parent / "api" / "amp-schema.json").read_bytes()
DEFAULT_TOP_K = 5

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """A request that can be carried out, as far as one can say without the database."""

    op: str
    memory_type: str
    agent_id: str | None = None
    content: str | None = None
    query: str = ""
    memory_ids: tuple[UUID, ...] = ()
    top_k: int = DEFAULT_TOP_K
    tags: tuple[str, ...] = ()
    ttl_seconds: int | None = None
    metadata: Mapping[str, JSON]
    supersedes: tuple[UUID, ...] = ()

    def change(self, agent: UUID) -> Change:
        """What the envelope asks to do to memories of ``agent``; not for a recall."""
        match self.op:
            case "remember":
                return Remember(
                    agent=agent,
                    memory_type=self.memory_type,
                    content=self.content or "",
                    tags=self.tags,
                    metadata=self.metadata,
                    ttl_seconds=self.ttl_seconds,
                    supersedes=self.supersedes,
                )
            case "merge":
                return Merge(
                    agent=agent,
                    memory_type=self.memory_type,
                    memory_ids=tuple(dict.fromkeys(self.memory_ids)),
                    content=self.content,
                    own_tags=self.tags,
                    metadata=self.metadata,
                    ttl_seconds=self.ttl_seconds,
                )
            case "forget":
                return Forget(
                    agent=agent, memory_type=self.memory_type, memory_ids=self.memory_ids
                )
            case "expire":
                return Expire(
                    agent=agent,
                    memory_type=self.memory_type,
                    memory_ids=tuple(dict.fromkeys(self.memory_ids)),
                    ttl_seconds=self.ttl_seconds,
                )
        raise ValueError(f"{self.op} changes nothing")

    def question(self, agent: UUID, *, least: float | None, relevance: bool) -> Question:
        """What a recall asks; ``least`` is the least relevance of a hit."""
        return Question(
            agent=agent,
            memory_types=(self.memory_type,),
            query=self.query,
            top_k=self.top_k,
            tags=self.tags,
            min_relevance=least,
            with_relevance=relevance,
        )


def op_of(data: JSON) -> str | None:
    """The operation, where it can be told; for errors that answer as results."""
    op = data.get("op") if isinstance(data, dict) else None
    return op if isinstance(op, str) and op in OPERATIONS else None


def read(data: JSON) -> Envelope:
    """Raises ``Malformed`` for what the schema or strict JSON refuses, and ``Impossible``
    for what is well formed but cannot be done; both point to each member at fault.

    Whatever could be slow on hostile input comes after the limits that bound it.
    """
    members = _well_formed(data)
    tags = tuple(members.get("tags", ()))
    limits.check_tags(tags)
    envelope = Envelope(
        op=members["op"],
        memory_type=members["memory_type"],
        agent_id=members.get("agent_id"),
        content=members.get("content"),
        query=members.get("query") or "",
        memory_ids=tuple(UUID(text.lower()) for text in members.get("memory_ids", ())),
        top_k=_whole(members.get("top_k")) or DEFAULT_TOP_K,
        tags=tags,
        ttl_seconds=_whole(members.get("ttl_seconds")),
        metadata=members.get("metadata") or {},
        supersedes=_supersedes(members),
    )
    _require_possible(envelope, members)
    limits.check_metadata(envelope.metadata)
    require_plain(dict(envelope.metadata), pointer="/metadata", depth=2)
    return envelope


def parse_id(text: str) -> UUID | None:
    """Hyphenated, hyphenless, upper case, braced and ``urn:uuid:``; nothing else."""
    return (
        UUID(text.lower()) if _UUID.fullmatch(text) else None
    )  # UUID() knows urn: only so


def _well_formed(data: JSON) -> dict[str, Any]:
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
    for name, member in data.items():
        # All but metadata is flat once the schema holds, so this is quick here.
        if name != "metadata" and not isinstance(member, dict):
            flat = member if isinstance(member, list) else [member]
            _require_plain_flat(name, flat, isinstance(member, list))
    faults: dict[str, Fault] = {}
    for error in _VALIDATOR.iter_errors(data):
        for fault in _faults(error):
            faults.setdefault(fault.pointer, fault)
    for fault in _bad_ids(data.get("memory_ids")):
        faults.setdefault(fault.pointer, fault)
    if faults:
        raise _malformed(list(faults.values()))
    return data


def _require_plain_flat(name: str, members: list[JSON], listed: bool) -> None:
    for position, member in enumerate(members):
        if not isinstance(member, dict | list):
            path = (name, position) if listed else (name,)
            require_plain(member, pointer=pointer_to(*path))


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


def _whole(number: float | None) -> int | None:
    """The schema takes 5.0 and 1e2 for the integers they are."""
    return None if number is None else int(number)


def _bad_ids(texts: JSON) -> list[Fault]:
    return [
        Fault(pointer_to("memory_ids", position), "An id is a UUID.")
        for position, text in enumerate(texts if isinstance(texts, list) else ())
        if isinstance(text, str) and parse_id(text) is None
    ]


def _supersedes(members: Mapping[str, Any]) -> tuple[UUID, ...]:
    """The memories of a remember that the new one replaces, from its metadata."""
    named = (members.get("metadata") or {}).get("supersedes")
    if members["op"] != "remember" or named is None:
        return ()
    texts = named if isinstance(named, list) else [None]
    ids = [parse_id(text) if isinstance(text, str) else None for text in texts]
    known = tuple(dict.fromkeys(found for found in ids if found is not None))
    if None in ids:
        raise Impossible(
            "supersedes is a list of ids of your memories.",
            pointer="/metadata/supersedes",
            code="bad_supersedes",
        )
    if known:
        limits.check_ids(known, pointer="/metadata/supersedes")
    return known


def _require_possible(envelope: Envelope, members: Mapping[str, Any]) -> None:
    op = envelope.op
    if op == "recall" and members["query"] is None:
        raise Impossible("A recall needs a query.", pointer="/query", code="query_missing")
    if op in {"forget", "merge", "expire"}:
        limits.check_ids(envelope.memory_ids)
    if op == "merge" and len(set(envelope.memory_ids)) < 2:
        raise Impossible(
            "A merge needs at least two different ids.",
            pointer="/memory_ids",
            code="too_few_ids",
        )
    if op == "remember" or (op == "merge" and envelope.content is not None):
        limits.check_content(envelope.content or "")
    if op in {"remember", "merge"} and envelope.ttl_seconds == 0:
        raise Impossible(
            "A memory that expires at once cannot be made; send at least 1.",
            pointer="/ttl_seconds",
            code="ttl_zero",
        )
