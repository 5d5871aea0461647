from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError

from memories import audit
from memories.management.operator import OperatorCommand
from memories.models import Agent


class Command(OperatorCommand):
    help = (
        "Walk every audit chain and print its head; exit 1 at an entry that does not hold. "
        "Keep the heads elsewhere: only against them does a cut end show."
    )

    def handle(self, **_: Any) -> None:
        names = {str(pk): name for pk, name in Agent.objects.values_list("pk", "agent_id")}
        breaks: list[str] = []
        chains = 0
        for found in audit.verify():
            chains += 1
            name = names.get(found.chain, found.chain)
            if isinstance(found, audit.Break):
                breaks.append(f"{name}: entry {found.sequence} does not hold: {found.why}.")
            else:
                self.stdout.write(f"{found.chain} {found.sequence} {found.hash} {name}")
        if breaks:
            raise CommandError("\n".join(breaks))
        self.stdout.write(f"Every entry of {chains} chains holds.")
