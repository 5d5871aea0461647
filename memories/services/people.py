"""People: made, limited, signed in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

from django.conf import settings
from django.db import IntegrityError
from django.utils import timezone

from memories import audit
from memories.actors import Actor
from memories.errors import Impossible
from memories.models import Agent, LoginFailure, User
from memories.text import normalize
from memories.writing import writing


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

    Raises ``Impossible`` when the name is taken or an agent is unknown. The password is
    taken as given: who judges it is the edge that asked for it.
    """
    if role not in User.Role.values:
        raise Impossible(f"There is no role {role!r}.", pointer="/role")
    limited = _agents(agents or ())
    is_admin = role == User.Role.ADMIN
    user = User(
        username=User.normalize_username(username),
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


def change_password(user: User, password: str, *, actor: Actor) -> None:
    """Sets an already judged password; other sessions of the user end by it."""
    user.set_password(password)
    with writing():
        user.save(update_fields=["password", "has_first_password"])
        audit.append([_event("user.password_changed", user, actor, {})])


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


def _counted(username: str) -> str:
    """One spelling for all that a sign-in takes for the same name, and some more."""
    return normalize(username.strip()[:1_000]).strip()[:150].casefold()


def _window() -> timedelta:
    return timedelta(seconds=settings.LOGIN_FAILURE_WINDOW_SECONDS)


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
