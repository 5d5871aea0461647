"""The search that agents have, with what each leg of it gave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from django.utils import timezone

from approvals.memory_pages.forms import MemoryFilterForm
from approvals.memory_pages.listing import shown_state
from memories.errors import RecallUnavailable
from memories.fusion import ranked
from memories.index.base import BM25, DENSE, Leg
from memories.models import Agent, Memory, MemoryType
from memories.recall import Hit, Question, recall


@dataclass(frozen=True, slots=True)
class Place:
    """Where a leg put a memory: ``rank`` from 1, ``score`` in the leg's own measure."""

    rank: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A hit as agents get it. ``dense`` and ``bm25`` are None where that leg did not name
    it among its best."""

    memory: Memory
    state: str
    score: float
    relevance: float | None
    dense: Place | None
    bm25: Place | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """``agent`` is None as long as one has to be chosen; ``problem`` says why nothing
    could be searched. ``is_degraded``: by words alone, the embedder is down."""

    agent: Agent | None
    found: tuple[Found, ...] = ()
    top_k: int = 0
    is_degraded: bool = False
    problem: str = ""


def search_for(agent: Agent | None, form: MemoryFilterForm) -> Search:
    """What ``agent`` would recall for the text of the valid filter."""
    if agent is None:
        return Search(agent=None)
    chosen = form.cleaned_data
    question = Question(
        agent=agent.pk,
        memory_types=(chosen["type"],) if chosen["type"] else tuple(MemoryType.values),
        query=form.text,
        top_k=form.top_k,
        tags=(chosen["tag"],) if chosen["tag"] else (),
        with_relevance=True,
    )
    try:
        answer = recall(question)
    except RecallUnavailable as error:
        return Search(agent=agent, problem=str(error))
    legs = {leg.name: _places(leg) for leg in answer.legs}
    return Search(
        agent=agent,
        found=tuple(_found(hit, legs) for hit in answer.hits),
        top_k=question.top_k,
        is_degraded=bool(answer.degraded),
    )


def _places(leg: Leg) -> dict[UUID, Place]:
    return {
        pk: Place(rank, score) for rank, (pk, score) in enumerate(ranked(leg.hits), start=1)
    }


def _found(hit: Hit, legs: Mapping[str, Mapping[UUID, Place]]) -> Found:
    pk = hit.memory.pk
    return Found(
        memory=hit.memory,
        state=shown_state(hit.memory, timezone.now()),
        score=hit.score,
        relevance=hit.relevance,
        dense=legs.get(DENSE, {}).get(pk),
        bm25=legs.get(BM25, {}).get(pk),
    )
