"""What people may type about agents and keys."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta

from django import forms
from django.http import QueryDict
from django.utils import timezone

from memories.errors import DomainError
from memories.ids import new_id
from memories.models import Agent, ApiKey, User
from memories.services import possible_owners
from memories.services.agents import MAX_NAME

LAST_DAY = date(9999, 12, 30)  # the day after it is still one of the calendar
OUT_OF_DATE = "This form is out of date. Open it again, then send it."

SCOPES = {
    "remember": "store memories, or propose them",
    "recall": "search and read memories",
    "forget": "forget memories, or propose it",
    "merge": "merge memories, or propose it",
    "expire": "set when memories end, or propose it",
}


class AgentFilterForm(forms.Form):
    """Which agents the list shows. Lives in the address."""

    q = forms.CharField(
        label="Id or name",
        required=False,
        max_length=200,
        widget=forms.TextInput(attrs={"type": "search"}),
    )
    state = forms.ChoiceField(
        choices=[("", "any"), ("on", "on"), ("paused", "paused"), ("off", "switched off")],
        required=False,
    )

    def __init__(self, data: QueryDict) -> None:
        super().__init__(data, auto_id="filter-%s", label_suffix="")


class AgentForm(forms.Form):
    """What an agent is called and who owns it."""

    name = forms.CharField(required=False, max_length=MAX_NAME)

    def __init__(
        self, data: QueryDict | None = None, *, user: User, agent: Agent | None = None
    ) -> None:
        shown = {"name": agent.name, "owner": agent.owner} if agent else {}
        super().__init__(data, initial=shown, label_suffix="")
        self.fields["owner"] = forms.ModelChoiceField(
            possible_owners(agent, chooser=user), required=False, empty_label="nobody"
        )


class SwitchForm(forms.Form):
    """``to`` is what shall be, not "the other": pressed twice it is the same."""

    to = forms.ChoiceField(choices=[("on", "on"), ("off", "off")])


class _ScopesForm(forms.Form):
    """What every form that makes a key begins with. ``key_id`` is new each time the form is
    shown: one that is sent twice makes one key."""

    key_id = forms.UUIDField(
        widget=forms.HiddenInput,
        initial=new_id,
        error_messages={"required": OUT_OF_DATE, "invalid": OUT_OF_DATE},
    )
    scopes = forms.MultipleChoiceField(
        choices=[(scope, scope) for scope in ApiKey.OFFERED],
        initial=list(ApiKey.OFFERED),
        widget=forms.CheckboxSelectMultiple,
        error_messages={
            "required": "Tick at least one: without any the key opens nothing."
        },
    )

    def ticks(self) -> Iterator[tuple[forms.boundfield.BoundWidget, str]]:
        """Each box with what it opens."""
        for box in self["scopes"]:
            yield box, SCOPES[str(box.data["value"])]


class KeyForm(_ScopesForm):
    name = forms.CharField(required=False, max_length=MAX_NAME)
    last_day = forms.DateField(
        required=False, widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    )

    def clean_last_day(self) -> date | None:
        day: date | None = self.cleaned_data["last_day"]
        if day and not timezone.now().date() <= day <= LAST_DAY:
            raise forms.ValidationError("Choose today or a later day, or leave it empty.")
        return day

    @property
    def expires_at(self) -> datetime | None:
        """The end of the last day, UTC."""
        day: date | None = self.cleaned_data["last_day"]
        return datetime.combine(day + timedelta(days=1), time(), UTC) if day else None


class NewAgentForm(_ScopesForm, AgentForm):
    agent_id = forms.CharField(max_length=255)


def add_faults(form: forms.Form, error: DomainError) -> None:
    """Each fault of the error to the field it is about."""
    for fault in error.faults:
        name = fault.pointer.removeprefix("/")
        form.add_error(name if name in form.fields else None, fault.message)
