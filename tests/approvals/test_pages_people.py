"""Signing in, out, and the own password."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.conf import LazySettings
from django.test import Client
from django.utils import timezone

from memories.models import AuditEntry, LoginFailure, User
from tests import build

RIGHT = "correct horse"


def sign_in(client: Client, username: str, password: str, **more: str) -> int:
    data = {"username": username, "password": password, **more}
    return client.post("/login/", data).status_code


def test_the_right_password_opens_the_queue(reviewer: User, client: Client) -> None:
    response = client.post("/login/", {"username": "rosa", "password": RIGHT})
    assert response.headers["Location"] == "/proposals/"
    assert client.get("/proposals/").status_code == 200


def test_the_login_page_begins_with_log_in(client: Client) -> None:
    text = client.get("/login/").content.decode()
    assert ">Log in</button>" in text
    assert 'name="username"' in text
    assert 'name="password"' in text


def test_after_signing_in_the_page_that_was_asked_for_opens(
    reviewer: User, client: Client
) -> None:
    page = client.get("/login/?next=/proposals/%3Fop%3Dmerge").content.decode()
    assert 'name="next" value="/proposals/?op=merge"' in page
    data = {"username": "rosa", "password": RIGHT, "next": "/proposals/?op=merge"}
    assert client.post("/login/", data).headers["Location"] == "/proposals/?op=merge"


@pytest.mark.parametrize(
    "there", ["https://evil.example/", "//evil.example", "javascript:1"]
)
def test_signing_in_leads_to_no_other_site(
    reviewer: User, client: Client, there: str
) -> None:
    data = {"username": "rosa", "password": RIGHT, "next": there}
    assert client.post("/login/", data).headers["Location"] == "/proposals/"


def test_a_wrong_password_is_said_on_the_page(reviewer: User, client: Client) -> None:
    response = client.post("/login/", {"username": "rosa", "password": "wrong"})
    assert response.status_code == 422
    assert 'role="alert"' in response.content.decode()


def test_ten_failures_of_a_name_close_the_door_for_a_while(
    reviewer: User, client: Client
) -> None:
    for _ in range(10):
        assert sign_in(client, "rosa", "wrong") == 422
    response = client.post("/login/", {"username": "ROSA", "password": RIGHT})
    assert response.status_code == 429
    assert response.headers["Retry-After"] == "300"
    assert "Wait 5 minutes" in response.content.decode()
    assert sign_in(client, "somebody", "wrong") == 422

    LoginFailure.objects.update(at=timezone.now() - timedelta(seconds=301))
    assert sign_in(client, "rosa", RIGHT) == 302


@pytest.mark.parametrize(
    "name", [" rosa", "rosa\t", "\u2003rosa", "ｒosa", " " * 200 + "rosa"]
)
def test_other_spellings_of_a_name_count_as_that_name(
    reviewer: User, client: Client, settings: LazySettings, name: str
) -> None:
    settings.LOGIN_FAILURES_PER_NAME = 2
    assert [sign_in(client, name, "wrong") for _ in range(2)] == [422, 422]
    assert sign_in(client, "rosa", RIGHT) == 429
    assert sign_in(client, name, RIGHT) == 429


def test_fifty_failures_of_an_address_close_it_too(
    reviewer: User, client: Client, settings: LazySettings
) -> None:
    settings.LOGIN_FAILURES_PER_ADDRESS = 3
    for number in range(3):
        assert sign_in(client, f"name-{number}", "wrong") == 422
    assert sign_in(client, "rosa", RIGHT) == 429
    other = Client(REMOTE_ADDR="198.51.100.7")
    assert sign_in(other, "rosa", RIGHT) == 302


def test_a_forwarded_address_counts_only_behind_a_trusted_proxy(
    reviewer: User, settings: LazySettings, client: Client
) -> None:
    forwarded = {"X-Forwarded-For": "203.0.113.9, 198.51.100.8"}
    data = {"username": "x", "password": "y"}
    client.post("/login/", data, headers=forwarded)
    settings.TRUST_PROXY = True
    client.post("/login/", data, headers=forwarded)
    addresses = LoginFailure.objects.order_by("pk").values_list("address", flat=True)
    assert list(addresses) == ["127.0.0.1", "198.51.100.8"]


@pytest.mark.parametrize(
    ("forwarded", "address"),
    [
        ("198.51.100.8:4711", "198.51.100.8"),
        ("[2001:db8::7]:4711", "2001:db8::7"),
        ("2001:db8::7", "2001:db8::7"),
    ],
)
def test_a_port_that_a_proxy_adds_makes_no_other_address(
    reviewer: User, settings: LazySettings, client: Client, forwarded: str, address: str
) -> None:
    settings.TRUST_PROXY = True
    data = {"username": "x", "password": "y"}
    client.post("/login/", data, headers={"X-Forwarded-For": forwarded})
    assert LoginFailure.objects.get().address == address


def test_a_form_in_another_charset_is_a_plain_error(reviewer: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.get("/login/")
    kind = "application/x-www-form-urlencoded; charset=utf-16"
    response = client.post("/login/", "username=x", content_type=kind)
    assert response.status_code == 400
    assert "UTF-8" in response.content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize("data", [{"username": "ro\0sa", "password": RIGHT}])
def test_nul_in_a_name_is_a_plain_error(client: Client, data: dict[str, str]) -> None:
    response = client.post("/login/", data)
    assert response.status_code == 400
    assert "NUL" in response.content.decode()


def test_nul_in_a_password_is_a_plain_error(reviewer: User, client: Client) -> None:
    assert sign_in(client, "rosa", "a\0b") == 422


def test_somebody_who_was_deactivated_does_not_come_in(
    reviewer: User, client: Client
) -> None:
    User.objects.update(is_active=False)
    assert sign_in(client, "rosa", RIGHT) == 422


def test_logging_out_needs_a_post(desk: Client) -> None:
    assert desk.get("/logout/").status_code == 405
    assert desk.post("/logout/").headers["Location"] == "/login/"
    assert desk.get("/proposals/").status_code == 302


def test_a_new_password_ends_the_other_sessions_and_is_kept_in_the_audit(
    desk: Client, reviewer: User
) -> None:
    other = Client()
    other.force_login(reviewer)
    new = "a staple of batteries"
    data = {"old_password": RIGHT, "new_password1": new, "new_password2": new}
    assert desk.post("/password/", data).status_code == 302
    assert "Your password is changed." in desk.get("/proposals/").content.decode()
    assert other.get("/proposals/").status_code == 302
    assert AuditEntry.objects.filter(action="user.password_changed").count() == 1
    assert sign_in(Client(), "rosa", new) == 302


@pytest.mark.parametrize(
    ("old", "new", "again"),
    [
        ("wrong", "a staple of batteries", "a staple of batteries"),
        (RIGHT, "short", "short"),
        (RIGHT, "a staple of batteries", "another"),
    ],
)
def test_a_password_that_will_not_do_changes_nothing(
    desk: Client, old: str, new: str, again: str
) -> None:
    data = {"old_password": old, "new_password1": new, "new_password2": again}
    assert desk.post("/password/", data).status_code == 422
    assert sign_in(Client(), "rosa", RIGHT) == 302


def test_the_pages_let_in_no_script_but_their_own(desk: Client) -> None:
    policy = desk.get("/proposals/").headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy


def test_an_account_made_by_the_services_signs_in(client: Client, db: None) -> None:
    build.person("new-one", role="viewer")
    assert sign_in(client, "new-one", RIGHT) == 302
