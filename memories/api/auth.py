"""Who is asking: a key, and nothing but a key. A session cookie opens no door here."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from memories import services
from memories.errors import NotAllowed
from memories.models import ApiKey

if TYPE_CHECKING:  # the framework's views import this module by its name in the settings
    from rest_framework.views import APIView

SCHEMES = ("bearer", "api-key")


class KeyAuthentication(BaseAuthentication):
    """Sets ``request.auth`` to the ``ApiKey``, with its agent; ``request.user`` stays None."""

    def authenticate(self, request: Request) -> tuple[None, ApiKey] | None:
        shown = shown_keys(request._request)
        if not shown:
            return None
        key = services.authenticate(shown.pop()) if len(shown) == 1 else None
        if key is None:
            raise AuthenticationFailed(
                "The key is unknown, revoked or expired, or its agent is switched off.",
                code="bad_key",
            )
        return None, key

    def authenticate_header(self, _request: Request) -> str:
        return 'Bearer realm="ampsite"'


class HasKey(BasePermission):
    def has_permission(self, request: Request, _view: APIView) -> bool:
        return isinstance(request.auth, ApiKey)


def shown_keys(request: HttpRequest) -> set[str]:
    """The secret texts a request carries; two different ones are as good as none."""
    scheme, _, text = request.headers.get("Authorization", "").partition(" ")
    shown = {request.headers.get("X-API-Key", "").strip()}
    if scheme.lower() in SCHEMES:
        shown.add(text.strip())
    return shown - {""}


def key_of(request: Request) -> ApiKey:
    """The key of a request that ``HasKey`` let in."""
    return cast(ApiKey, request.auth)


def require_scope(key: ApiKey, scope: str) -> None:
    """Raises ``NotAllowed``."""
    if scope not in key.scopes:
        raise NotAllowed(f"This key lacks the scope {scope!r}.", code="missing_scope")


def require_own(key: ApiKey, agent_id: str | None) -> None:
    """Raises ``NotAllowed`` when another agent is named; None means the key's own."""
    if agent_id is not None and agent_id != key.agent.agent_id:
        raise NotAllowed(
            f"This key belongs to the agent {key.agent.agent_id!r}; leave agent_id out or "
            "send that.",
            code="wrong_agent",
        )
