"""What people may type: filters of the queue, edits, and reasons."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.http import QueryDict

from approvals.models import Decision, Proposal
from approvals.services import Edits, unix_lines
from memories.changes import Change, Expire, Merge, Remember, Revise
from memories.cursors import in_utc
from memories.models import Agent, MemoryType, User

ANY = ("", "any")
AGES = {
    "hour": ("over an hour", timedelta(hours=1)),
    "day": ("over a day", timedelta(days=1)),
    "week": ("over a week", timedelta(days=7)),
}
NEEDS_QUOTES = frozenset(',"\n\r')


class FilterForm(forms.Form):
    """Which proposals the queue shows. Lives in the address, so a view can be shared."""

    agent = forms.ModelChoiceField(
        queryset=Agent.objects.none(), required=False, empty_label="any"
    )
    op = forms.ChoiceField(
        label="Operation", choices=[ANY, *Proposal.Op.choices], required=False
    )
    type = forms.ChoiceField(choices=[ANY, *MemoryType.choices], required=False)
    status = forms.ChoiceField(
        choices=[("", "Pending"), *Proposal.Status.choices[1:], ("any", "Any status")],
        required=False,
    )
    age = forms.ChoiceField(
        choices=[ANY, *((name, label) for name, (label, _) in AGES.items())], required=False
    )
    q = forms.CharField(
        label="Text",
        required=False,
        max_length=200,
        widget=forms.TextInput(attrs={"type": "search"}),
    )

    def __init__(self, data: QueryDict, *, user: User) -> None:
        if data.get("status") == Proposal.Status.PENDING:  # as good as leaving it out
            data = data.copy()
            del data["status"]
        super().__init__(data, auto_id="filter-%s", label_suffix="")
        visible = Agent.objects.visible_to(user).order_by("agent_id")
        agents = self.fields["agent"]
        assert isinstance(agents, forms.ModelChoiceField)
        agents.queryset = visible

    @property
    def words(self) -> str:
        """What is filtered, in the words of the choices: "billing-bot, over a day"."""
        if not self.is_valid():
            return "not understood"
        chosen = [
            dict(getattr(self.fields[name], "choices", ())).get(value, value)
            for name, value in self.cleaned_data.items()
            if value and name != "agent"
        ]
        agent = self.cleaned_data["agent"]
        return ", ".join([agent.agent_id, *chosen] if agent else chosen)

    @property
    def query(self) -> str:
        """The filter as a query string, "" when nothing is filtered."""
        names = [name for name in self.fields if self.data.get(name)]
        return urlencode([(name, self.data[name]) for name in names])


class RejectForm(forms.Form):
    seen = forms.CharField(required=False)
    reason = forms.ChoiceField(choices=Decision.Reason.choices, required=False)
    comment = forms.CharField(
        required=False, max_length=4_000, widget=forms.Textarea(attrs={"rows": 1})
    )

    def clean_reason(self) -> str:
        return self.cleaned_data["reason"] or Decision.Reason.OTHER

    def clean_comment(self) -> str:
        return unix_lines(self.cleaned_data["comment"])


class UndoForm(forms.Form):
    """Names the decision: an old form must not undo a newer one of the same proposal."""

    decision = forms.IntegerField(min_value=1, max_value=2**63 - 1)

    def clean(self) -> dict[str, Any]:
        return {"pk": self.cleaned_data.get("decision")}


class MemoryIdsField(forms.TypedMultipleChoiceField):
    """Any ids: one that is no target any more is for ``seen`` and the service to judge."""

    def valid_value(self, value: object) -> bool:  # noqa: ARG002  (Django names it)
        return True


class ApproveForm(forms.Form):
    """What was posted with an approval: nothing but ``seen``, or an edit as well."""

    seen = forms.CharField(required=False)
    content = forms.CharField(required=False, strip=False)
    tags = forms.CharField(required=False, strip=False)
    expires_at = forms.DateTimeField(required=False)
    memory_ids = MemoryIdsField(required=False, coerce=UUID)

    def __init__(self, data: QueryDict, *, change: Change) -> None:
        super().__init__(data)
        self.change = change

    def clean_tags(self) -> tuple[str, ...]:
        try:
            return parse_tags(self.cleaned_data["tags"])
        except csv.Error as error:
            raise forms.ValidationError(f"These tags cannot be read: {error}.") from None

    def clean_expires_at(self) -> datetime | None:
        at: datetime | None = self.cleaned_data["expires_at"]
        try:
            return in_utc(at) if at else None
        except ValueError:
            raise forms.ValidationError("That instant is beyond the calendar.") from None

    def edits(self) -> Edits:
        """What was posted and differs from what the form had shown."""
        posted, change = self.data, self.change
        found: dict[str, Any] = {}
        if isinstance(change, Remember | Merge | Revise):
            if "content" in posted:
                found["content"] = self.cleaned_data["content"]
            if "tags" in posted and unix_lines(posted["tags"]) != format_tags(change.tags):
                found["tags"] = self.cleaned_data["tags"]
        elif isinstance(change, Expire):
            instant: datetime | None = self.cleaned_data["expires_at"]
            if instant and instant != shown_instant(change.expires_at):
                found["expires_at"] = instant
        # Without the mark a form without boxes would read as one with all unticked.
        if "memory_ids" in posted or "targets_shown" in posted:
            found["memory_ids"] = tuple(self.cleaned_data["memory_ids"])
        return Edits(**found)


def format_tags(tags: Sequence[str]) -> str:
    """Tags as a person edits them: ``tea, "black, no sugar"``, one line unless one has
    line ends of its own."""
    return ", ".join(_quoted(unix_lines(tag)) for tag in tags)


def parse_tags(text: str) -> tuple[str, ...]:
    """The tags of a text by ``format_tags``; a line end separates as a comma does.

    Raises ``csv.Error`` for a field larger than the csv module reads.
    """
    rows = csv.reader(StringIO(unix_lines(text), newline=""), skipinitialspace=True)
    cells = [cell for row in rows for cell in row]
    return tuple(dict.fromkeys(cell.strip() for cell in cells if cell.strip()))


def shown_instant(instant: datetime | None) -> datetime | None:
    """An instant as its input shows it: UTC, whole seconds."""
    return instant.astimezone(UTC).replace(microsecond=0) if instant else None


def _quoted(tag: str) -> str:
    plain = tag == tag.strip() and not NEEDS_QUOTES & set(tag)
    return tag if plain else '"' + tag.replace('"', '""') + '"'
