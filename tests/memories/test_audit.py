"""The audit: nothing happens without an entry, and a changed entry shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from django.db import DatabaseError, connection, transaction

from approvals.models import Decision, Proposal
from memories import audit
from memories.actors import SYSTEM
from memories.models import Agent, ApiKey, AuditEntry, IndexEntry, Memory, MemoryRevision
from memories.services import revoke_key, set_active, set_paused
from tests import build

pytestmark = pytest.mark.django_db


def breaks() -> list[audit.Break]:
    return [found for found in audit.verify() if isinstance(found, audit.Break)]


def actions(agent: Agent) -> list[str]:
    entries = AuditEntry.objects.filter(agent=agent).order_by("sequence")
    return list(entries.values_list("action", flat=True))


def test_every_write_has_an_entry_and_the_chain_holds(agent: Agent, key: ApiKey) -> None:
    memory = build.memory(agent)
    build.short_term(agent)
    build.reject(build.held(agent, "No."))
    build.approve(build.forgetting(agent, memory))
    set_paused(agent, True, actor=SYSTEM)
    set_active(agent, False, actor=SYSTEM)
    revoke_key(key, actor=SYSTEM)

    assert actions(agent) == [
        "agent.created",
        "key.created",
        "remember.held",
        "proposal.approved",
        "remember.applied",
        "remember.held",
        "proposal.rejected",
        "forget.held",
        "proposal.approved",
        "agent.paused",
        "agent.switched_off",
        "key.revoked",
    ]
    assert breaks() == []


def test_each_agent_has_a_chain_of_its_own_and_so_has_the_site(agent: Agent) -> None:
    other = build.agent()
    build.person()

    heads = {found.chain for found in audit.verify()}

    assert heads == {str(agent.pk), str(other.pk), audit.SITE}


@pytest.fixture
def three(agent: Agent) -> list[AuditEntry]:
    build.held(agent, "one")
    build.held(agent, "two")
    return list(AuditEntry.objects.filter(agent=agent).order_by("sequence"))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("actor_label", "somebody else"),
        ("action", "proposal.approved"),
        ("objects_json", "[]"),
        ("payload", '{"reason":"none"}'),
        ("payload_digest", "0" * 64),
        ("previous_hash", "0" * 64),
        ("hash", "0" * 64),
    ],
)
def test_a_changed_entry_is_named(
    agent: Agent, three: list[AuditEntry], field: str, value: str
) -> None:
    AuditEntry.objects.filter(pk=three[1].pk).update(**{field: value})

    (found,) = breaks()

    assert (found.chain, found.sequence) == (str(agent.pk), 2)


def test_a_removed_entry_is_named(three: list[AuditEntry]) -> None:
    three[1].delete()
    (found,) = breaks()
    assert (found.sequence, found.why) == (2, "entry 2 is missing")


def test_an_entry_moved_to_another_agent_is_named(three: list[AuditEntry]) -> None:
    other = build.agent()
    AuditEntry.objects.filter(pk=three[-1].pk).update(agent=other)
    assert [found.sequence for found in breaks()] == [three[-1].sequence]


def test_a_payload_can_be_erased_and_the_chain_still_holds(
    three: list[AuditEntry],
) -> None:
    AuditEntry.objects.filter(pk=three[1].pk).update(payload=None)
    assert breaks() == []


@contextmanager
def no_audit() -> Iterator[None]:
    """The database refuses every audit entry; also the transaction is rolled back whole."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger AS "
                "$$ BEGIN RAISE EXCEPTION 'the disk is full'; END $$ LANGUAGE plpgsql"
            )
            cursor.execute(
                "CREATE TRIGGER refused BEFORE INSERT ON memories_auditentry "
                "FOR EACH ROW EXECUTE FUNCTION refuse()"
            )
        else:
            cursor.execute(
                "CREATE TRIGGER refused BEFORE INSERT ON memories_auditentry "
                "BEGIN SELECT RAISE(ABORT, 'the disk is full'); END"
            )
    yield
    with connection.cursor() as cursor:
        on = " ON memories_auditentry" if connection.vendor == "postgresql" else ""
        cursor.execute(f"DROP TRIGGER refused{on}")


def everything() -> list[object]:
    """All that an operation could have left behind."""
    tables = (Memory, MemoryRevision, IndexEntry, Proposal, Decision, AuditEntry)
    return [list(table.objects.order_by("pk").values()) for table in tables]


@pytest.mark.case("G23")
@pytest.mark.parametrize(
    "what", ["remember", "remember held", "approve", "reject", "forget", "forget now"]
)
def test_without_its_audit_entry_nothing_happens(agent: Agent, what: str) -> None:
    reviewer = build.person()
    memory, short = build.memory(agent), build.short_term(agent)
    pending = build.held(agent, "Another fact.")
    operation: dict[str, Callable[[], object]] = {
        "remember": lambda: build.short_term(agent, "hello"),
        "remember held": lambda: build.held(agent, "A third fact."),
        "approve": lambda: build.approve(pending, reviewer),
        "reject": lambda: build.reject(pending, reviewer),
        "forget": lambda: build.forgetting(agent, memory),
        "forget now": lambda: build.forget_now(agent, short),
    }
    before = everything()

    with no_audit(), pytest.raises(DatabaseError, match="the disk is full"):  # noqa: SIM117
        with transaction.atomic():
            operation[what]()

    assert everything() == before
