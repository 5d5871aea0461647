"""The admin pages of people and agents: what services change, each change audited."""

# ruff: noqa: ARG002  (Django names the arguments)

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.contrib.auth.forms import SetPasswordForm
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.decorators import method_decorator
from django.views.decorators.debug import sensitive_post_parameters

from memories.actors import Actor
from memories.admin_forms import AgentForm, NewPersonForm, PersonForm
from memories.admin_pages import Written, text
from memories.models import Agent, User
from memories.services import (
    change_password,
    create_person,
    edit_agent,
    edit_person,
    refusal_to_manage,
    refusal_to_manage_people,
    set_active,
    set_paused,
)
from memories.writing import writing


@admin.register(Agent)
class AgentAdmin(Written):
    """Made, with a first key, on the Agents page; switched off, never deleted."""

    agent_path = ""
    form = AgentForm
    list_display = (
        "agent_id",
        text("name"),
        "owner",
        "is_active",
        "is_paused",
        "created_at",
    )
    list_filter = ("is_active", "is_paused")
    list_select_related = ("owner",)
    search_fields = ("id", "agent_id", "name")
    search_help_text = "The whole id or the whole name of an agent."
    fields = ("agent_id", "name", "owner", "is_active", "is_paused", "created_at")
    readonly_fields = ("agent_id", "created_at")
    ordering = ("agent_id",)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return refusal_to_manage(self.person(request)) is None

    def write(self, request: HttpRequest, row: Any, form: Any, *, is_new: bool) -> None:
        actor, wanted = Actor.of(self.person(request)), form.cleaned_data
        agent = Agent.objects.get(pk=row.pk)
        with writing():
            edit_agent(agent, name=wanted["name"], owner=wanted["owner"], actor=actor)
            set_paused(agent, wanted["is_paused"], actor=actor)
            set_active(agent, wanted["is_active"], actor=actor)

    def about(self, row: Any) -> str:
        return f"agent:{row.pk}"


@admin.register(User)
class PersonAdmin(Written):
    """Only for admins of all agents: others could widen their own limits."""

    form = PersonForm
    list_display = ("username", "role", "is_active", "all_agents", "last_login")
    list_filter = ("role", "is_active", "all_agents")
    search_fields = ("username",)
    search_help_text = "The whole name of a person."
    fields = ("username", "role", "all_agents", "agents", "is_active")
    ordering = ("username",)
    change_form_template = "admin/memories/user/change_form.html"

    def has_module_permission(self, request: HttpRequest) -> bool:
        return refusal_to_manage_people(self.person(request)) is None

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_module_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_module_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self.has_module_permission(request)

    def visible(self, rows: QuerySet[Any], person: User) -> QuerySet[Any]:
        return rows if refusal_to_manage_people(person) is None else rows.none()

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return ("username",) if obj else ()

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        passwords = () if obj else ("password1", "password2")
        return (
            self.fields[0],
            *passwords,
            *self.fields[1:-1],
            *self.fields[-1:][: bool(obj)],
        )

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> Any:
        if obj is None:
            kwargs["form"] = NewPersonForm
        return super().get_form(request, obj, change, **kwargs)

    def write(self, request: HttpRequest, row: Any, form: Any, *, is_new: bool) -> None:
        actor, wanted = Actor.of(self.person(request)), form.cleaned_data
        if not is_new:
            edit_person(
                row,
                role=wanted["role"],
                agents=form.limits,
                is_active=wanted["is_active"],
                actor=actor,
            )
            return
        made = create_person(
            wanted["username"],
            password=wanted["password1"],
            role=wanted["role"],
            agents=form.limits,
            actor=actor,
        )
        row.pk = made.pk

    def about(self, row: Any) -> str:
        return f"user:{row.pk}"

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.password_view)
        one = path("<int:object_id>/password/", view, name="memories_user_password")
        return [one, *super().get_urls()]

    @method_decorator(sensitive_post_parameters())
    def password_view(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """A new password for somebody else; their sessions end by it."""
        if not self.has_change_permission(request):
            raise PermissionDenied("Only admins of all agents manage people.")
        person = self.get_object(request, str(object_id))
        if person == request.user:
            return redirect("approvals:password")  # which asks for the old one
        form = SetPasswordForm(person, request.POST if request.method == "POST" else None)
        if form.is_valid():
            actor = Actor.of(self.person(request))
            change_password(person, form.cleaned_data["new_password1"], actor=actor)
            messages.success(request, f"{person.username} has a new password.")
            return redirect(reverse("admin:memories_user_change", args=[person.pk]))
        context = {
            **self.admin_site.each_context(request),
            "title": f"New password for {person.username}",
            "opts": self.opts,
            "original": person,
            "form": form,
        }
        status = 422 if form.is_bound else 200
        page = "admin/memories/user/password.html"
        return TemplateResponse(request, page, context, status=status)
