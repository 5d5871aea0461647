from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from memories import services
from memories.actors import SYSTEM
from memories.management import passwords
from memories.management.operator import OperatorCommand
from memories.models import User


class Command(OperatorCommand):
    help = "Give a person a new password; the audit keeps that it was changed."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username", metavar="USERNAME")
        passwords.add_password(parser)

    def handle(self, *, username: str, password: str, **_: Any) -> None:
        user = User.objects.filter(username=username).first()
        if user is None:
            raise CommandError(f"There is no user {username}.")
        password = passwords.given(password)
        services.change_password(user, password, actor=SYSTEM)
        self.stdout.write(f"{username} has a new password.")
        if doubts := passwords.doubts(password, user):
            self.stderr.write(doubts)
