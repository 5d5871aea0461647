"""People: made, limited, signed in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.db.models import Q, QuerySet
from django.utils import timezone

from memories import audit
from memories.actors import Actor
from memories.errors import Impossible, NotAllowed
from memories.models import Agent, LoginFailure, User
from memories.text import normalize
from memories.writing import writing


def refusal_to_manage_people(user: User) -> NotAllowed | None:
    """Why this person makes and changes no other people, or None. An admin who is limited
    to some agents could widen that limit, or meet people of agents that are hidden."""
    if user.manages_all:
        return None
    return NotAllowed(
        "Only admins of all agents manage people; your account does not.",
        code="role_cannot_manage",
    )


def refusal_to_edit(
    person: User, *, role: str, all_agents: bool, is_active: bool, actor: Actor
) -> NotAllowed | None:
    """Why the person cannot become this, or None: nobody takes away the own access, and
    somebody is left who can give it back."""
    stays = role == User.Role.ADMIN and all_agents and is_active
    if stays or not person.manages_all:
        return None
    if actor.kind == "user" and actor.id == str(person.pk):
        return NotAllowed(
            "You cannot switch yourself off, limit yourself or give up your admin role; "
            "another admin does that.",
            code="not_yourself",
        )
    if not _admins_of_all().exclude(pk=person.pk).exists():
        return NotAllowed(
            f"{person.username} is the last active admin of all agents. Make another one "
            "first.",
            code="last_admin",
        )
    return None


def create_person(
    username: str,
    *,
    password: str,
    role: str,
    agents: Sequence[str] | None = None,
    has_first_password: bool = False,
    actor: Actor,
) -> User:
    """A person with a role; ``agents`` None means all of them, else the listed agent ids.
    ``has_first_password``: the first run made the password and writes it down.

    Raises ``Impossible`` when the name will not do or is taken, or an agent is unknown.
    The password is taken as given: who judges it is the edge that asked for it.
    """
    if role not in User.Role.values:
        raise Impossible(f"There is no role {role!r}.", pointer="/role")
    limited = _agents(agents or ())
    username = _name(username)
    is_admin = role == User.Role.ADMIN
    user = User(
        username=username,
        role=role,
        all_agents=agents is None,
        is_staff=is_admin,
        is_superuser=is_admin,
    )
    user.set_password(password)  # takes long on purpose, so before the lock
    user.has_first_password = has_first_password
    try:
        with writing():
            user.save(force_insert=True)
            user.agents.set(limited)
            payload = {"username": username, "role": role, "agents": agents}
            audit.append([_event("user.created", user, actor, payload)])
    except IntegrityError:
        raise Impossible(
            f"The user {username} exists already.", pointer="/username"
        ) from None
    return user


def edit_person(
    person: User,
    *,
    role: str,
    agents: Sequence[str] | None,
    is_active: bool,
    actor: Actor,
) -> None:
    """Give the person this role, these limits and this state; an audit entry for each that
    changes. ``agents`` None means all of them, else the listed agent ids.

    Raises ``Impossible`` for a role or an agent that is unknown, and ``NotAllowed`` where
    nobody, or not this actor, could give the access back. A session ends with the next
    request of a person who was switched off.
    """
    if role not in User.Role.values:
        raise Impossible(f"There is no role {role!r}.", pointer="/role")
    limited = _agents(agents or ())
    with writing():
        locked = _lock_with_admins(person)
        refusal = refusal_to_edit(
            locked, role=role, all_agents=agents is None, is_active=is_active, actor=actor
        )
        if refusal is not None:
            raise refusal
        events = [
            _event(action, locked, actor, {"username": locked.username, **payload})
            for action, payload in _differences(locked, role, agents, is_active)
        ]
        if events:
            locked.role, locked.is_active = role, is_active
            locked.is_staff = locked.is_superuser = role == User.Role.ADMIN
            locked.all_agents = agents is None
            locked.save(
                update_fields=[
                    "role",
                    "is_active",
                    "is_staff",
                    "is_superuser",
                    "all_agents",
                ]
            )
            locked.agents.set(limited)
            audit.append(events)


def change_password(user: User, password: str, *, actor: Actor) -> None:
    """Sets an already judged password; other sessions of the user end by it."""
    user.set_password(password)
    with writing():
        user.save(update_fields=["password", "has_first_password"])
        audit.append(
            [_event("user.password_changed", user, actor, {"username": user.username})]
        )


def note_login_failure(username: str, address: str) -> None:
    """Count a failed sign-in, and let go of those that no longer count."""
    with writing():
        LoginFailure.objects.filter(at__lt=timezone.now() - _window()).delete()
        LoginFailure.objects.create(username=_counted(username), address=address[:64])


def login_blocked(username: str, address: str) -> bool:
    """Whether this name or this address failed too often in the last minutes."""
    recent = LoginFailure.objects.filter(at__gte=timezone.now() - _window())
    by_name = recent.filter(username=_counted(username)).count()
    if by_name >= settings.LOGIN_FAILURES_PER_NAME:
        return True
    by_address = recent.filter(address=address[:64]).count()
    return by_address >= int(settings.LOGIN_FAILURES_PER_ADDRESS)


def _lock_with_admins(person: User) -> User:
    """The person as it is now, locked with every admin: two who demote each other at the
    same moment would leave none."""
    rows = User.objects.filter(Q(pk=person.pk) | Q(role=User.Role.ADMIN)).order_by("pk")
    return {row.pk: row for row in rows.select_for_update(of=("self",))}[person.pk]


def _admins_of_all() -> QuerySet[User]:
    return User.objects.filter(role=User.Role.ADMIN, is_active=True, all_agents=True)


def _differences(
    person: User, role: str, agents: Sequence[str] | None, is_active: bool
) -> Iterator[tuple[str, dict[str, object]]]:
    """The action and the payload of each thing that changes."""
    if person.role != role:
        yield "user.role_changed", {"from": person.role, "to": role}
    listed = sorted(person.agents.values_list("agent_id", flat=True))
    before = None if person.all_agents else listed
    after = None if agents is None else sorted(set(agents))
    if before != after:
        yield "user.limits_changed", {"from": before, "to": after}
    if person.is_active != is_active:
        yield "user.switched_on" if is_active else "user.switched_off", {}


def _counted(username: str) -> str:
    """One spelling for all that a sign-in takes for the same name, and some more."""
    return normalize(username.strip()[:1_000]).strip()[:150].casefold()


def _window() -> timedelta:
    return timedelta(seconds=settings.LOGIN_FAILURE_WINDOW_SECONDS)


def _name(username: str) -> str:
    """The name as it is kept. Raises ``Impossible``."""
    name = User.normalize_username(username)
    if not name:
        raise Impossible("The name is empty.", pointer="/username")
    try:
        User.username.field.run_validators(name)
    except ValidationError as error:
        raise Impossible(" ".join(error.messages), pointer="/username") from None
    return name


def _agents(agent_ids: Sequence[str]) -> list[Agent]:
    found = {
        agent.agent_id: agent for agent in Agent.objects.filter(agent_id__in=agent_ids)
    }
    for agent_id in agent_ids:
        if agent_id not in found:
            raise Impossible(f"There is no agent {agent_id}.", pointer="/agents")
    return list(found.values())


def _event(
    action: str, user: User, actor: Actor, payload: Mapping[str, object]
) -> audit.Event:
    return audit.Event(
        action=action,
        actor=actor,
        agent=None,
        objects=(f"user:{user.pk}",),
        payload=payload,
    )
