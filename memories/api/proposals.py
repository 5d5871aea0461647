"""``/api/v1/proposals``: what became of what an agent proposed. It can look and withdraw;
deciding is for people."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from approvals import services
from approvals.services import Decided, Standing
from memories.api.auth import key_of
from memories.api.door import Door, instant, proposal_links
from memories.api.listing import choice_of, cursor_of, instant_of, limit_of, page
from memories.changes import Change, Remember
from memories.errors import NotAllowed, ProposalNotFound
from memories.idempotency import Kept
from memories.schema import parse_id


class Proposals(Door):
    def get(self, request: Request) -> Response:
        limit = limit_of(request)
        found = services.standings(
            key_of(request).agent,
            limit=limit + 1,  # one more tells whether there is a next page
            status=choice_of(request, "status", services.STATUSES),
            op=choice_of(request, "op", services.OPERATIONS),
            updated_after=instant_of(request, "updated_after"),
            before=cursor_of(request),
        )
        shown = found[:limit]
        last = (shown[-1].created_at, shown[-1].id) if len(found) > limit else None
        return Response(page(request, [_body(request, one) for one in shown], last))


class Proposal(Door):
    def get(self, request: Request, id: str) -> Response:
        return Response(_body(request, _standing(request, _id(id))))

    def delete(self, request: Request, id: str) -> Response:
        proposal_id, key = _id(id), key_of(request)

        def withdraw() -> Kept:
            services.withdraw(proposal_id, by=key)
            return Kept(proposal_id=proposal_id)

        _, replayed = self.write(request, withdraw)
        headers = {"Idempotency-Replayed": "true"} if replayed else {}
        return Response(_body(request, _standing(request, proposal_id)), headers=headers)


class Decide(Door):
    """Exists only to refuse, and to keep in the audit that somebody tried."""

    attempt = ""

    def post(self, request: Request, id: str) -> Response:
        services.note_refused_decision(_id(id), by=key_of(request), attempt=self.attempt)
        raise NotAllowed(
            "A key never decides. A person does, at the proposal's review_url.",
            code="agents_cannot_decide",
        )


class Approve(Decide):
    attempt = "approve"


class Reject(Decide):
    attempt = "reject"


def _id(text: str) -> UUID:
    proposal_id = parse_id(text)
    if proposal_id is None:
        raise ProposalNotFound("There is no such proposal; its id is a UUID.")
    return proposal_id


def _standing(request: Request, proposal_id: UUID) -> Standing:
    return services.standing(key_of(request).agent, proposal_id)


def _body(request: Request, standing: Standing) -> dict[str, Any]:
    return {
        "id": str(standing.id),
        "op": standing.op,
        "memory_type": standing.memory_type,
        "agent_id": standing.agent_id,
        "status": standing.status,
        "stale": standing.stale,
        "revision": standing.revision,
        "created_at": instant(standing.created_at),
        "expires_at": standing.expires_at and instant(standing.expires_at),
        "memory_id": standing.memory_id and str(standing.memory_id),
        "targets": [
            {
                "memory_id": str(target.memory_id),
                "version": target.version,
                "current_version": target.current_version,
                "state": target.state,
            }
            for target in standing.targets
        ],
        "change": _change(standing.change),
        "decision": _decision(standing.decision) if standing.decision else None,
        "closed_reason": standing.closed_reason or None,
        "index": standing.index,
        **proposal_links(request, standing.id),
    }


def _change(change: Change) -> dict[str, Any]:
    expires_at = getattr(change, "expires_at", None)
    superseded = change.supersedes if isinstance(change, Remember) else ()
    return {
        "content": getattr(change, "content", None),
        "tags": list(getattr(change, "tags", ())),
        "metadata": dict(getattr(change, "metadata", {})),
        "expires_at": expires_at and instant(expires_at),
        "supersedes": [str(memory_id) for memory_id in superseded],
    }


def _decision(decision: Decided) -> dict[str, Any]:
    """What the reviewer changed or added, and never who it was."""
    return {
        "outcome": decision.outcome,
        "edited": bool(decision.edits),
        "at": instant(decision.at),
        "reason": decision.reason or None,
        "comment": decision.comment or None,
        **decision.edits,
    }
