"""The clauses of a ``detail`` stay apart, whatever is written in them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from approvals import services
from memories.api.details import Detail, detail_after
from tests import build

WHY = Detail("held for review: it is odd; look twice", ("1 id is unknown", "a; b"))


@pytest.mark.parametrize("detail", [WHY, Detail(), Detail("why"), Detail("", ("note",))])
def test_a_kept_detail_is_read_back_as_it_was(detail: Detail) -> None:
    assert Detail.from_text(detail.to_text()) == detail


@pytest.mark.django_db
def test_an_approval_replaces_the_reason_and_keeps_every_note(api: build.Api) -> None:
    proposal = build.held(api.agent)
    build.approve(proposal)
    standing = services.standing(api.agent, proposal.pk)
    assert str(detail_after(WHY, standing)) == "1 id is unknown; a; b"
    assert standing.decision is not None
    edited = replace(standing, decision=replace(standing.decision, edits={"content": "x"}))
    after = detail_after(WHY, edited)
    assert str(after) == "approved with changes; 1 id is unknown; a; b"
