"""The audit page: who sees which entries, what each says, and how they are found."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from approvals import audit_pages, services
from memories import audit
from memories.actors import SYSTEM, Actor
from memories.models import Agent, AuditEntry, User
from memories.services import (
    change_password,
    edit_agent,
    edit_person,
    revoke_key,
    set_active,
    set_paused,
)
from memories.services.expiry import expire_due
from tests import build

pytestmark = pytest.mark.django_db

URL = "/audit/"


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def plain(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", "", html)).split())


def sentences(page: Any) -> list[str]:
    """What the entries say, newest first."""
    found = re.findall(
        r'<span class="audit-says"[^>]*>(.*?)</span>\s*</p>', page.content.decode(), re.S
    )
    return [plain(one) for one in found]


@pytest.fixture
def auditor(db: None) -> Client:
    """A browser of somebody who sees every agent."""
    return signed_in(build.person("ada", role="admin"))


def test_a_stranger_is_sent_to_the_login_page_and_back(client: Client) -> None:
    response = client.get(f"{URL}?action=key.created")
    assert response.status_code == 302
    assert response["Location"] == "/login/?next=%2Faudit%2F%3Faction%3Dkey.created"


@pytest.mark.parametrize("role", ["viewer", "reviewer", "admin"])
def test_every_role_reads_the_entries_of_its_agents_and_those_alone(role: str) -> None:
    mine, foreign = build.agent("mine"), build.agent("foreign")
    build.held(mine)
    build.held(foreign)
    page = signed_in(build.person("kim", role=role, agents=["mine"])).get(URL)
    assert page.status_code == 200
    assert sentences(page) == [
        "mine proposed to remember a semantic memory",
        sentences(page)[1],
        "Ampsite introduced mine",
    ]
    assert "foreign" not in page.content.decode()


def test_nobody_who_is_limited_reads_of_people_or_of_the_site() -> None:
    build.agent("mine")
    build.person("somebody-else")
    page = signed_in(build.person("kim", agents=["mine"])).get(URL)
    assert "somebody-else" not in page.content.decode()
    assert "the site" not in page.content.decode()


def test_each_action_is_said_in_a_sentence(auditor: Client) -> None:
    ada = User.objects.get(username="ada")
    rosa, bot = build.person("rosa"), build.agent("bot")
    by = Actor.of(ada)
    one, two = (
        build.memory(bot, "one", reviewer=rosa),
        build.memory(bot, "two", reviewer=rosa),
    )
    build.short_term(bot)
    edited = build.held(bot, "three")
    build.approve(edited, rosa, content="three, better")
    rejected = build.held(bot, "four")
    build.reject(rejected, rosa, reason="duplicate")
    build.forgetting(bot, one, two)
    build.merging(bot, one, two)
    build.held(bot, "five", supersedes=[one.pk])
    short = build.short_term(bot, "gone", ttl_seconds=60)
    type(short).objects.filter(pk=short.pk).update(expires_at=timezone.now())
    expire_due()
    undone = build.held(bot, "six")
    decision = build.approve(undone, rosa)
    services.undo(decision.pk, reviewer=rosa)
    services.note_refused_decision(undone.pk, by=rosa, attempt="approve")
    edit_agent(bot, name="Billing", owner=rosa, actor=by)
    set_paused(bot, True, actor=by)
    set_active(bot, False, actor=by)
    revoke_key(bot.keys.get(), actor=by)
    edit_person(rosa, role="viewer", agents=["bot"], is_active=False, actor=by)
    change_password(rosa, "correct horse battery", actor=by)

    prefix = bot.keys.get().prefix
    assert sentences(auditor.get(URL)) == [
        "ada set the password of rosa",
        "ada switched off the account rosa",
        "ada limited rosa to bot",
        "ada changed the role of rosa from reviewer to viewer",
        f"ada revoked the key {prefix} of bot",
        "ada switched off bot",
        "ada paused bot",
        "ada changed the owner of bot",
        "ada named bot “Billing”",
        "rosa was not allowed to approve a proposal of bot",
        "rosa took back the approval of a proposal of bot",
        "rosa approved a proposal to remember a semantic memory of bot",
        "bot proposed to remember a semantic memory",
        "Ampsite let a memory of bot expire",
        "bot stored an episodic memory",
        "bot proposed to replace a memory by a semantic memory",
        "bot proposed to merge 2 memories",
        "bot proposed to forget 2 memories",
        "rosa rejected a proposal of bot as duplicate",
        "bot proposed to remember a semantic memory",
        "rosa approved a proposal to remember a semantic memory of bot, with changes",
        "bot proposed to remember a semantic memory",
        "bot stored an episodic memory",
        "rosa approved a proposal to remember a semantic memory of bot",
        "bot proposed to remember a semantic memory",
        "rosa approved a proposal to remember a semantic memory of bot",
        "bot proposed to remember a semantic memory",
        f"Ampsite made the key {prefix} of bot",
        "Ampsite introduced bot",
        "Ampsite made the account rosa, reviewer",
        "Ampsite made the account ada, admin",
    ]


def test_an_action_that_is_not_known_is_shown_as_it_is(
    auditor: Client, agent: Agent
) -> None:
    event = audit.Event(action="thing.odd_act", actor=SYSTEM, agent=agent.pk)
    audit.append([event])
    assert (
        sentences(auditor.get(URL))[0] == f"Ampsite did “thing.odd_act” of {agent.agent_id}"
    )


def test_an_entry_leads_to_what_it_is_about(auditor: Client, agent: Agent) -> None:
    proposal = build.held(agent)
    page = auditor.get(URL).content.decode()
    assert f'href="/proposals/{proposal.pk}/"' in page
    assert f'href="/agents/{agent.pk}/"' in page
    memory = build.short_term(agent)
    assert f'href="/memories/{memory.pk}/"' in auditor.get(URL).content.decode()


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("action=proposal.approved", 1),
        ("actor=user", 1),
        ("actor=user:{rosa}", 1),
        ("actor=agent:{bot}", 2),
        ("name=ROS", 1),
        ("agent={bot}", 5),
        ("agent={bot}&action=key.created", 1),
        ("agent=site", 3),
        ("agent=site&action=key.created", 0),
        ("object={proposal}", 2),
        ("object=proposal:{proposal}", 2),
        ("object={memory}", 2),
        ("object={key}", 3),
        ("object={key}_secret", 3),
        ("object=user:{rosa}", 1),
        ("object=agent:{bot}", 5),
        ("object=agent:{bot}&actor=user", 1),
        ("since={today}", 8),
        ("since={tomorrow}", 0),
        ("until={yesterday}", 0),
        ("since={yesterday}&until={tomorrow}", 8),
        ("object=00000000-0000-0000-0000-000000000000", 0),
    ],
)
def test_filters_live_in_the_address(auditor: Client, query: str, found: int) -> None:
    rosa, bot = build.person("rosa"), build.agent("bot")
    memory = build.memory(bot, reviewer=rosa)
    build.person("eve")
    build.short_term(bot)
    day = timedelta(days=1)
    first, last = AuditEntry.objects.earliest("pk"), AuditEntry.objects.latest("pk")
    names = {
        "rosa": rosa.pk,
        "bot": bot.pk,
        "memory": memory.pk,
        "proposal": memory.revisions.get().proposal_id,
        "key": bot.keys.get().prefix,
        "today": first.at.date(),
        "tomorrow": last.at.date() + day,
        "yesterday": first.at.date() - day,
    }
    page = auditor.get(f"{URL}?{query.format(**names)}")
    assert page.status_code == 200
    assert len(sentences(page)) == found
    if not found:
        assert "No entry fits" in page.content.decode()


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("object=hello", "This is no id."),
        ("since=2026-05-03&until=2026-05-02", "Choose a later one."),
        ("since=yesterday", "Enter a valid date."),
        ("actor=%27%3B--", "Choose one of the list."),
        ("agent=hello", "Select a valid choice."),
    ],
)
def test_a_filter_that_is_not_understood_names_what_to_change(
    auditor: Client, query: str, words: str
) -> None:
    page = auditor.get(f"{URL}?{query}")
    assert page.status_code == 400
    assert words in page.content.decode()
    assert sentences(page) == []


def test_pages_go_back_in_time_without_a_gap_or_a_repeat(auditor: Client) -> None:
    agent = build.agent()
    for number in range(120):
        build.short_term(agent, f"memory {number}")
    seen: list[int] = []
    query = f"?agent={agent.pk}"
    while query:
        page = auditor.get(f"{URL}{query}").content.decode()
        seen += [int(number) for number in re.findall(r">Entry (\d+)", page)]
        following = re.search(r'class="pager"><a href="(\?[^"]+)"', page)
        query = unescape(following[1]) if following else ""
    assert seen == list(range(122, 0, -1))


def test_a_cursor_of_a_hidden_chain_leads_to_the_newest_entries() -> None:
    mine, foreign = build.agent("mine"), build.agent("foreign")
    browser = signed_in(build.person("kim", agents=["mine"]))
    for cursor in (
        f"{foreign.pk}.1",
        "site.1",
        "site.x",
        "nonsense",
        f"{mine.pk}.99999999999",
    ):
        page = browser.get(f"{URL}?after={cursor}")
        assert sentences(page) == ["Ampsite introduced mine"]


def test_what_no_index_finds_is_looked_through_in_steps(
    auditor: Client, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_pages, "WINDOW", 10)
    for number in range(15):
        build.short_term(agent, f"memory {number}")
    first = auditor.get(f"{URL}?name=nobody").content.decode()
    assert "Nothing fits so far." in first
    following = re.search(r'<a href="(\?[^"]+)">Look further back</a>', first)
    assert following is not None
    second = auditor.get(f"{URL}{unescape(following[1])}").content.decode()
    assert "No older entries" in second


def test_the_number_of_queries_does_not_grow_with_the_entries(auditor: Client) -> None:
    def queries() -> int:
        with CaptureQueriesContext(
            connection,
        ) as captured:
            assert auditor.get(URL).status_code == 200
        return len(captured)

    build.held(build.agent())
    few = queries()
    for number in range(12):
        build.memory(build.agent(), f"memory {number}")
    assert queries() == few


def test_an_entry_shows_what_it_holds_and_where_it_stands(
    auditor: Client, agent: Agent
) -> None:
    proposal = build.held(agent, "Refunds take five days.", tags=["old"])
    build.approve(proposal, content="Refunds take six days.", tags=("new",))
    entry = AuditEntry.objects.get(action="proposal.approved")
    page = auditor.get(f"/audit/{agent.pk}/{entry.sequence}/").content.decode()
    assert "What the reviewer changed" in page
    assert "<del>five</del>" in page
    assert "<ins>six</ins>" in page
    assert entry.hash in page
    assert entry.previous_hash in page
    assert "&quot;content&quot;" in page


def test_an_entry_that_is_hidden_or_unknown_is_not_there() -> None:
    mine, foreign = build.agent("mine"), build.agent("foreign")
    browser = signed_in(build.person("kim", agents=["mine"]))
    assert browser.get(f"/audit/{mine.pk}/1/").status_code == 200
    for place in (
        f"{foreign.pk}/1",
        "site/1",
        f"{mine.pk}/99",
        f"{mine.pk}/{10**30}",
        "x/1",
    ):
        assert browser.get(f"/audit/{place}/").status_code == 404


def test_an_erased_payload_says_so(auditor: Client, agent: Agent) -> None:
    build.held(agent, "to be erased")
    AuditEntry.objects.filter(action="remember.held").update(payload=None)
    page = auditor.get(URL).content.decode()
    assert "What it held was erased" in page
    entry = AuditEntry.objects.get(action="remember.held")
    whole = auditor.get(f"/audit/{agent.pk}/{entry.sequence}/").content.decode()
    assert "What this entry held was erased" in whole


def test_a_long_payload_is_read_on_its_own_page_alone(
    auditor: Client, agent: Agent
) -> None:
    build.held(agent, "long " * 8_000)
    page = auditor.get(URL)
    assert len(page.content) < 100_000
    assert "What it holds is long" in page.content.decode()
    entry = AuditEntry.objects.get(action="remember.held")
    whole = auditor.get(f"/audit/{agent.pk}/{entry.sequence}/").content.decode()
    assert whole.count("long ") >= 8_000


@pytest.mark.case("D10")
def test_markup_in_an_entry_is_text(auditor: Client) -> None:
    bad = "<img src=x onerror=alert(1)><script>alert(2)</script>\u202e"
    agent = build.agent("bot")
    edit_agent(agent, name=bad, owner=None, actor=SYSTEM)
    build.reject(
        build.held(agent, bad, tags=[bad], metadata={bad: bad, "source": bad}), comment=bad
    )
    audit.append(
        [
            audit.Event(
                action=f"odd.{bad}"[:60],
                actor=Actor(kind="user", id="7", label=bad),
                agent=agent.pk,
                objects=(f"memory:{agent.pk}",),
                payload={bad: bad},
            )
        ]
    )
    addresses = [URL, *(f"/audit/{one.chain}/{one.sequence}/" for one in _entries(agent))]
    for address in addresses:
        page = auditor.get(address).content.decode()
        assert "<img src=x" not in page
        assert "<script>alert" not in page
        assert "\u202e" not in page


def _entries(agent: Agent) -> list[AuditEntry]:
    return list(AuditEntry.objects.filter(agent=agent))
