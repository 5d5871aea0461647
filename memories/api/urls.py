"""The API's addresses, each with and without its trailing slash."""

from __future__ import annotations

from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.urls import re_path
from django.views.decorators.csrf import csrf_exempt

from memories.api.amp import Amp
from memories.api.door import door
from memories.api.problems import not_found
from memories.api.proposals import Approve, Proposal, Proposals, Reject
from memories.api.schema import Schema
from memories.api.whoami import WhoAmI


@csrf_exempt  # it reads no cookie and changes nothing: 404 for every method
def nothing_here(request: HttpRequest) -> HttpResponseBase:
    """Before any key is asked for: there is nothing to protect."""
    return not_found(request, Http404())


urlpatterns = [
    door(".well-known/amp-schema.json", Schema, "amp-schema"),
    door("api/v1/amp", Amp, "amp"),
    door("api/v1/whoami", WhoAmI, "whoami"),
    door("api/v1/proposals", Proposals, "api-proposals"),
    door("api/v1/proposals/<id>", Proposal, "api-proposal"),
    door("api/v1/proposals/<id>/approve", Approve, "api-approve"),
    door("api/v1/proposals/<id>/reject", Reject, "api-reject"),
    re_path(r"\A(?:api|\.well-known)(?:/|\Z)", nothing_here),
]
