"""Keys: made and shown in one answer, never again; revoked in two steps.

The text of a key is in the answer to the POST that made it and nowhere else: not in the
session, not in a message, not in a redirect. The form carries the id of the key it will
make, so the same form sent again (a reload, a second click) makes no second one.
"""

from __future__ import annotations

from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods

from approvals.agent_forms import KeyForm, NewAgentForm, add_faults
from approvals.http import DeskRequest, signed_in
from approvals.views.agents import managed_agent
from memories import services
from memories.actors import Actor
from memories.errors import DomainError, KeyAlreadyMade
from memories.models import Agent, ApiKey


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
@sensitive_variables("text")
def new_agent(request: DeskRequest) -> HttpResponse:
    """An agent and its first key."""
    refusal = services.refusal_to_make_agents(request.user)
    if refusal:
        raise PermissionDenied(str(refusal))
    posted = request.POST if request.method == "POST" else None
    form = NewAgentForm(posted, user=request.user)
    if posted is None or not form.is_valid():
        return _form(request, "agents/new_agent.html", form)
    try:
        agent, key, text = services.introduce_agent(
            **form.cleaned_data, actor=Actor.of(request.user)
        )
    except KeyAlreadyMade as error:
        return _already_made(request, error)
    except DomainError as error:
        add_faults(form, error)
        return _form(request, "agents/new_agent.html", form)
    return _made(request, agent, key, text)


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
@sensitive_variables("text")
def create_key(request: DeskRequest, pk: UUID) -> HttpResponse:
    agent = managed_agent(request, pk)
    posted = request.POST if request.method == "POST" else None
    form = KeyForm(posted)
    if posted is None or not form.is_valid():
        return _form(request, "agents/create_key.html", form, agent=agent)
    try:
        key, text = services.create_key(
            agent,
            actor=Actor.of(request.user),
            scopes=form.cleaned_data["scopes"],
            name=form.cleaned_data["name"],
            expires_at=form.expires_at,
            key_id=form.cleaned_data["key_id"],
        )
    except KeyAlreadyMade as error:
        return _already_made(request, error, agent=agent)
    except DomainError as error:
        add_faults(form, error)
        return _form(request, "agents/create_key.html", form, agent=agent)
    return _made(request, agent, key, text)


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def revoke_key(request: DeskRequest, pk: UUID, key_pk: UUID) -> HttpResponse:
    """GET asks whether one is sure, POST revokes."""
    agent = managed_agent(request, pk)
    key = ApiKey.objects.filter(pk=key_pk, agent=agent).select_related("agent").first()
    if key is None:
        raise Http404("There is no such key.")
    if request.method != "POST":
        return render(request, "agents/revoke_key.html", {"agent": agent, "key": key})
    services.revoke_key(key, actor=Actor.of(request.user))
    messages.success(
        request, f"The key {key.prefix} is revoked: it answers 401 from now on."
    )
    return redirect("approvals:agent", agent.pk)


def _form(
    request: DeskRequest, template: str, form: forms.Form, *, agent: Agent | None = None
) -> HttpResponse:
    status = 422 if form.is_bound else 200
    return render(request, template, {"form": form, "agent": agent}, status=status)


@sensitive_variables("text")
def _made(request: DeskRequest, agent: Agent, key: ApiKey, text: str) -> HttpResponse:
    """The one page that ever shows the key; ``no_store`` keeps it out of every cache."""
    context = {
        "agent": agent,
        "key": key,
        "text": text,
        "base_url": settings.PUBLIC_URL or request.build_absolute_uri("/").rstrip("/"),
    }
    return render(request, "agents/key_made.html", context, status=201)


def _already_made(
    request: DeskRequest, error: KeyAlreadyMade, *, agent: Agent | None = None
) -> HttpResponse:
    context = {"agent": agent, "error": error}
    return render(request, "agents/key_not_shown.html", context, status=error.http_status)
