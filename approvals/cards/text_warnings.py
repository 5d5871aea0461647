"""What a person cannot see in the texts that a proposal brings."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from memories.changes import Change, Merge, Remember, Revise
from memories.characters import findings

MOST_SHOWN = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class TextWarning:
    """``where`` names the text, ``position`` counts its characters from 1."""

    where: str
    message: str
    position: int


@dataclass(frozen=True, slots=True)
class TextWarnings:
    """The first few; ``are_more`` when there are others."""

    shown: tuple[TextWarning, ...]
    are_more: bool


def warnings_about(change: Change, agent_name: str) -> TextWarnings:
    found = [
        TextWarning(where=where, message=finding.message, position=finding.start + 1)
        for where, text in _texts(change, agent_name)
        for finding in findings(text, most=MOST_SHOWN + 1)
    ]
    return TextWarnings(tuple(found[:MOST_SHOWN]), len(found) > MOST_SHOWN)


def _texts(change: Change, agent_name: str) -> Iterator[tuple[str, str]]:
    if isinstance(change, Remember | Merge | Revise):
        yield "the text", change.content or ""
        for tag in change.tags:
            yield "a tag", tag
        if change.metadata:
            yield "the metadata", json.dumps(change.metadata, ensure_ascii=False)
    yield "the agent's name", agent_name
