from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from memories import services
from memories.actors import SYSTEM
from memories.errors import DomainError
from memories.management import passwords
from memories.management.operator import OperatorCommand
from memories.models import User


class Command(OperatorCommand):
    help = "Make a person who can log in."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username", metavar="USERNAME")
        passwords.add_password(parser)
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
        password = passwords.given(password)
        try:
            services.create_person(
                username, password=password, role=role, agents=limited, actor=SYSTEM
            )
        except DomainError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{username} can log in as {role}.")
        if doubts := passwords.doubts(password, User(username=username)):
            self.stderr.write(doubts)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
