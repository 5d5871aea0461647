"""Agents: made, named, paused, switched off; and who may do so."""

from __future__ import annotations

from collections.abc import Mapping
from re import fullmatch

from django.db import IntegrityError
from django.db.models import Q, QuerySet

from memories import audit
from memories.actors import Actor
from memories.errors import Impossible, NotAllowed
from memories.models import Agent, User
from memories.models.agents import AGENT_ID_PATTERN
from memories.writing import writing

MAX_NAME = 255  # characters


def refusal_to_manage(user: User) -> NotAllowed | None:
    """Why this person changes no agent and makes no key, or None. Which agents somebody
    may see at all comes on top."""
    if user.manages:
        return None
    return NotAllowed(
        "Only admins manage agents and their keys; your role does not.",
        code="role_cannot_manage",
    )


def refusal_to_make_agents(user: User) -> NotAllowed | None:
    """Why this person makes no new agent, or None."""
    if user.manages and not user.all_agents:
        return NotAllowed(
            "You manage the agents that are listed for you; an admin of all agents makes "
            "new ones.",
            code="limited_to_agents",
        )
    return refusal_to_manage(user)


def create_agent(
    agent_id: str, *, name: str = "", owner: User | None = None, actor: Actor
) -> Agent:
    """Raises ``Impossible`` when the id is malformed or taken."""
    if not fullmatch(AGENT_ID_PATTERN, agent_id):
        raise Impossible(
            "An agent id is 1 to 255 of A-Z a-z 0-9 . _ - : @ /, and begins with a letter "
            "or digit.",
            pointer="/agent_id",
        )
    check_name(name)
    try:
        with writing():
            agent = Agent.objects.create(agent_id=agent_id, name=name, owner=owner)
            details = {"agent_id": agent_id, "name": name, "owner": owner and owner.pk}
            audit.append([event_about(agent, "agent.created", actor, details)])
    except IntegrityError:
        raise Impossible(
            f"The agent {agent_id} exists already.", pointer="/agent_id"
        ) from None
    return agent


def possible_owners(agent: Agent | None, *, chooser: User | None) -> QuerySet[User]:
    """Who may own the agent (None: a new one), by name: active people, and who owns it
    already. One who chooses without seeing every agent chooses among those who see this
    one: other names would say who there is. ``chooser`` None is the operator."""
    people = User.objects.filter(is_active=True)
    if agent and chooser and not chooser.all_agents:
        people = people.filter(Q(all_agents=True) | Q(pk__in=agent.people.values("pk")))
    owner = agent.owner_id if agent else None
    possible = Q(pk__in=people.values("pk")) | Q(pk=owner)
    return User.objects.filter(possible).order_by("username")


def edit_agent(agent: Agent, *, name: str, owner: User | None, actor: Actor) -> None:
    """Give the agent this name and this owner; an audit entry for each that changes.

    Raises ``Impossible`` for a name that is too long, and for a person who is none of the
    ``possible_owners``.
    """
    check_name(name)
    with writing():
        locked = Agent.objects.select_for_update(of=("self",)).get(pk=agent.pk)
        events = []
        if locked.name != name:
            renamed = {"from": locked.name, "to": name}
            events.append(event_about(agent, "agent.renamed", actor, renamed))
        if locked.owner_id != (owner and owner.pk):
            _require_possible(owner, locked, actor)
            moved = {"from": locked.owner_id, "to": owner and owner.pk}
            events.append(event_about(agent, "agent.owner_changed", actor, moved))
        if events:
            locked.name, locked.owner = name, owner
            locked.save(update_fields=["name", "owner"])
            audit.append(events)
    agent.name, agent.owner = name, owner


def _require_possible(owner: User | None, agent: Agent, actor: Actor) -> None:
    is_person = actor.kind == "user"
    chooser = User.objects.get(pk=actor.id) if is_person else None
    if owner and not possible_owners(agent, chooser=chooser).filter(pk=owner.pk).exists():
        raise Impossible("This person cannot own the agent.", pointer="/owner")


def set_paused(agent: Agent, paused: bool, *, actor: Actor) -> None:
    """While paused, every change of the agent waits for a person."""
    _switch(
        agent, "is_paused", paused, "agent.paused" if paused else "agent.resumed", actor
    )


def set_active(agent: Agent, active: bool, *, actor: Actor) -> None:
    """A switched-off agent's keys open nothing; its proposals can only be rejected."""
    action = "agent.switched_on" if active else "agent.switched_off"
    _switch(agent, "is_active", active, action, actor)


def check_name(name: str) -> None:
    if len(name) > MAX_NAME:
        raise Impossible(
            f"The name has {len(name):,} characters; {MAX_NAME} are the most.",
            pointer="/name",
        )


def _switch(agent: Agent, field: str, value: bool, action: str, actor: Actor) -> None:
    with writing():
        changed = Agent.objects.filter(pk=agent.pk, **{field: not value}).update(
            **{field: value}
        )
        if changed:
            audit.append([event_about(agent, action, actor, {})])
    setattr(agent, field, value)


def event_about(
    agent: Agent,
    action: str,
    actor: Actor,
    payload: Mapping[str, object],
    *,
    key_prefix: str = "",
) -> audit.Event:
    """An event of the agent's chain, about the agent itself or one of its keys."""
    return audit.Event(
        action=action,
        actor=actor,
        agent=agent.pk,
        objects=(f"key:{key_prefix}" if key_prefix else f"agent:{agent.pk}",),
        payload=payload,
    )
