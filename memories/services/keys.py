"""Keys: made, shown once, revoked; and the key behind a text."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from hmac import compare_digest
from uuid import UUID

from django.db import DatabaseError, IntegrityError
from django.utils import timezone

from memories import audit
from memories.actors import Actor
from memories.errors import Impossible, KeyAlreadyMade
from memories.ids import new_id
from memories.models import Agent, ApiKey, User
from memories.services.agents import check_name, create_agent, event_about
from memories.writing import writing

KEY_LENGTH = 13 + 1 + 43  # prefix, separator, 32 random bytes in base64url
USED_EVERY = timedelta(minutes=1)


def introduce_agent(
    agent_id: str,
    *,
    name: str = "",
    owner: User | None = None,
    scopes: Sequence[str] = ApiKey.OFFERED,
    key_id: UUID | None = None,
    actor: Actor,
) -> tuple[Agent, ApiKey, str]:
    """A new agent with its first key, as ``create_agent`` and ``create_key`` make them;
    both or neither."""
    with writing():
        _require_new(key_id)
        agent = create_agent(agent_id, name=name, owner=owner, actor=actor)
        key, text = create_key(agent, actor=actor, scopes=scopes, key_id=key_id)
    return agent, key, text


def create_key(
    agent: Agent,
    *,
    actor: Actor,
    scopes: Sequence[str] = ApiKey.OFFERED,
    name: str = "",
    expires_at: datetime | None = None,
    key_id: UUID | None = None,
    is_demo: bool = False,
) -> tuple[ApiKey, str]:
    """The key's row and its secret text, which is shown once and kept nowhere.

    With a ``key_id`` that was used before it raises ``KeyAlreadyMade``, so a form that is
    sent twice makes one key. Raises ``Impossible`` for an unknown scope and for a name
    that is too long.
    """
    unknown = sorted(set(scopes) - set(ApiKey.SCOPES))
    if unknown:
        known = ", ".join(ApiKey.OFFERED)
        raise Impossible(
            f"There is no scope {unknown[0]!r}; the scopes are {known}.", pointer="/scopes"
        )
    check_name(name)
    prefix = f"amps_{secrets.token_hex(4)}"
    text = f"{prefix}_{secrets.token_urlsafe(32)}"
    try:
        with writing():
            _require_new(key_id)
            key = ApiKey.objects.create(
                pk=key_id or new_id(),
                agent=agent,
                prefix=prefix,
                digest=_digest(text),
                scopes=[scope for scope in ApiKey.SCOPES if scope in scopes],
                name=name,
                expires_at=expires_at,
                is_demo=is_demo,
            )
            details = {
                "prefix": prefix,
                "name": name,
                "scopes": key.scopes,
                "expires_at": expires_at,
            }
            audit.append(
                [event_about(agent, "key.created", actor, details, key_prefix=prefix)]
            )
    except IntegrityError:  # the same form at the same moment
        _require_new(key_id)
        raise
    return key, text


def revoke_key(key: ApiKey, *, actor: Actor) -> None:
    """Takes effect with the next request; revoking twice changes nothing."""
    with writing():
        locked = ApiKey.objects.select_for_update(of=("self",)).get(pk=key.pk)
        if locked.revoked_at is None:
            locked.revoked_at = timezone.now()
            locked.save(update_fields=["revoked_at"])
            audit.append(
                [event_about(key.agent, "key.revoked", actor, {}, key_prefix=key.prefix)]
            )


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


def _require_new(key_id: UUID | None) -> None:
    if key_id is not None and ApiKey.objects.filter(pk=key_id).exists():
        raise KeyAlreadyMade(
            "This form has made its key already. A key is shown only once, so it cannot be "
            "shown again: if nobody has it, revoke it and make another."
        )


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()
