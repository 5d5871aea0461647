from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from memories import services
from memories.actors import SYSTEM
from memories.errors import DomainError
from memories.management.operator import OperatorCommand
from memories.models import ApiKey, User


class Command(OperatorCommand):
    help = "Make an agent and its first API key, which is the last line printed."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("agent_id", metavar="AGENT_ID")
        parser.add_argument("--name", default="", help="what people call it")
        parser.add_argument(
            "--scopes",
            default=",".join(ApiKey.OFFERED),
            help="what the key opens, separated by commas (default: %(default)s)",
        )
        parser.add_argument(
            "--owner", metavar="USER", help="a person who may not decide its proposals"
        )

    def handle(
        self, *, agent_id: str, name: str, scopes: str, owner: str | None, **_: Any
    ) -> None:
        wanted = [scope.strip() for scope in scopes.split(",") if scope.strip()]
        if not wanted:
            raise CommandError("--scopes names none; the key would open nothing.")
        try:
            made = services.introduce_agent(
                agent_id, name=name, owner=_person(owner), scopes=wanted, actor=SYSTEM
            )
        except DomainError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"The agent {agent_id} is made. Its key is shown only once:")
        self.stdout.write(made[-1])


def _person(username: str | None) -> User | None:
    if username is None:
        return None
    try:
        return User.objects.get(username=username)
    except User.DoesNotExist:
        raise CommandError(f"There is no user {username}.") from None
