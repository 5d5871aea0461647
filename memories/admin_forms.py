"""What an admin types about people and agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib.admin.widgets import FilteredSelectMultiple
from django.contrib.auth.password_validation import validate_password
from django.utils.html import format_html
from django.utils.safestring import SafeString

from memories.actors import Actor
from memories.models import Agent, User
from memories.services import possible_owners, refusal_to_edit

if TYPE_CHECKING:
    PersonModelForm = forms.ModelForm[User]
    AgentModelForm = forms.ModelForm[Agent]
else:
    PersonModelForm = AgentModelForm = forms.ModelForm


class AgentsWidget(FilteredSelectMultiple):
    """In the frame that the admin gives to its own: its script sorts itself into it."""

    def render(self, *args: Any, **kwargs: Any) -> SafeString:
        frame = '<div class="related-widget-wrapper">{}</div>'
        return format_html(frame, super().render(*args, **kwargs))


class _Limited(PersonModelForm):
    """A role, and the agents it is about."""

    asked_by: User
    agents = forms.ModelMultipleChoiceField(
        Agent.objects.order_by("agent_id"),
        required=False,
        widget=AgentsWidget("agents", is_stacked=False),
        help_text="Counts only where “all agents” is not ticked. None chosen is none.",
    )

    @property
    def limits(self) -> list[str] | None:
        """The chosen agent ids, or None for all agents."""
        if self.cleaned_data["all_agents"]:
            return None
        return [agent.agent_id for agent in self.cleaned_data["agents"]]


class PersonForm(_Limited):
    class Meta:
        model = User
        fields = ("role", "all_agents", "agents", "is_active")
        help_texts = {"is_active": "Without it the person is logged out and cannot log in."}

    def clean(self) -> dict[str, Any]:
        wanted = super().clean() or {}
        if not self.errors:
            refusal = refusal_to_edit(
                User.objects.get(pk=self.instance.pk),
                role=wanted["role"],
                all_agents=wanted["all_agents"],
                is_active=wanted["is_active"],
                actor=Actor.of(self.asked_by),
            )
            if refusal is not None:
                raise forms.ValidationError(str(refusal))
        return wanted


class NewPersonForm(_Limited):
    password1 = forms.CharField(
        label="Password",
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="Tell it to the person, who can change it on the desk.",
    )
    password2 = forms.CharField(
        label="Password again",
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    class Meta:
        model = User
        fields = ("username", "role", "all_agents", "agents")

    def clean(self) -> dict[str, Any]:
        wanted = super().clean() or {}
        password = wanted.get("password1")
        if password is None or "password2" not in wanted:
            return wanted
        if password != wanted["password2"]:
            self.add_error("password2", "The two passwords differ. Type the same twice.")
            return wanted
        try:
            validate_password(password, User(username=wanted.get("username", "")))
        except forms.ValidationError as error:
            self.add_error("password1", error)
        return wanted


class AgentForm(AgentModelForm):
    asked_by: User
    owner = forms.ModelChoiceField(
        User.objects.none(),
        required=False,
        empty_label="nobody",
        help_text="Whoever owns an agent does not decide its proposals.",
    )

    class Meta:
        model = Agent
        fields = ("name", "owner", "is_active", "is_paused")
        help_texts = {
            "is_active": "Without it the agent's keys open nothing; what waits can be rejected."
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        owner = self.fields.get("owner")
        if isinstance(owner, forms.ModelChoiceField):
            owner.queryset = possible_owners(self.instance, chooser=self.asked_by)
