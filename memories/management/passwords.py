"""How the operator's commands take a password."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from getpass import getpass

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError

from memories.models import User

STANDARD_INPUT = "-"


def add_password(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--password",
        default=STANDARD_INPUT,
        metavar="PASSWORD|-",
        help="'-' (default) asks for it or reads it from standard input, so that no process "
        "list shows it",
    )


def given(password: str) -> str:
    """The password meant by the option. Raises ``CommandError`` where there is none."""
    if password == STANDARD_INPUT:
        password = _typed()
    if not password:
        raise CommandError("The password is empty.")
    return password


def doubts(password: str, user: User) -> str:
    """What is weak about a password that was taken, or "". Whoever runs a command may
    decide so; they should only know it."""
    try:
        validate_password(password, user)
    except ValidationError as error:
        weak, name = " ".join(error.messages), user.get_username()
        return (
            f"Note: {weak} It was taken anyway; manage.py changepassword {name} changes it."
        )
    return ""


def _typed() -> str:
    """From standard input; a person at a terminal is asked twice, unseen."""
    if sys.stdin is None:
        raise CommandError("There is no standard input to read the password from.")
    if sys.stdin.isatty():
        password = getpass("Password: ")
        if getpass("Password again: ") != password:
            raise CommandError("The two are not the same; nothing was changed.")
        return password
    return sys.stdin.readline().rstrip("\r\n")
