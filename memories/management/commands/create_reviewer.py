from __future__ import annotations

import sys
from argparse import ArgumentParser
from getpass import getpass
from typing import Any

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError

from memories import services
from memories.actors import SYSTEM
from memories.errors import DomainError
from memories.management.operator import OperatorCommand
from memories.models import User

STANDARD_INPUT = "-"


class Command(OperatorCommand):
    help = "Make a person who can sign in."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username", metavar="USERNAME")
        parser.add_argument(
            "--password",
            required=True,
            metavar="PASSWORD|-",
            help="'-' reads it from standard input, so that no process list shows it",
        )
        parser.add_argument(
            "--role", choices=User.Role.values, default=User.Role.REVIEWER.value
        )
        parser.add_argument(
            "--agents",
            metavar="AGENT_ID,...",
            help="the agents the person may see, separated by commas (default: all)",
        )

    def handle(
        self, *, username: str, password: str, role: str, agents: str | None, **_: Any
    ) -> None:
        limited = None if agents is None else _names(agents)
        if password == STANDARD_INPUT:
            password = _typed()
        self._require_usable(username, password)
        try:
            services.create_person(
                username, password=password, role=role, agents=limited, actor=SYSTEM
            )
        except DomainError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{username} can sign in as {role}.")

    def _require_usable(self, username: str, password: str) -> None:
        if not username:
            raise CommandError("The name is empty.")
        try:
            User.username.field.run_validators(username)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        if not password:
            raise CommandError("The password is empty.")
        try:
            validate_password(password, User(username=username))
        except ValidationError as error:
            # Whoever runs this command may decide so; they should only know it.
            self.stderr.write(f"Note: {' '.join(error.messages)}")


def _typed() -> str:
    """The password from standard input; a person at a terminal is asked, unseen."""
    if sys.stdin is None:
        raise CommandError("There is no standard input to read the password from.")
    if sys.stdin.isatty():
        return getpass("Password: ")
    return sys.stdin.readline().rstrip("\r\n")


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
