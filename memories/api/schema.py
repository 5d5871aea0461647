"""``GET /.well-known/amp-schema.json``: the schema every envelope is judged by."""

from __future__ import annotations

from django.http import HttpResponse
from rest_framework.request import Request

from memories.api.door import Door
from memories.schema import SCHEMA


class Schema(Door):
    authentication_classes = ()
    permission_classes = ()

    def get(self, _request: Request) -> HttpResponse:
        return HttpResponse(
            SCHEMA,
            content_type="application/schema+json",
            headers={"Cache-Control": "public, max-age=3600"},
        )
