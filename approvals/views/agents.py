"""Agents: who they are, what is held of them, and what their admins may change."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from approvals.agent_forms import AgentFilterForm, AgentForm, SwitchForm, add_faults
from approvals.agent_pages import RECORD_DAYS, agent_page, agents_for
from approvals.http import DeskRequest, signed_in
from memories import services
from memories.actors import Actor
from memories.collections import building_progress
from memories.errors import DomainError
from memories.models import Agent

SAID = {
    ("pause", True): "{} is paused: every change waits for a person now.",
    ("pause", False): "{} is no longer paused: short-term memory is stored at once again.",
    ("switch", True): "{} is switched on again: its keys work.",
    ("switch", False): "{} is switched off: its keys are refused from now on.",
}


@require_safe
@signed_in
def agents(request: DeskRequest) -> HttpResponse:
    form = AgentFilterForm(request.GET)
    context = {
        "agents": agents_for(request.user, form, after=request.GET.get("after", "")),
        "form": form,
        "days": RECORD_DAYS,
        "can_make": services.refusal_to_make_agents(request.user) is None,
        # Its numbers are of every agent's memories.
        "building": building_progress() if request.user.manages_all else None,
    }
    status = 200 if form.is_valid() else 400
    return render(request, "agents/agents.html", context, status=status)


@require_safe
@signed_in
def agent(request: DeskRequest, pk: UUID) -> HttpResponse:
    context = {
        "page": agent_page(find_agent(request, pk), request.user),
        "days": RECORD_DAYS,
        "can_manage": services.refusal_to_manage(request.user) is None,
    }
    return render(request, "agents/agent.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def edit_agent(request: DeskRequest, pk: UUID) -> HttpResponse:
    """Its name and its owner."""
    agent = managed_agent(request, pk)
    posted = request.POST if request.method == "POST" else None
    form = AgentForm(posted, user=request.user, agent=agent)
    if posted is not None and form.is_valid():
        try:
            services.edit_agent(agent, **form.cleaned_data, actor=Actor.of(request.user))
        except DomainError as error:
            add_faults(form, error)
        else:
            messages.success(request, f"{agent.agent_id} is changed.")
            return redirect("approvals:agent", agent.pk)
    status = 200 if posted is None else 422
    context = {"agent": agent, "form": form}
    return render(request, "agents/edit_agent.html", context, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def pause_agent(request: DeskRequest, pk: UUID) -> HttpResponse:
    """``to=on`` pauses, ``to=off`` resumes."""
    return _turn(request, pk, "pause")


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def switch_agent(request: DeskRequest, pk: UUID) -> HttpResponse:
    """``to=off`` switches the agent off, ``to=on`` on again."""
    return _turn(request, pk, "switch")


def find_agent(request: DeskRequest, pk: UUID) -> Agent:
    """Raises ``Http404``, also for an agent the person may not see."""
    visible = Agent.objects.visible_to(request.user).select_related("owner")
    found = visible.filter(pk=pk).first()
    if found is None:
        raise Http404("There is no such agent.")
    return found


def managed_agent(request: DeskRequest, pk: UUID) -> Agent:
    """As ``find_agent``; raises ``PermissionDenied`` for who may only look."""
    agent = find_agent(request, pk)
    refusal = services.refusal_to_manage(request.user)
    if refusal:
        raise PermissionDenied(str(refusal))
    return agent


def _turn(request: DeskRequest, pk: UUID, what: str) -> HttpResponse:
    """Turn the pause or the agent itself on or off, and come back to its page."""
    if request.method != "POST":  # an address typed again, or the way back from a login
        return redirect("approvals:agent", find_agent(request, pk).pk)
    agent = managed_agent(request, pk)
    form = SwitchForm(request.POST)
    if not form.is_valid():
        messages.warning(request, "That form is out of date; nothing was changed.")
        return redirect("approvals:agent", agent.pk)
    turned_on = form.cleaned_data["to"] == "on"
    turn = services.set_paused if what == "pause" else services.set_active
    turn(agent, turned_on, actor=Actor.of(request.user))
    messages.success(request, SAID[what, turned_on].format(agent.agent_id))
    return redirect("approvals:agent", agent.pk)
