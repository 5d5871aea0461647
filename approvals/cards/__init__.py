"""Everything a proposal's card shows, read at one moment."""

from __future__ import annotations

from approvals.cards.card import Card, card_for

__all__ = ["Card", "card_for"]
