"""The commands that operators and their scripts rely on."""

from __future__ import annotations

import io
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from django.utils import timezone

from ampsite.management.commands import serve
from memories import reindex
from memories.index import Point, get_index
from memories.management import passwords
from memories.models import Agent, AuditEntry, IndexEntry, Memory, User
from memories.services import authenticate
from memories.tasks import reconcile_index
from tests import build

pytestmark = pytest.mark.django_db


def run(*words: str, **options: Any) -> list[str]:
    """The lines a command prints."""
    out = io.StringIO()
    call_command(*words, stdout=out, stderr=io.StringIO(), **options)
    return out.getvalue().splitlines()


def refusal(*words: str) -> str:
    with pytest.raises(CommandError) as caught:
        run(*words)
    return str(caught.value)


def test_the_key_of_a_new_agent_stands_alone_on_the_last_line() -> None:
    key = authenticate(run("create_agent", "crew/scout-1", "--name", "Scout")[-1])
    assert key is not None
    assert (key.agent.agent_id, key.agent.name) == ("crew/scout-1", "Scout")
    assert set(key.scopes) == set(key.OFFERED)


def test_an_agent_can_be_limited_and_owned() -> None:
    owner = build.person("olga")
    lines = run("create_agent", "scout", "--scopes", "remember, recall", "--owner", "olga")
    key = authenticate(lines[-1])
    assert key is not None
    assert key.scopes == ["remember", "recall"]
    assert key.agent.owner == owner


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([".scout"], "agent id"),
        (["taken"], "exists already"),
        (["scout", "--scopes", "remember,fly"], "fly"),
        (["scout", "--owner", "nobody"], "nobody"),
    ],
)
def test_an_agent_that_cannot_be_made_leaves_nothing_behind(
    words: list[str], said: str
) -> None:
    build.agent("taken")
    entries = AuditEntry.objects.count()
    assert said in refusal("create_agent", *words)
    assert Agent.objects.count() == 1
    assert AuditEntry.objects.count() == entries


def test_a_reviewer_sees_all_agents_unless_some_are_listed() -> None:
    build.agent("a")
    build.agent("b")
    run("create_reviewer", "rosa", "--password", "correct horse battery")
    run("create_reviewer", "sam", "--password", "x y z 1 2 3", "--agents", "a,b")
    run("create_reviewer", "vic", "--password", "x y z 1 2 3", "--role", "viewer")

    rosa, sam = User.objects.get(username="rosa"), User.objects.get(username="sam")
    assert (rosa.role, rosa.all_agents, rosa.decides) == ("reviewer", True, True)
    assert not sam.all_agents
    assert {agent.agent_id for agent in sam.agents.all()} == {"a", "b"}
    assert not User.objects.get(username="vic").decides
    assert Client().login(username="rosa", password="correct horse battery")


def test_a_password_can_come_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("päss word \n"))
    run("create_reviewer", "rosa", "--password", "-")
    assert User.objects.get(username="rosa").check_password("päss word ")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("typed", "taken"), [(("one two 3", "one two 3"), True), (("one two 3", "one"), False)]
)
@pytest.mark.parametrize("command", ["create_reviewer", "changepassword"])
def test_at_a_terminal_a_password_is_asked_for_twice(
    monkeypatch: pytest.MonkeyPatch, command: str, typed: tuple[str, str], taken: bool
) -> None:
    if command == "changepassword":
        build.person("rosa")
    answers = iter(typed)
    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr(passwords, "getpass", lambda _asked: next(answers))
    if taken:
        run(command, "rosa")
    else:
        assert "not the same" in refusal(command, "rosa")
    rosa = User.objects.filter(username="rosa").first()
    assert taken == (rosa is not None and rosa.check_password("one two 3"))


@pytest.mark.parametrize("command", ["create_reviewer", "changepassword"])
def test_a_weak_password_is_taken_with_a_note_that_says_so(command: str) -> None:
    if command == "changepassword":
        build.person("rosa")
    said = io.StringIO()
    call_command(command, "rosa", password="12345", stdout=io.StringIO(), stderr=said)
    assert "It was taken anyway; manage.py changepassword rosa" in said.getvalue()
    assert User.objects.get(username="rosa").check_password("12345")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["rosa", "--password", ""], "empty"),
        (["ro sa", "--password", "x"], "valid username"),
        (["taken", "--password", "x"], "exists already"),
        (["rosa", "--password", "x", "--agents", "ghost"], "ghost"),
    ],
)
def test_a_person_who_cannot_be_made_is_refused_in_a_sentence(
    words: list[str], said: str
) -> None:
    build.person("taken")
    assert said in refusal("create_reviewer", *words)
    assert User.objects.count() == 1


def test_the_audit_is_walked_and_its_heads_are_printed(agent: Agent) -> None:
    build.memory(agent)
    lines = run("audit_verify")
    heads = {line.split()[0]: line.split() for line in lines[:-1]}
    newest = AuditEntry.objects.filter(agent=agent).order_by("-sequence").first()
    assert newest is not None
    assert heads[str(agent.pk)][1:3] == [str(newest.sequence), newest.hash]
    assert "site" in heads


@pytest.mark.parametrize("change", [{"payload": "{}"}, {"actor_label": "somebody else"}])
def test_an_entry_that_was_changed_is_named(agent: Agent, change: dict[str, str]) -> None:
    build.memory(agent)
    entries = AuditEntry.objects.filter(agent=agent).order_by("sequence")
    second = list(entries)[1]
    entries.filter(pk=second.pk).update(**change)
    said = refusal("audit_verify")
    assert agent.agent_id in said
    assert "entry 2" in said


def test_an_entry_that_was_taken_out_is_named(agent: Agent) -> None:
    build.memory(agent)
    AuditEntry.objects.filter(agent=agent, sequence=2).delete()
    assert "entry 2" in refusal("audit_verify")


@pytest.mark.case("F6")
def test_an_orphan_and_missing_points_are_found_and_repaired(agent: Agent) -> None:
    memories = [build.memory(agent, f"Fact number {number}.") for number in range(5)]
    build.drain()
    assert run("reindex", "--check") == ["The index holds exactly what the database says."]

    get_index().drop([memory.pk for memory in memories[:3]])
    stranger = orphan(agent)
    get_index().put([stranger])
    printed = io.StringIO()
    with pytest.raises(CommandError) as caught:
        call_command("reindex", "--check", stdout=printed)
    said, named = str(caught.value), printed.getvalue().split()
    assert {str(memory.pk) for memory in memories[:3]} | {str(stranger.id)} < set(named)
    assert "3 missing from the index" in said
    assert "1 in the index without a live memory" in said

    run("reindex")
    run("reindex", "--check")
    assert set(get_index().ids()) == {memory.pk for memory in memories}


@pytest.mark.case("F6")
def test_the_periodic_look_repairs_the_same(agent: Agent) -> None:
    memories = [build.memory(agent, f"Fact number {number}.") for number in range(5)]
    build.drain()
    get_index().drop([memory.pk for memory in memories[:3]])
    get_index().put([orphan(agent), orphan(agent), orphan(agent)])
    assert reconcile_index.run() == 6
    assert IndexEntry.objects.behind().count() == 3
    build.drain()
    assert set(get_index().ids()) == {memory.pk for memory in memories}
    assert reconcile_index.run() == 0


def test_what_waits_to_be_indexed_is_a_difference_until_it_is_indexed(agent: Agent) -> None:
    build.memory(agent)
    assert "1 waiting to be indexed" in refusal("reindex", "--check")
    run("reindex")
    assert run("reindex", "--check")


def test_a_memory_that_was_never_asked_for_is_indexed(agent: Agent) -> None:
    """As after a change of the embedder, whose collection starts empty."""
    memory = build.memory(agent)
    build.drain()
    IndexEntry.objects.update(collection="memories-of-another-embedder")
    get_index().drop([memory.pk])
    run("reindex")
    assert set(get_index().ids()) == {memory.pk}


def test_what_is_forgotten_or_expired_is_no_difference(agent: Agent) -> None:
    gone = build.memory(agent, "one")
    ending = build.short_term(agent, "two", ttl_seconds=600)
    build.drain()
    build.approve(build.forgetting(agent, gone))
    build.drain()
    # Over by the clock; no sweep has written it down.
    Memory.objects.filter(pk=ending.pk).update(expires_at=timezone.now())
    assert run("reindex", "--check")
    assert get_index().count() == 1


def test_starting_over_makes_every_claim_due(agent: Agent) -> None:
    build.memory(agent)
    later = timezone.now() + timedelta(hours=1)
    IndexEntry.objects.update(due_at=later)
    assert build.drain() == 0
    reindex.release_claims()
    assert build.drain() == 1


def test_a_start_looks_at_every_id_only_when_the_numbers_differ(agent: Agent) -> None:
    memory = build.memory(agent)
    build.drain()
    assert not reindex.heal()
    get_index().drop([memory.pk])
    assert reindex.heal().missing == (memory.pk,)
    build.drain()
    assert get_index().count() == 1


def orphan(agent: Agent) -> Point:
    dense = [0.0] * 256
    dense[0] = 1.0
    return Point(
        id=uuid4(),
        agent_id=str(agent.pk),
        memory_type="semantic",
        user_id=None,
        tags=(),
        expires_at=None,
        version=1,
        text="nobody remembers this",
        dense=dense,
    )


def test_what_recall_does_not_find_yet_is_named(agent: Agent) -> None:
    build.memory(agent, "one")
    build.drain()
    assert run("reindex", "--progress") == [
        "No index is being built, and nothing waits to be indexed."
    ]
    assert served() == ["Ampsite is ready: http://desk/", "Ctrl-C stops it."]

    build.memory(agent, "two")
    (behind,) = run("reindex", "--progress")
    assert behind.startswith("The index is being filled: 1 of 2 memories are not in it yet")
    assert behind in served()
    asked = run("reindex", "--ask")
    assert asked[0].startswith("The server builds the index again: 0 of 2")
    assert asked[1:] == [behind]


def served() -> list[str]:
    """What ``serve`` says once it is ready."""
    out = io.StringIO()
    serve.Command(stdout=out)._say("http://desk", first_run=False)
    return out.getvalue().splitlines()
