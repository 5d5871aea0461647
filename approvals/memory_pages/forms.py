"""What people may type on the memories' pages."""

from __future__ import annotations

import csv
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.http import QueryDict

from approvals.forms import ANY, format_tags, parse_tags, shown_instant
from approvals.services import unix_lines
from memories.cursors import in_utc
from memories.models import Agent, Memory, MemoryType, User

MOST_HITS = ("20", "5", "100")  # the first is the default
STATES = [
    ("", "Live"),
    ("expires", "Live, with an end"),
    ("retired", "Retired"),
    ("forgotten", "Forgotten"),
    ("expired", "Expired"),
    ("any", "Any state"),
]


class MemoryFilterForm(forms.Form):
    """Which memories are listed, or searched. Lives in the address, so it can be shared."""

    q = forms.CharField(
        label="Search",
        required=False,
        max_length=1_000,
        widget=forms.TextInput(attrs={"type": "search"}),
    )
    agent = forms.ModelChoiceField(
        queryset=Agent.objects.none(), required=False, empty_label="any"
    )
    type = forms.ChoiceField(choices=[ANY, *MemoryType.choices], required=False)
    tag = forms.CharField(required=False, strip=False, max_length=1_000)
    state = forms.ChoiceField(choices=STATES, required=False)
    top = forms.ChoiceField(
        label="Hits", choices=[("", MOST_HITS[0]), *((n, n) for n in MOST_HITS[1:])],
        required=False,
    )  # fmt: skip

    def __init__(self, data: QueryDict, *, user: User) -> None:
        data = data.copy()
        if data.get("state") == Memory.State.LIVE:  # as good as leaving it out
            del data["state"]
        if data.get("top") == MOST_HITS[0]:
            del data["top"]
        super().__init__(data, auto_id="filter-%s", label_suffix="")
        agents = self.fields["agent"]
        assert isinstance(agents, forms.ModelChoiceField)
        agents.queryset = Agent.objects.visible_to(user).order_by("agent_id")

    @property
    def query(self) -> str:
        """The filter as a query string, "" when nothing is filtered."""
        names = [name for name in self.fields if self.data.get(name)]
        return urlencode([(name, self.data[name]) for name in names])

    @property
    def text(self) -> str:
        return str(self.cleaned_data["q"])

    @property
    def searches(self) -> bool:
        """Whether the index is asked: for a text, among what is live."""
        return bool(self.text and not self.cleaned_data["state"])

    @property
    def top_k(self) -> int:
        return int(self.cleaned_data["top"] or MOST_HITS[0])


class SeenForm(forms.Form):
    """A change of the memory as it was shown."""

    base_version = forms.IntegerField(min_value=1, max_value=2**31 - 1)
    approve = forms.BooleanField(required=False)


class ProposeForm(SeenForm):
    """Text, tags and expiry that a memory shall have; what was left alone is what it has."""

    content = forms.CharField(
        label="Text",
        strip=False,
        error_messages={"required": "The text is empty. To remove a memory, forget it."},
    )
    tags = forms.CharField(label="Tags", required=False, strip=False)
    expires_at = forms.DateTimeField(
        label="Expires at",
        required=False,
        error_messages={"invalid": "That is no instant; write it as 2030-01-31T12:00."},
    )

    def __init__(self, data: QueryDict | None, *, memory: Memory) -> None:
        super().__init__(data, initial=initial_of(memory))
        self.memory = memory

    def clean_tags(self) -> tuple[str, ...]:
        if unix_lines(self.cleaned_data["tags"]) == format_tags(self.memory.tags):
            return tuple(self.memory.tags)
        try:
            return parse_tags(self.cleaned_data["tags"])
        except csv.Error as error:
            raise forms.ValidationError(f"These tags cannot be read: {error}.") from None

    def clean_expires_at(self) -> datetime | None:
        at: datetime | None = self.cleaned_data["expires_at"]
        try:
            at = in_utc(at) if at else None
        except ValueError:
            raise forms.ValidationError("That instant is beyond the calendar.") from None
        # As its input shows it, an instant has no parts of a second; that is no change.
        current = self.memory.expires_at
        return current if at == shown_instant(current) else at


def initial_of(memory: Memory) -> dict[str, Any]:
    """The memory's words as the form shows them."""
    instant = shown_instant(memory.expires_at)
    return {
        "base_version": memory.version,
        "content": memory.content,
        "tags": format_tags(memory.tags),
        "expires_at": instant.replace(tzinfo=None).isoformat() if instant else "",
    }
