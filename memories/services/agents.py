"""Agents and their keys: made, shown once, revoked."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from hmac import compare_digest
from re import fullmatch

from django.db import DatabaseError, IntegrityError
from django.utils import timezone

from memories import audit
from memories.actors import Actor
from memories.errors import Impossible
from memories.models import Agent, ApiKey, User
from memories.models.agents import AGENT_ID_PATTERN
from memories.writing import writing

KEY_LENGTH = 13 + 1 + 43  # prefix, separator, 32 random bytes in base64url
MAX_NAME = 255  # characters
USED_EVERY = timedelta(minutes=1)


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
    if len(name) > MAX_NAME:
        raise Impossible(
            f"The name has {len(name):,} characters; {MAX_NAME} are the most.",
            pointer="/name",
        )
    try:
        with writing():
            agent = Agent.objects.create(agent_id=agent_id, name=name, owner=owner)
            details = {"agent_id": agent_id, "name": name, "owner": owner and owner.pk}
            audit.append(
                [_event("agent.created", agent, actor, f"agent:{agent.pk}", details)]
            )
    except IntegrityError:
        raise Impossible(
            f"The agent {agent_id} exists already.", pointer="/agent_id"
        ) from None
    return agent


def create_key(
    agent: Agent,
    *,
    actor: Actor,
    scopes: Sequence[str] = ApiKey.SCOPES,
    name: str = "",
    expires_at: datetime | None = None,
) -> tuple[ApiKey, str]:
    """The key's row and its secret text, which is shown once and kept nowhere."""
    unknown = sorted(set(scopes) - set(ApiKey.SCOPES))
    if unknown:
        known = ", ".join(ApiKey.SCOPES)
        raise Impossible(
            f"There is no scope {unknown[0]!r}; the scopes are {known}.", pointer="/scopes"
        )
    prefix = f"amps_{secrets.token_hex(4)}"
    text = f"{prefix}_{secrets.token_urlsafe(32)}"
    with writing():
        key = ApiKey.objects.create(
            agent=agent,
            prefix=prefix,
            digest=_digest(text),
            scopes=[scope for scope in ApiKey.SCOPES if scope in scopes],
            name=name,
            expires_at=expires_at,
        )
        details = {"prefix": prefix, "scopes": key.scopes, "expires_at": expires_at}
        audit.append([_event("key.created", agent, actor, f"key:{prefix}", details)])
    return key, text


def revoke_key(key: ApiKey, *, actor: Actor) -> None:
    """Takes effect with the next request; revoking twice changes nothing."""
    with writing():
        locked = ApiKey.objects.select_for_update(of=("self",)).get(pk=key.pk)
        if locked.revoked_at is None:
            locked.revoked_at = timezone.now()
            locked.save(update_fields=["revoked_at"])
            audit.append([_event("key.revoked", key.agent, actor, f"key:{key.prefix}", {})])


def set_paused(agent: Agent, paused: bool, *, actor: Actor) -> None:
    """While paused, every change of the agent waits for a person."""
    _switch(
        agent, "is_paused", paused, "agent.paused" if paused else "agent.resumed", actor
    )


def set_active(agent: Agent, active: bool, *, actor: Actor) -> None:
    """A switched-off agent's keys open nothing; its proposals can only be rejected."""
    action = "agent.switched_on" if active else "agent.switched_off"
    _switch(agent, "is_active", active, action, actor)


def authenticate(text: str) -> ApiKey | None:
    """The usable key with this secret text, with its agent, or None.

    Notes the use at most once a minute; a failure to note it fails no request.
    """
    if len(text) != KEY_LENGTH or not text.startswith("amps_") or not text.isascii():
        return None
    now = timezone.now()
    usable = ApiKey.objects.usable(now).select_related("agent")
    key = usable.filter(prefix=text[:13]).first()
    if key is None or not compare_digest(key.digest, _digest(text)):
        return None
    if key.last_used_at is None or now - key.last_used_at > USED_EVERY:
        _note_use(key, now)
    return key


def _note_use(key: ApiKey, now: datetime) -> None:
    try:
        with writing():
            ApiKey.objects.filter(pk=key.pk).update(last_used_at=now)
    except DatabaseError:
        return  # the request matters more than its time stamp


def _switch(agent: Agent, field: str, value: bool, action: str, actor: Actor) -> None:
    with writing():
        changed = Agent.objects.filter(pk=agent.pk, **{field: not value}).update(
            **{field: value}
        )
        if changed:
            audit.append([_event(action, agent, actor, f"agent:{agent.pk}", {})])
    setattr(agent, field, value)


def _event(
    action: str, agent: Agent, actor: Actor, about: str, payload: Mapping[str, object]
) -> audit.Event:
    return audit.Event(
        action=action, actor=actor, agent=agent.pk, objects=(about,), payload=payload
    )


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()
