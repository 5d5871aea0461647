"""What a reviewer has typed into a card, kept whatever became of the decision."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.http import QueryDict

from approvals.cards import Card
from approvals.models import Decision
from approvals.services import unix_lines

LABELS = {"content": "Text", "tags": "Tags", "comment": "Comment"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """The values of the card's forms: as posted, else as proposed. ``unused`` are those
    that have no field to go back to, by label."""

    content: str
    tags: str
    expires_at: str
    reason: str
    comment: str
    unticked: frozenset[UUID]
    unused: tuple[tuple[str, str], ...]
    carried: tuple[tuple[str, str], ...]


def typed_into(card: Card, posted: QueryDict | None) -> Typed:
    shown = {
        "content": card.content,
        "tags": card.tags_text,
        "expires_at": card.instant_text,
        "reason": Decision.Reason.OTHER.value,
        "comment": "",
    }
    given = {
        name: unix_lines(str(posted[name])) for name in shown if posted and name in posted
    }
    new = {
        name: text
        for name, text in given.items()
        if name in LABELS and text != unix_lines(shown[name])
    }
    return Typed(
        **{**shown, **given},
        unticked=_unticked(card, posted),
        unused=tuple((LABELS[name], new[name]) for name in new if _homeless(card, name)),
        carried=tuple(new.items()),
    )


def _homeless(card: Card, name: str) -> bool:
    return not (card.can_decide if name == "comment" else card.can_edit)


def _unticked(card: Card, posted: QueryDict | None) -> frozenset[UUID]:
    if posted is None or "targets_shown" not in posted:
        return frozenset()
    kept = set(posted.getlist("memory_ids"))
    return frozenset(i for i in card.change.target_ids if str(i) not in kept)
