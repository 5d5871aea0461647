"""How the tests of the admin open its pages."""

from __future__ import annotations

from typing import Any

from django.test import Client
from django.urls import reverse

from memories.models import User


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def page_of(row: Any) -> str:
    """The address of the row's page."""
    name = f"admin:{row._meta.app_label}_{row._meta.model_name}_change"
    return reverse(name, args=[row.pk])


def text_of(page: Any) -> str:
    return str(page.content.decode())
