"""What people may ask the audit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from itertools import groupby
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.http import QueryDict

from approvals.audit_sentences import ACTIONS
from memories.models import Agent, User

SITE = "site"
KINDS = {
    "user": "any person",
    "agent": "any agent",
    "policy": "a policy",
    "system": "Ampsite",
}
LAST_DAY = date(9999, 12, 30)  # the day after it is still one of the calendar
_KEY = re.compile(r"(amps_[0-9a-f]{8})(_.*)?")
_ACTOR = re.compile(r"(user|agent|policy|system)(:[\w-]{1,64})?")
_REFERENCE = re.compile(r"(proposal|memory|agent|key|user):(\S{1,64})")


class AuditForm(forms.Form):
    """Which entries are shown. Lives in the address, so a view can be shared."""

    agent = forms.ChoiceField(required=False)
    action = forms.ChoiceField(required=False)
    actor = forms.CharField(required=False, max_length=80)
    name = forms.CharField(
        label="By whom",
        required=False,
        max_length=100,
        widget=forms.TextInput(attrs={"type": "search"}),
    )
    object = forms.CharField(
        label="About",
        required=False,
        max_length=100,
        widget=forms.TextInput(attrs={"placeholder": "id of a proposal, memory or key"}),
    )
    since = forms.DateField(
        label="From", required=False, widget=forms.DateInput(attrs={"type": "date"})
    )
    until = forms.DateField(
        label="To", required=False, widget=forms.DateInput(attrs={"type": "date"})
    )

    def __init__(self, data: QueryDict, *, user: User) -> None:
        super().__init__(data, auto_id="filter-%s", label_suffix="")
        agents = Agent.objects.visible_to(user).order_by("agent_id")
        site = [(SITE, "none: the site's own")] if user.all_agents else []
        named = [
            (str(pk), agent_id) for pk, agent_id in agents.values_list("pk", "agent_id")
        ]
        self._choose("agent", [("", "any"), *site, *named])
        self._choose("action", [("", "any"), *_actions()])
        self.fields["actor"].widget = forms.Select(choices=self._actors(user))

    def clean_actor(self) -> str:
        actor: str = self.cleaned_data["actor"]
        if actor and not _ACTOR.fullmatch(actor):
            raise forms.ValidationError("Choose one of the list.")
        return actor

    def clean_object(self) -> tuple[str, ...]:
        """The references it may mean: a bare id can be a proposal's or a memory's."""
        asked = self.cleaned_data["object"].strip()
        if not asked:
            return ()
        if key := _KEY.fullmatch(asked):
            return (f"key:{key[1]}",)
        if reference := _REFERENCE.fullmatch(asked):
            kind, name = reference.groups()
            if kind in {"key", "user"}:
                return (f"{kind}:{name}",)
            return (f"{kind}:{_uuid(name)}",)
        return tuple(f"{kind}:{_uuid(asked)}" for kind in ("proposal", "memory"))

    def clean(self) -> dict[str, Any]:
        wanted = super().clean() or {}
        since, until = wanted.get("since"), wanted.get("until")
        if since and until and until < since:
            self.add_error("until", "This is before the day in From. Choose a later one.")
        return wanted

    @property
    def start(self) -> datetime | None:
        """The beginning of the first day, UTC."""
        day: date | None = self.cleaned_data["since"]
        return datetime.combine(day, time(), UTC) if day else None

    @property
    def end(self) -> datetime | None:
        """The instant after the last day, UTC."""
        day: date | None = self.cleaned_data["until"]
        following = min(day, LAST_DAY) + timedelta(days=1) if day else None
        return datetime.combine(following, time(), UTC) if following else None

    @property
    def query(self) -> str:
        """The filter as a query string, "" when nothing is filtered."""
        names = [name for name in self.fields if self.data.get(name)]
        return urlencode([(name, self.data[name]) for name in names])

    def _choose(self, name: str, choices: list[Any]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = choices

    def _actors(self, user: User) -> list[tuple[str, Any]]:
        """Everybody, for those who see everything; who else there is names no list."""
        people = User.objects.order_by("username")
        people = people if user.all_agents else people.filter(pk=user.pk)
        named = [(f"user:{one.pk}", one.get_username()) for one in people]
        choices = [("", "anybody"), *KINDS.items(), ("people", named)]
        asked = self.data.get("actor", "")
        known = {value for value, _ in (*choices, *named)}
        if asked not in known and _ACTOR.fullmatch(asked):
            choices.append((asked, asked))
        return choices


def _actions() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    for about, actions in groupby(ACTIONS, lambda action: action.partition(".")[0]):
        named = [(one, one.replace(".", " ").replace("_", " ")) for one in actions]
        yield about, named


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise forms.ValidationError(
            "This is no id. Give that of a proposal or memory (36 characters), or the "
            "beginning of a key (amps_ and 8 characters)."
        ) from None
