"""What the tests of the memories' pages share."""

from __future__ import annotations

import re
from typing import Any

from django.http import HttpResponse
from django.test import Client

from memories.models import Memory, User
from tests.approvals.pages import Forms, HasContent

LIST = "/memories/"
_SHOWN = re.compile(r'class="item-text" href="/memories/([0-9a-f-]{36})/"')


def address(memory: Memory, act: str = "") -> str:
    return f"{LIST}{memory.pk}/" + (f"{act}/" if act else "")


def restoring(memory: Memory, version: int) -> str:
    return address(memory, f"versions/{version}/restore")


def shown(response: HasContent) -> list[str]:
    """The ids of the memories of a list or of a search's answer, in order."""
    return _SHOWN.findall(response.content.decode())


def text_of(response: HasContent) -> str:
    return response.content.decode()


def signed_in(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


def send(
    client: Client, where: str, button: str, *, forms: Forms | None = None, **typed: Any
) -> HttpResponse:
    """Press the button that begins like this on the page there (or on ``forms``, a page
    opened before), with some fields typed over. "Propose only" is not the main one."""
    form = (forms or Forms(client.get(where))).by_button(button)
    main = button != "Propose only" and "Propose only" in form.buttons
    data = {**form.data, **typed, **({"approve": "1"} if main else {})}
    response = client.post(form.action, data)
    assert isinstance(response, HttpResponse)
    return response
