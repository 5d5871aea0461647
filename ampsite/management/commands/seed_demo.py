from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from ampsite.first_run import renew_note
from approvals import demo
from memories.errors import DomainError
from memories.management.operator import OperatorCommand
from memories.models import User
from memories.writing import writing


class Command(OperatorCommand):
    help = "Make three demo agents with memories and a queue that shows every kind of proposal."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--reviewer",
            metavar="USERNAME",
            help="who decided what is decided already (default: the first admin)",
        )
        parser.add_argument(
            "--end",
            action="store_true",
            help="withdraw what the demo's agents wait for, revoke their keys, switch them off",
        )

    def handle(self, *, reviewer: str | None, end: bool, **_: Any) -> None:
        if end:
            self._end()
        else:
            self._seed(reviewer)

    def _seed(self, reviewer: str | None) -> None:
        with writing():
            if demo.is_seeded():
                self.stdout.write("The demo is here already; nothing was changed.")
                return
            try:
                seeded = demo.seed(reviewer=_reviewer(reviewer))
            except DomainError as error:
                raise CommandError(f"{error} The demo needs agents of its own.") from error
        self.stdout.write(f"The demo is laid out. The key of {demo.AGENT_ID}:")
        self.stdout.write(seeded.key)

    def _end(self) -> None:
        if not demo.is_seeded():
            self.stdout.write("There is no demo; nothing was changed.")
            return
        ended = demo.end()
        renew_note()
        if ended.agents:
            names = ", ".join(ended.agents)
            self.stdout.write(f"Switched off, their keys revoked: {names}.")
            self.stdout.write(f"Proposals they withdrew before: {ended.withdrawn:,}.")
        else:
            self.stdout.write("The demo has ended already; nothing was left to do.")
        if ended.waiting:
            self.stdout.write(f"Still in the queue, to be rejected: {ended.waiting:,}.")


def _reviewer(username: str | None) -> User:
    people = User.objects.filter(is_active=True).order_by("pk")
    if username is not None:
        person = people.filter(username=username).first()
    else:
        person = people.filter(role=User.Role.ADMIN).first()
    if person is None:
        raise CommandError(
            "There is nobody to approve it: manage.py create_reviewer first."
        )
    return person
