"""Pages as a browser without JavaScript reads them: links, forms, buttons, fields."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any, Protocol
from uuid import UUID

from django.http import HttpResponse
from django.test import Client

from approvals.models import Proposal


@dataclass
class Form:
    action: str = ""
    fields: dict[str, str] = field(default_factory=dict)
    ticked: dict[str, list[str]] = field(default_factory=dict)
    buttons: list[str] = field(default_factory=list)

    @property
    def data(self) -> dict[str, Any]:
        """What a browser would post: its line ends are CRLF."""
        texts = {name: text.replace("\n", "\r\n") for name, text in self.fields.items()}
        return {**texts, **self.ticked}


class HasContent(Protocol):
    @property
    def content(self) -> bytes: ...


class Forms(HTMLParser):
    """The forms of a page, in order, with what a browser would send."""

    def __init__(self, response: HasContent) -> None:
        super().__init__()
        self.found: list[Form] = []
        self._in: str = ""
        self._text = ""
        self._select = ""
        self.feed(response.content.decode())

    def by_button(self, begins: str) -> Form:
        """The first form with an enabled or disabled button that begins like this."""
        for form in self.found:
            if any(text.startswith(begins) for text in form.buttons):
                return form
        raise AssertionError(f"no button begins with {begins!r}")

    @property
    def buttons(self) -> list[str]:
        return [text for form in self.found for text in form.buttons]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.found.append(Form(action=given.get("action", "")))
        elif not self.found:
            return
        elif tag == "input" and given.get("type") == "checkbox":
            if "checked" in given:
                boxes = self.found[-1].ticked.setdefault(given["name"], [])
                boxes.append(given["value"])
        elif tag == "input":
            self.found[-1].fields[given["name"]] = given.get("value", "")
        elif tag == "select":
            self._select = given["name"]
        elif tag == "option" and "selected" in given:
            self.found[-1].fields[self._select] = given["value"]
        elif tag in {"textarea", "button"}:
            self._in, self._name, self._text = tag, given.get("name", ""), ""

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == self._in == "textarea" and self._name:
            # A browser drops the line end that opens a text area.
            text = self._text.removeprefix("\n").replace("\r\n", "\n").replace("\r", "\n")
            self.found[-1].fields[self._name] = text
        elif tag == self._in == "button":
            self.found[-1].buttons.append(self._text.strip())
        self._in = "" if tag == self._in else self._in


def address(proposal: Proposal | UUID, act: str = "") -> str:
    pk = proposal if isinstance(proposal, UUID) else proposal.pk
    return f"/proposals/{pk}/" + (f"{act}/" if act else "")


def card(client: Client, proposal: Proposal) -> Forms:
    response = client.get(address(proposal))
    assert response.status_code == 200
    return Forms(response)


def press(
    client: Client,
    proposal: Proposal,
    button: str,
    *,
    forms: Forms | None = None,
    headers: dict[str, str] | None = None,
    **typed: Any,
) -> HttpResponse:
    """Press the first button that begins like this on the proposal's page (or on
    ``forms``, a page opened before), with some fields typed over."""
    form = (forms or card(client, proposal)).by_button(button)
    response = client.post(form.action, {**form.data, **typed}, headers=headers or {})
    assert isinstance(response, HttpResponse)
    return response
