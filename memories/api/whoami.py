"""``GET /api/v1/whoami``: what a key is, may do, and must keep within."""

from __future__ import annotations

from django.conf import settings
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.auth import key_of
from memories.api.door import Door, instant
from memories.api.waiting import LONGEST_SECONDS
from memories.schema import VERSION


class WhoAmI(Door):
    def get(self, request: Request) -> Response:
        key = key_of(request)
        return Response(
            {
                "agent": {"agent_id": key.agent.agent_id, "name": key.agent.name},
                "key": {
                    "prefix": key.prefix,
                    "expires_at": key.expires_at and instant(key.expires_at),
                },
                "scopes": key.scopes,
                "limits": {
                    "body_bytes": settings.MAX_BODY_BYTES,
                    "content_characters": settings.MAX_CONTENT_CHARACTERS,
                    "tags": settings.MAX_TAGS,
                    "tag_characters": settings.MAX_TAG_CHARACTERS,
                    "metadata_bytes": settings.MAX_METADATA_BYTES,
                    "memory_ids": settings.MAX_MEMORY_IDS,
                    "pending_proposals": settings.MAX_PENDING_PER_AGENT,
                    "wait_seconds": LONGEST_SECONDS,
                },
                "versions": {"amp": [VERSION], "api": "v1"},
            }
        )
