"""What is asked of the audit, as what an index finds and what has to be looked at."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Q

from approvals.audit_forms import SITE, AuditForm
from approvals.conditions import fits
from approvals.models import Proposal, ProposalTarget
from memories.models import Agent, ApiKey, AuditEntry, Memory, User
from memories.models.audit import AuditEntryQuerySet

MOST_PROPOSALS = 1_000  # of one memory
# Writers date an entry just before they wait for its chain, so that dates may be a little
# out of the order in which entries are written.
SLACK = 1_000  # entries
EARLIER = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a reference is about: a condition, and the agent and instant that narrow it."""

    condition: Q
    is_indexed: bool = False
    agent: UUID | None = None
    is_site: bool = False
    since: datetime | None = None


def ask(user: User, form: AuditForm) -> tuple[AuditEntryQuerySet, Q]:
    """The entries that one index finds, and the condition that each has to meet besides;
    without such a condition all of them are meant."""
    rows = AuditEntry.objects.visible_to(user)
    wanted = form.cleaned_data
    indexed: list[Q] = []
    rest, start = Q(), form.start
    if wanted["object"]:
        found = _about(user, wanted["object"])
        if found is None:
            return rows.none(), Q()
        if found.is_indexed:
            indexed.append(found.condition)
        else:
            rest &= found.condition
        if found.agent or found.is_site:
            indexed.append(Q(agent=found.agent))
        start = max(filter(None, (start, found.since)), default=None)
    if wanted["agent"]:
        own = wanted["agent"] == SITE
        indexed.append(Q(agent=None if own else UUID(wanted["agent"])))
    if not indexed and not user.all_agents:
        indexed.append(Q())  # theirs are found by agent already
    kind, _, actor_id = wanted["actor"].partition(":")
    if actor_id:
        indexed.append(Q(actor_kind=kind, actor_id=actor_id))
    elif kind:
        rest &= Q(actor_kind=kind)
    if wanted["action"]:
        indexed.append(Q(action=wanted["action"]))
    if wanted["name"]:
        rest &= Q(actor_label__icontains=wanted["name"])
    for condition in indexed[1:]:
        rest &= condition
    return _between(rows.filter(*indexed[:1]), start, form.end), rest


def _between(
    rows: AuditEntryQuerySet, start: datetime | None, end: datetime | None
) -> AuditEntryQuerySet:
    """Bounds of the row ids as well: the pages go by these."""
    if start:
        after = AuditEntry.objects.filter(at__gte=start).order_by("at")
        first = after.values_list("pk", flat=True).first()
        if first is None:
            return rows.none()
        rows = rows.filter(fits(Q(at__gte=start)), pk__gte=first - SLACK)
    if end:
        before = AuditEntry.objects.filter(at__lt=end).order_by("-at")
        last = before.values_list("pk", flat=True).first()
        if last is None:
            return rows.none()
        rows = rows.filter(fits(Q(at__lt=end)), pk__lte=last + SLACK)
    return rows


def _about(user: User, references: tuple[str, ...]) -> Found | None:
    """The first of the references that names something this person may see."""
    for reference in references:
        kind, _, name = reference.partition(":")
        found = _FINDERS[kind](user, name)
        if found is not None:
            return found
    return None


def _proposal(user: User, name: str) -> Found | None:
    if not Proposal.objects.visible_to(user).filter(pk=name).exists():
        return None
    return Found(condition=Q(proposal_id=name), is_indexed=True)


def _memory(user: User, name: str) -> Found | None:
    """What was done to it, and what became of every proposal about it."""
    memory = Memory.objects.visible_to(user).filter(pk=name).only("agent", "created_at")
    one = memory.first()
    if one is None:
        return None
    targeted = ProposalTarget.objects.filter(memory=one).values_list(
        "proposal_id", flat=True
    )
    made = Proposal.objects.filter(op__in=["remember", "merge"], memory_id=one.pk)
    proposals = [*targeted[:MOST_PROPOSALS], *made.values_list("pk", flat=True)]
    since = min([one.created_at, *made.values_list("created_at", flat=True)])
    return Found(
        condition=Q(objects_json__contains=f'"memory:{name}"')
        | Q(proposal_id__in=proposals),
        agent=one.agent_id,
        since=since - EARLIER,
    )


def _key(user: User, name: str) -> Found | None:
    agents = Agent.objects.visible_to(user)
    key = ApiKey.objects.filter(prefix=name, agent__in=agents).first()
    if key is None:
        return None
    return Found(
        condition=Q(objects_json__contains=f'"key:{name}"'),
        agent=key.agent_id,
        since=key.created_at - EARLIER,
    )


def _agent(user: User, name: str) -> Found | None:
    if not Agent.objects.visible_to(user).filter(pk=name).exists():
        return None
    return Found(condition=Q(agent=name), is_indexed=True)


def _user(user: User, name: str) -> Found | None:
    if not user.all_agents:
        return None
    return Found(condition=Q(objects_json__contains=f'"user:{name}"'), is_site=True)


_FINDERS = {
    "proposal": _proposal,
    "memory": _memory,
    "key": _key,
    "agent": _agent,
    "user": _user,
}
