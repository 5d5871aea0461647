"""What is held, what is not, and by whose type."""

from __future__ import annotations

import pytest
from pytest_django.fixtures import Settings

from approvals import services
from approvals.models import Proposal
from approvals.policies import Facts, Ruling, Verdict, judge
from memories.actors import SYSTEM
from memories.changes import Change, Expire, Forget, Merge, Remember
from memories.errors import Impossible, MemoryNotFound, NotAllowed, QueueFull, StaleVersion
from memories.models import Agent, ApiKey, AuditEntry, Memory
from memories.services import set_paused
from tests import build

pytestmark = pytest.mark.django_db


def remember(agent: Agent, content: str = "x is y", **more: object) -> Remember:
    members = {"memory_type": "semantic", **more}
    return Remember(agent=agent.pk, content=content, **members)  # type: ignore[arg-type]  # varied by the tests


@pytest.mark.parametrize("memory_type", ["semantic", "procedural"])
def test_a_long_term_memory_waits(agent: Agent, key: ApiKey, memory_type: str) -> None:
    outcome = services.submit(remember(agent, memory_type=memory_type), by=key)

    assert outcome.proposal is not None
    assert outcome.approved is False
    assert outcome.ids == (outcome.proposal.memory_id,)
    assert not Memory.objects.exists()


@pytest.mark.parametrize("memory_type", ["episodic", "working"])
def test_a_short_term_memory_is_stored_at_once(
    agent: Agent, key: ApiKey, memory_type: str
) -> None:
    outcome = services.submit(remember(agent, memory_type=memory_type), by=key)

    assert outcome.proposal is None
    assert outcome.approved is None
    assert Memory.objects.live().get().pk == outcome.ids[0]


@pytest.mark.case("G2")
@pytest.mark.parametrize("op", ["merge", "forget", "expire"])
def test_a_change_is_gated_by_the_type_of_its_target(
    agent: Agent, key: ApiKey, op: str
) -> None:
    one, two = build.memory(agent, "one"), build.memory(agent, "two")
    ids = (one.pk, two.pk)
    changes: dict[str, Change] = {
        "merge": Merge(agent=agent.pk, memory_type="episodic", memory_ids=ids),
        "forget": Forget(agent=agent.pk, memory_type="episodic", memory_ids=ids),
        "expire": Expire(agent=agent.pk, memory_type="episodic", memory_ids=ids),
    }

    outcome = services.submit(changes[op], by=key)

    assert outcome.proposal is not None
    assert Memory.objects.live().count() == 2


@pytest.mark.case("G3")
@pytest.mark.parametrize("kind", [Merge, Expire])
def test_another_agents_memory_is_unknown(
    agent: Agent, key: ApiKey, kind: type[Merge] | type[Expire]
) -> None:
    mine = build.short_term(agent)
    theirs = build.short_term(build.agent())

    with pytest.raises(MemoryNotFound):
        services.submit(
            kind(agent=agent.pk, memory_type="episodic", memory_ids=(mine.pk, theirs.pk)),
            by=key,
        )

    assert Memory.objects.live().count() == 2
    assert not Proposal.objects.exists()


@pytest.mark.case("G3")
def test_forgetting_another_agents_memory_does_nothing(agent: Agent, key: ApiKey) -> None:
    theirs = build.short_term(build.agent())

    outcome = services.submit(
        Forget(agent=agent.pk, memory_type="episodic", memory_ids=(theirs.pk,)), by=key
    )

    assert (outcome.ids, outcome.unknown) == ((), 1)
    assert Memory.objects.live().get() == theirs


def test_a_forget_of_both_kinds_takes_the_short_term_now_and_holds_the_rest(
    agent: Agent, key: ApiKey
) -> None:
    short, long = build.short_term(agent), build.memory(agent)

    outcome = services.submit(
        Forget(agent=agent.pk, memory_type="episodic", memory_ids=(short.pk, long.pk)),
        by=key,
    )

    assert outcome.ids == (short.pk,)
    assert outcome.proposal is not None
    assert [t.memory_id for t in outcome.proposal.targets.all()] == [long.pk]
    assert Memory.objects.live().get() == long


def test_the_same_held_change_gives_the_pending_one_back(agent: Agent, key: ApiKey) -> None:
    first = services.submit(remember(agent), by=key)
    again = services.submit(remember(agent), by=key)

    assert again.proposal == first.proposal
    assert again.ids == first.ids
    assert AuditEntry.objects.filter(action="remember.held").count() == 1


@pytest.mark.case("G32")
def test_the_same_text_with_supersedes_is_another_proposal(
    agent: Agent, key: ApiKey
) -> None:
    old = build.memory(agent, "old")
    first = services.submit(remember(agent), by=key)
    other = services.submit(
        remember(agent, supersedes=(old.pk,), metadata={"supersedes": [str(old.pk)]}),
        by=key,
    )

    assert first.proposal != other.proposal


@pytest.mark.case("G32")
def test_the_same_forget_merge_or_expire_twice_is_one_proposal(agent: Agent) -> None:
    one, two = build.memory(agent, "one"), build.memory(agent, "two")

    assert build.forgetting(agent, one, two) == build.forgetting(agent, two, one)
    assert build.merging(agent, one, two) == build.merging(agent, one, two)
    assert build.expiring(agent, one, two) == build.expiring(agent, one, two)
    assert build.expiring(agent, one, ttl_seconds=60) == build.expiring(
        agent, one, ttl_seconds=60
    )
    assert build.expiring(agent, one, ttl_seconds=60) != build.expiring(agent, one)


@pytest.mark.case("G31")
@pytest.mark.parametrize(
    "again",
    [
        "The vault code is 1234.",
        "  the VAULT code\n is 1234. ",
        "The va\u200bult code is 1234.",
    ],
)
def test_a_rejected_text_does_not_come_back_as_short_term(
    agent: Agent, key: ApiKey, again: str
) -> None:
    build.reject(build.held(agent, "The vault code is 1234."))

    outcome = services.submit(remember(agent, again, memory_type="episodic"), by=key)

    assert outcome.proposal is not None
    assert not Memory.objects.exists()


def test_a_rejected_text_of_another_agent_does_not_count(agent: Agent, key: ApiKey) -> None:
    build.reject(build.held(build.agent(), "The vault code is 1234."))

    outcome = services.submit(
        remember(agent, "The vault code is 1234.", memory_type="episodic"), by=key
    )

    assert outcome.proposal is None


def test_everything_of_a_paused_agent_waits(agent: Agent, key: ApiKey) -> None:
    set_paused(agent, True, actor=SYSTEM)
    key.agent.refresh_from_db()

    outcome = services.submit(remember(agent, memory_type="working"), by=key)

    assert outcome.proposal is not None


def test_a_full_queue_refuses_more(agent: Agent, key: ApiKey, settings: Settings) -> None:
    settings.MAX_PENDING_PER_AGENT = 2
    build.held(agent, "one")
    build.held(agent, "two")

    with pytest.raises(QueueFull):
        services.submit(remember(agent, "three"), by=key)
    build.held(agent, "one")  # the same again is no more
    assert Proposal.objects.count() == 2


@pytest.mark.case("G4")
@pytest.mark.parametrize("kind", [Merge, Expire])
def test_one_unknown_id_and_no_memory_is_touched(
    agent: Agent, key: ApiKey, kind: type[Merge] | type[Expire]
) -> None:
    one, two = build.short_term(agent, "one"), build.short_term(agent, "two")
    gone = build.short_term(agent, "gone")
    services.submit(
        Forget(agent=agent.pk, memory_type="episodic", memory_ids=(gone.pk,)), by=key
    )

    with pytest.raises(MemoryNotFound):
        services.submit(
            kind(
                agent=agent.pk, memory_type="episodic", memory_ids=(one.pk, gone.pk, two.pk)
            ),
            by=key,
        )

    assert {m.version for m in Memory.objects.live()} == {1}


def test_superseding_an_unknown_memory_is_impossible(agent: Agent, key: ApiKey) -> None:
    theirs = build.memory(build.agent())

    with pytest.raises(Impossible) as refusal:
        services.submit(remember(agent, supersedes=(theirs.pk,)), by=key)

    assert refusal.value.faults[0].pointer == "/metadata/supersedes"


def test_superseding_a_pending_proposal_withdraws_it(agent: Agent, key: ApiKey) -> None:
    first = build.held(agent, "first")
    assert first.memory_id is not None

    services.submit(remember(agent, "second", supersedes=(first.memory_id,)), by=key)

    first.refresh_from_db()
    assert (first.status, first.closed_reason) == ("withdrawn", "replaced")


def test_a_revision_of_a_version_that_is_gone_is_refused(agent: Agent) -> None:
    memory = build.memory(agent, "first")
    build.approve(build.revising(memory, "second"))

    with pytest.raises(StaleVersion):
        build.revising(memory, "third, drafted on the first")

    memory.refresh_from_db()
    assert memory.content == "second"


def test_withdrawing_needs_the_scope_of_what_was_proposed(agent: Agent) -> None:
    proposal = build.held(agent)

    with pytest.raises(NotAllowed):
        services.withdraw(proposal.pk, by=build.key(agent, ["forget"]))

    proposal.refresh_from_db()
    assert proposal.is_pending


def test_a_short_term_correction_of_a_long_term_memory_waits(
    agent: Agent, key: ApiKey
) -> None:
    old = build.memory(agent)

    outcome = services.submit(
        remember(agent, memory_type="working", supersedes=(old.pk,)), by=key
    )

    assert outcome.proposal is not None
    assert Memory.objects.live().get() == old


@pytest.mark.parametrize("types", [set(), {"unheard of"}, {"episodic", "semantic"}])
def test_in_doubt_a_person_looks(types: set[str]) -> None:
    assert judge(Facts(op="remember", types=frozenset(types))).verdict is Verdict.HOLD


def test_a_policy_that_fails_holds(caplog: pytest.LogCaptureFixture) -> None:
    def broken(facts: Facts) -> Ruling:
        raise ZeroDivisionError

    facts = Facts(op="remember", types=frozenset({"working"}))
    assert judge(facts, broken).verdict is Verdict.HOLD
    assert "the policy failed" in caplog.text
