from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from approvals import demo
from memories.errors import DomainError
from memories.management.operator import OperatorCommand
from memories.models import User
from memories.writing import writing


class Command(OperatorCommand):
    help = "Fill the queue of a demo agent with one of each kind of proposal."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--reviewer",
            metavar="USERNAME",
            help="who approves the memories that the proposals touch (default: the first "
            "admin)",
        )

    def handle(self, *, reviewer: str | None, **_: Any) -> None:
        person = _reviewer(reviewer)
        try:
            with writing():
                agent, key, text = demo.demo_agent(key_name="seed_demo")
                if demo.is_seeded(agent):
                    raise CommandError(f"The agent {demo.AGENT_ID} has its queue already.")
                demo.seed(key, reviewer=person)
        except DomainError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"The queue of {demo.AGENT_ID} is filled. Its key:")
        self.stdout.write(text)


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
