"""``POST /api/v1/amp``: one envelope in, one result out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from approvals import services
from approvals.services import Outcome, Standing
from memories import recall
from memories.api.auth import key_of, require_own, require_scope
from memories.api.details import Detail, detail_after, detail_of
from memories.api.door import Door, bad_parameter, instant, proposal_links
from memories.api.waiting import preferred_wait, wait_until
from memories.changes import Change
from memories.envelope import Envelope, read
from memories.idempotency import Kept
from memories.index import collection_name
from memories.models import ApiKey, IndexEntry
from memories.schema import op_of

EXTRAS = ("metadata", "created_at", "relevance")
RETRY_SECONDS = 30


class Amp(Door):
    def post(self, request: Request) -> Response:
        data = self.json(request)
        self.op = op_of(data)
        envelope = read(data)
        key = key_of(request)
        require_scope(key, envelope.op)
        require_own(key, envelope.agent_id)
        if envelope.op == "recall":
            return _recall(request, envelope, key)
        return self._change(request, envelope, key)

    def _change(self, request: Request, envelope: Envelope, key: ApiKey) -> Response:
        change = envelope.change(key.agent_id)
        kept, replayed = self.write(
            request, lambda: _kept(change, services.submit(change, by=key))
        )
        headers = {"Idempotency-Replayed": "true"} if replayed else {}
        seconds = preferred_wait(request.headers.get("Prefer"))
        done = _wait(kept, envelope.op, seconds, key.agent_id) if seconds else None
        if done is not None:
            headers["Preference-Applied"] = f"wait={seconds}"
            if done and kept.proposal_id:
                standing = services.standing(key.agent, kept.proposal_id)
                return Response(_decided(request, kept, standing), headers=headers)
        if kept.proposal_id:
            return _held(request, envelope.op, kept, headers)
        ok = kept.approved is not False
        return Response(_result(envelope.op, kept, ok=ok), headers=headers)


def _kept(change: Change, outcome: Outcome) -> Kept:
    """The answer, as it is fixed when the change is stored or held."""
    return Kept(
        ids=outcome.ids,
        approved=outcome.approved,
        detail=detail_of(change, outcome).to_text(),
        proposal_id=outcome.proposal.pk if outcome.proposal else None,
    )


def _wait(kept: Kept, op: str, seconds: int, agent: UUID) -> bool | None:
    """As ``wait_until``; None, too, where there is nothing to wait for."""
    proposal_id = kept.proposal_id
    if proposal_id:
        return wait_until(
            lambda: not services.is_pending(proposal_id), seconds=seconds, agent=agent
        )
    if op in {"remember", "merge"} and kept.ids:
        return wait_until(lambda: _is_indexed(kept.ids), seconds=seconds, agent=agent)
    return None


def _is_indexed(ids: Sequence[UUID]) -> bool:
    behind = IndexEntry.objects.behind().filter(collection=collection_name())
    return not behind.filter(memory_id__in=ids).exists()


def _held(request: Request, op: str, kept: Kept, headers: dict[str, str]) -> Response:
    assert kept.proposal_id is not None
    links = proposal_links(request, kept.proposal_id)
    proposal = {"id": str(kept.proposal_id), "status": "pending", "edited": False, **links}
    headers |= {"Location": links["url"], "Retry-After": str(RETRY_SECONDS)}
    body = _result(op, kept, proposal=proposal)
    return Response(body, status=202, headers=headers)


def _decided(request: Request, kept: Kept, standing: Standing) -> dict[str, Any]:
    """The result after a wait that ended in a decision, or in a withdrawal."""
    approved = standing.status == "approved"
    detail = detail_after(Detail.from_text(kept.detail), standing)
    proposal = {
        "id": str(standing.id),
        "status": standing.status,
        "edited": standing.edited,
        **proposal_links(request, standing.id),
    }
    made = standing.ids if approved else ()
    done = kept.ids if standing.op == "forget" else ()
    ids = tuple(dict.fromkeys([*done, *made]))
    final = replace(kept, ids=ids, approved=approved, detail=detail.to_text())
    return _result(standing.op, final, ok=approved, proposal=proposal)


def _result(
    op: str, kept: Kept, *, ok: bool = True, proposal: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Empty lists, an absent approval and an empty detail are left out, as in ``amp/1``."""
    body: dict[str, Any] = {"op": op, "ok": ok}
    if kept.ids:
        body["ids"] = [str(memory_id) for memory_id in kept.ids]
    if kept.approved is not None:
        body["approved"] = kept.approved
    detail = str(Detail.from_text(kept.detail))
    if detail:
        body["detail"] = detail
    if proposal:
        body["proposal"] = proposal
    return body


def _recall(request: Request, envelope: Envelope, key: ApiKey) -> Response:
    extras = _extras(request)
    question = envelope.question(
        key.agent_id, least=_least(request), relevance="relevance" in extras
    )
    answer = recall.recall(question)
    body: dict[str, Any] = {"op": "recall", "ok": True}
    if answer.hits:
        body["hits"] = [_hit(hit, extras) for hit in answer.hits]
    if answer.dropped:
        hits = "hit is" if answer.dropped == 1 else "hits are"
        body["detail"] = f"{answer.dropped} {hits} below min_relevance"
    if answer.degraded:
        body["degraded"] = list(answer.degraded)
    return Response(body)


def _hit(hit: recall.Hit, extras: frozenset[str]) -> dict[str, Any]:
    memory = hit.memory
    body: dict[str, Any] = {
        "id": str(memory.pk),
        "content": memory.content,
        "memory_type": memory.memory_type,
        "score": hit.score,
        "tags": memory.tags,
    }
    if "metadata" in extras:
        body["metadata"] = memory.metadata
    if "created_at" in extras:
        body["created_at"] = instant(memory.created_at)
    if "relevance" in extras:
        body["relevance"] = hit.relevance
    return body


def _extras(request: Request) -> frozenset[str]:
    names = frozenset(
        name for part in request.query_params.getlist("include") for name in part.split(",")
    ) - {""}
    if not names <= set(EXTRAS):
        raise bad_parameter("include", f"the names are {', '.join(EXTRAS)}.")
    return names


def _least(request: Request) -> float | None:
    text = request.query_params.get("min_relevance")
    if text is None:
        return None
    try:
        least = float(text)
    except ValueError:
        least = math.nan
    if not 0 <= least <= 1:
        raise bad_parameter("min_relevance", "a number from 0 to 1.")
    return least
