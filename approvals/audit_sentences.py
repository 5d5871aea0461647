"""What an audit entry records, said as a person would: who did what to which."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from approvals.models import Decision, Proposal

Payload = Mapping[str, Any]

OF, ITSELF = "of", "itself"


@dataclass(frozen=True, slots=True, kw_only=True)
class Saying:
    """The parts between and after the names: actor, ``did``, ``thing``, agent, ``more``.

    ``agent`` is ``of`` where the agent follows the thing, ``itself`` where it is the thing,
    "" where it is not named. Any part may hold text that somebody else wrote.
    """

    did: str
    thing: str = ""
    agent: str = OF
    more: str = ""


# Every action there is, so that a filter can offer it; an unknown one is shown as it is.
ACTIONS = (
    *(
        f"{op}.{what}"
        for op in Proposal.Op.values
        for what in ("applied", "held", "refused")
    ),
    "memories.expired",
    "proposal.approved",
    "proposal.rejected",
    "proposal.rebased",
    "proposal.withdrawn",
    "proposal.expired",
    "decision.undone",
    "decision.refused",
    "agent.created",
    "agent.renamed",
    "agent.owner_changed",
    "agent.paused",
    "agent.resumed",
    "agent.switched_on",
    "agent.switched_off",
    "key.created",
    "key.revoked",
    "user.created",
    "user.role_changed",
    "user.limits_changed",
    "user.switched_on",
    "user.switched_off",
    "user.password_changed",
    "site.restored",
)

_CLOSED: dict[str, str] = {
    Proposal.ClosedReason.REPLACED: ", replaced by a newer one",
    Proposal.ClosedReason.LAPSED: ": nobody decided in time",
    Proposal.ClosedReason.TTL_PASSED: ": what it proposed was over",
    Proposal.ClosedReason.TARGET_GONE: ": the memories it would touch were gone",
}


def saying(action: str, payload: Payload, objects: Sequence[str]) -> Saying:
    """The sentence of an entry. An erased payload ({}) only makes it less exact."""
    what, _, done = action.partition(".")
    if what in Proposal.Op.values and done in {"applied", "held", "refused"}:
        return _asked(what, done, payload, objects)
    if action in _PLAIN:
        return _PLAIN[action]
    if action in _TOLD:
        return _TOLD[action](payload, objects)
    return Saying(did="did", thing=f"“{action}”")


def _asked(op: str, done: str, payload: Payload, objects: Sequence[str]) -> Saying:
    change = _mapping(payload.get("change"))
    if done == "applied":
        kind = _kind(change) if op == "remember" else ""
        return Saying(did=_APPLIED[op], thing=memories(_number(change, objects), kind))
    if done == "refused":
        thing = f"to {doing(change, op)}"
        return Saying(did="asked", thing=thing, more=" and was refused")
    return Saying(did="proposed", thing=f"to {doing(change, op)}")


_APPLIED = {
    "remember": "stored",
    "revise": "revised",
    "forget": "forgot",
    "merge": "merged",
    "expire": "set the expiry of",
}


def doing(change: Payload, op: str = "") -> str:
    """What the change would do, after "to": "remember a semantic memory"."""
    op = op or str(change.get("op", ""))
    if op not in Proposal.Op.values:
        return "change memories"
    if op == "remember" and (replaced := len(_list(change.get("supersedes")))):
        return f"replace {memories(replaced)} by {memories(1, _kind(change))}"
    kind = _kind(change) if op == "remember" else ""
    return f"{op} {memories(_number(change, ()), kind)}"


def memories(number: int, kind: str = "") -> str:
    """ "a semantic memory", "3 memories"; 0 is an unknown number."""
    if number == 1:
        words = ("an" if kind.startswith("e") else "a", kind, "memory")
    else:
        words = (str(number or ""), kind, "memories")
    return " ".join(word for word in words if word)


def _number(change: Payload, objects: Sequence[str]) -> int:
    """How many memories an operation is about; what it made is none of them."""
    if change.get("op") in {"remember", "revise"}:
        return 1
    named = len(_list(change.get("memory_ids")))
    return named or sum(one.startswith("memory:") for one in objects)


def _approved(payload: Payload, _objects: Sequence[str]) -> Saying:
    change = _mapping(payload.get("proposed")) or _mapping(payload.get("change"))
    thing = f"a proposal to {doing(change)}" if change else "a proposal"
    more = ", with changes" if payload.get("edits") else ""
    return Saying(did="approved", thing=thing, more=more)


def _rejected(payload: Payload, _objects: Sequence[str]) -> Saying:
    reason = str(payload.get("reason"))
    named = reason in Decision.Reason.values and reason != Decision.Reason.OTHER
    more = f" as {Decision.Reason(reason).label.lower()}" if named else ""
    return Saying(did="rejected", thing="a proposal", more=more)


def _withdrew(payload: Payload, _objects: Sequence[str]) -> Saying:
    return replace(_WITHDREW, more=_closed(payload))


def _closed_itself(payload: Payload, _objects: Sequence[str]) -> Saying:
    return Saying(did="closed", thing="a proposal", more=_closed(payload))


def _closed(payload: Payload) -> str:
    return _CLOSED.get(str(payload.get("reason")), "")


def _refused(payload: Payload, _objects: Sequence[str]) -> Saying:
    attempt = payload.get("attempt")
    return Saying(did=f"was not allowed to {attempt or 'decide'}", thing="a proposal")


def _undone(payload: Payload, _objects: Sequence[str]) -> Saying:
    act = "rejection" if payload.get("outcome") == "rejected" else "approval"
    return Saying(did=f"took back the {act} of", thing="a proposal")


def _expired(_payload: Payload, objects: Sequence[str]) -> Saying:
    return Saying(did="let", thing=memories(_number({}, objects)), more=" expire")


def _renamed(payload: Payload, _objects: Sequence[str]) -> Saying:
    new = payload.get("to")
    return Saying(did="named", agent=ITSELF, more=f" “{new}”" if new else " nothing")


def _key_made(_payload: Payload, objects: Sequence[str]) -> Saying:
    return Saying(did="made", thing=_key(objects))


def _key_revoked(_payload: Payload, objects: Sequence[str]) -> Saying:
    return Saying(did="revoked", thing=_key(objects))


def _key(objects: Sequence[str]) -> str:
    named = [one.removeprefix("key:") for one in objects if one.startswith("key:")]
    return f"the key {named[-1]}" if named else "a key"


def _user_made(payload: Payload, objects: Sequence[str]) -> Saying:
    role = payload.get("role")
    more = f", {role}" if role else ""
    return Saying(
        did="made the account", thing=_user(payload, objects), agent="", more=more
    )


def _role(payload: Payload, objects: Sequence[str]) -> Saying:
    before, after = payload.get("from"), payload.get("to")
    more = f" from {before} to {after}" if before and after else ""
    thing = _user(payload, objects)
    return Saying(did="changed the role of", thing=thing, agent="", more=more)


def _limits(payload: Payload, objects: Sequence[str]) -> Saying:
    thing, after = _user(payload, objects), payload.get("to")
    if "to" not in payload:
        return Saying(did="changed the agents of", thing=thing, agent="")
    if after is None:
        return Saying(did="let", thing=thing, agent="", more=" see all agents")
    listed = ", ".join(map(str, _list(after))) or "no agent"
    return Saying(did="limited", thing=thing, agent="", more=f" to {listed}")


def _restored(payload: Payload, _objects: Sequence[str]) -> Saying:
    made_at = payload.get("made_at")
    more = f" made at {made_at}" if made_at else ""
    return Saying(did="restored", thing="a backup", agent="", more=more)


def _about_user(did: str) -> Callable[[Payload, Sequence[str]], Saying]:
    def told(payload: Payload, objects: Sequence[str]) -> Saying:
        return Saying(did=did, thing=_user(payload, objects), agent="")

    return told


def _user(payload: Payload, objects: Sequence[str]) -> str:
    name = payload.get("username")
    numbers = [one.removeprefix("user:") for one in objects if one.startswith("user:")]
    return str(name) if name else f"person {numbers[0]}" if numbers else "a person"


def _kind(change: Payload) -> str:
    return str(change.get("memory_type") or "")


def _mapping(value: object) -> Payload:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


_WITHDREW = Saying(did="withdrew", thing="a proposal")
_PLAIN = {
    "proposal.rebased": Saying(did="rebased", thing="a proposal"),
    "agent.created": Saying(did="introduced", agent=ITSELF),
    "agent.owner_changed": Saying(did="changed the owner of", agent=ITSELF),
    "agent.paused": Saying(did="paused", agent=ITSELF),
    "agent.resumed": Saying(did="ended the pause of", agent=ITSELF),
    "agent.switched_on": Saying(did="switched on", agent=ITSELF),
    "agent.switched_off": Saying(did="switched off", agent=ITSELF),
}
_TOLD: dict[str, Callable[[Payload, Sequence[str]], Saying]] = {
    "memories.expired": _expired,
    "proposal.approved": _approved,
    "proposal.rejected": _rejected,
    "proposal.withdrawn": _withdrew,
    "proposal.expired": _closed_itself,
    "decision.refused": _refused,
    "decision.undone": _undone,
    "agent.renamed": _renamed,
    "key.created": _key_made,
    "key.revoked": _key_revoked,
    "site.restored": _restored,
    "user.created": _user_made,
    "user.role_changed": _role,
    "user.limits_changed": _limits,
    "user.switched_on": _about_user("switched on the account"),
    "user.switched_off": _about_user("switched off the account"),
    "user.password_changed": _about_user("set the password of"),
}
