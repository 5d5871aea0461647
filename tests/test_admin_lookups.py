"""What the address of an admin list may ask: what its filters offer, and nothing else."""

from __future__ import annotations

import logging

import pytest
from django.test import Client

from tests import build

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin() -> Client:
    client = Client()
    client.force_login(build.person("ada", role="admin"))
    return client


@pytest.mark.parametrize(
    "address",
    [
        "memories/memory/?content__regex=(a%2B)%2B%24",
        "memories/memory/?content__icontains=a",
        "memories/memory/?created_at__year=999999999",
        "memories/memory/?agent__owner__password__startswith=a",
        "memories/user/?password__startswith=pbkdf2",
        "memories/apikey/?digest__startswith=a",
        "memories/memory/?state__regex=l",
        "approvals/proposal/?change_json__content__contains=a",
    ],
)
def test_a_list_takes_no_look_up_that_its_filters_do_not_offer(
    admin: Client, address: str, caplog: pytest.LogCaptureFixture
) -> None:
    build.short_term(build.agent(), "a" * 40 + "!")
    with caplog.at_level(logging.INFO):
        assert admin.get(f"/admin/{address}").status_code == 400
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize(
    "address",
    [
        "memories/memory/?state__exact=live",
        "memories/memory/?memory_type__exact=episodic&state__exact=live&q=&p=1&o=1",
        "memories/user/?role__exact=admin",
        "memories/agent/?is_active__exact=1",
        "approvals/proposal/?status__exact=pending",
    ],
)
def test_its_filters_work(admin: Client, address: str) -> None:
    assert admin.get(f"/admin/{address}").status_code == 200


def test_a_form_that_is_too_large_leaves_no_stack_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO):
        answer = Client().post("/login/", {"username": "a" * 3_000_000, "password": "b"})
    assert answer.status_code == 400
    assert "Traceback" not in caplog.text
