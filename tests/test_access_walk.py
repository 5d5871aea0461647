"""Who gets what at every address there is, and that nothing of a hidden agent shows.

``access_table`` names each pattern of the resolver: a new address fails the walk until
somebody has said there who may do what at it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from approvals import services
from memories.actors import SYSTEM
from memories.models import Agent, ApiKey, AuditEntry, IndexEntry, User
from memories.services import edit_agent
from tests import build
from tests.access_table import LIMITED, WHO, table

pytestmark = pytest.mark.django_db


# Django lists the apps in the order in which their admin modules came to be imported.
APPS = re.compile(r"(?<=\(\?P<app_label>)[^)]*")


def routes(
    patterns: list[URLPattern | URLResolver] | None = None, before: str = ""
) -> Iterator[str]:
    """The route of every pattern, those of includes with what stands before them."""
    for one in get_resolver().url_patterns if patterns is None else patterns:
        route = before + str(one.pattern)
        if isinstance(one, URLResolver):
            yield from routes(one.url_patterns, route)
        else:
            yield APPS.sub(lambda found: "|".join(sorted(found[0].split("|"))), route)


@dataclass
class World:
    """What an address may name of the hidden agent, and what must not show of it."""

    names: dict[str, object]
    secrets: tuple[str, ...]


@pytest.fixture
def alpha(db: None) -> Agent:
    """An agent that everybody sees, and the people of ``WHO``."""
    agent = build.agent("alpha")
    build.person("viewer", role="viewer")
    build.person("reviewer")
    build.person("admin", role="admin")
    build.person("limited-reviewer", agents=["alpha"])
    build.person("limited-admin", role="admin", agents=["alpha"])
    build.held(agent, "alpha waits")
    build.memory(agent, "alpha knows")
    build.reject(build.held(agent, "alpha errs"))
    return agent


def bravo() -> World:
    """The hidden agent, with everything a desk knows of one."""
    agent = build.agent("bravo-hidden")
    bea = build.person("bea-of-bravo", agents=["bravo-hidden"])
    memory = build.memory(agent, "bravo secret text", reviewer=bea, tags=["bravo-tag"])
    short = build.short_term(agent, "bravo secret moment")
    stale = build.held(agent, "bravo secret change", supersedes=[memory.pk])
    build.approve(build.revising(memory, "bravo secret text, again"), bea)
    services.rebase(stale.pk, reviewer=bea, seen=build.seen(stale))
    proposal = build.held(agent, "bravo secret wish")
    rejected = build.held(agent, "bravo secret nonsense")
    decision = build.reject(rejected, bea, comment="bravo secret comment")
    edit_agent(agent, name="Bravo by name", owner=bea, actor=SYSTEM)
    key = ApiKey.objects.get(agent=agent)
    entry = AuditEntry.objects.filter(agent=agent).latest("pk")
    names = {
        "proposal": proposal.pk,
        "rejected": rejected.pk,
        "stale": stale.pk,
        "memory": memory.pk,
        "short": short.pk,
        "agent": agent.pk,
        "key": key.pk,
        "target": stale.targets.get().pk,
        "draft": stale.drafts.get().pk,
        "decision": decision.pk,
        "revision": memory.revisions.latest("pk").pk,
        "index_entry": IndexEntry.objects.get(memory=memory).pk,
        "entry": entry.pk,
        "chain": entry.chain,
        "sequence": entry.sequence,
        "person": bea.pk,
    }
    ids = [str(name) for name in names.values() if isinstance(name, UUID)]
    words = ["bravo-hidden", "Bravo by name", "bravo secret", "bravo-tag", "bea-of-bravo"]
    return World(names, (*words, *ids, key.prefix, entry.hash))


FORM = "application/x-www-form-urlencoded"


class Person:
    """Somebody with a browser, or without an account."""

    def __init__(self, name: str) -> None:
        self.user = User.objects.filter(username=name).first()
        self.client = self._browser()

    def _browser(self) -> Client:
        client = Client()
        if self.user:
            client.force_login(self.user)
        return client

    def ask(self, method: str, address: str, body: str = "") -> Any:
        """The answer, with all that was written taken back: each question meets the same
        world."""
        with transaction.atomic():
            response = self.client.generic(method, address, body, FORM)
            transaction.set_rollback(True)
        if address == "/logout/":
            self.client = self._browser()
        return response


def outcome(response: Any) -> str:
    to = response.get("Location", "")
    return "login" if to.startswith("/login/?next=") else str(response.status_code)


def written(response: Any) -> str:
    """All that the answer tells, without what is new in each."""
    text = f"{response.headers.get('Location', '')}\n{response.content.decode()}"
    return re.sub(r'(?<=name="csrfmiddlewaretoken" value=")\w+', "", text)


def test_the_table_names_every_address_there_is() -> None:
    assert set(routes()) == set(table())


@pytest.mark.case("D17")
@pytest.mark.parametrize("name", WHO)
def test_at_every_address_each_gets_what_the_table_says(alpha: Agent, name: str) -> None:
    world, person, place = bravo(), Person(name), WHO.index(name)
    wrong = []
    for route, row in table().items():
        address = row.address.format(**world.names)
        for method in ("GET", "POST"):
            body = row.body.format(**world.names) if method == "POST" else ""
            response = person.ask(method, address, body)
            got, expected = outcome(response), row.expected(method)[place]
            if got != expected:
                wrong.append(f"{method} {route}: {got}, not {expected}")
            if name in LIMITED:
                told = written(response)
                shown = [one for one in world.secrets if one in told and one not in address]
                wrong += [f"{method} {route} shows {one}" for one in shown]
    assert wrong == []


def timeless(response: Any) -> str:
    return re.sub(r"<time .*?</time>", "", written(response), flags=re.DOTALL)


MACHINES = {"/healthz", "/readyz", "/metrics", "/logout/"}  # of the whole site, to machines
QUESTIONS = (
    "/proposals/?q=secret",
    "/proposals/?status=any",
    "/proposals/?agent={agent}",
    "/memories/?q=secret",
    "/memories/?agent={agent}",
    "/agents/?q=bravo",
    "/audit/?name=bea",
    "/audit/?agent={agent}",
    "/audit/?agent=site",
    "/audit/?object={memory}",
    "/audit/?object={proposal}",
    "/audit/?object=agent:{agent}",
    "/audit/?object=user:{person}",
    "/audit/?actor=user:{person}",
    "/audit/?after={chain}.{sequence}",
    "/admin/memories/memory/?q={memory}",
    "/admin/memories/auditentry/?q=bravo-hidden",
    "/admin/memories/agent/?q=bravo-hidden",
    "/admin/memories/agent/?owner__id__exact={person}",
    "/admin/approvals/decision/?outcome__exact=rejected",
)


@pytest.mark.case("D17")
@pytest.mark.parametrize("name", LIMITED)
def test_who_is_limited_sees_the_same_whether_a_hidden_agent_exists_or_not(
    alpha: Agent, name: str
) -> None:
    """Counts, filters, lists and the answers to questions about it are all the same."""
    person = Person(name)
    lists = [row.address for row in table().values() if "{" not in row.address]
    lists = [address for address in lists if address not in MACHINES]
    with transaction.atomic():  # ids that nobody has
        unknown = bravo().names
        transaction.set_rollback(True)
    before = {one: timeless(person.ask("GET", one)) for one in lists}
    asked = {one: answer_to(person, one, unknown) for one in QUESTIONS}
    hidden = bravo().names
    told = [one for one in lists if timeless(person.ask("GET", one)) != before[one]]
    told += [one for one in QUESTIONS if answer_to(person, one, hidden) != asked[one]]
    assert told == []


def answer_to(person: Person, question: str, names: Mapping[str, object]) -> str:
    """What the page tells, the ids that the question names aside: it repeats them."""
    answer = timeless(person.ask("GET", question.format(**names)))
    for name in re.findall(r"{(\w+)}", question):
        value = re.escape(str(names[name]))
        answer = re.sub(rf"(?:(?<=[=:.>\" ])|(?<=3A)){value}(?![\w-])", name, answer)
    return answer


def test_who_may_see_no_agent_sees_nothing(alpha: Agent) -> None:
    bravo()
    build.person("nobody", agents=[])
    person = Person("nobody")
    for address in (
        "/proposals/?status=any",
        "/memories/",
        "/agents/",
        "/work/",
        "/audit/",
    ):
        response = person.ask("GET", address)
        assert response.status_code == 200
        told = response.content.decode()
        assert "alpha" not in told
        assert str(alpha.pk) not in told
