"""The memory types a proposal is about: of what it makes and of what it touches.

A forget or an expire is about its targets alone; the type in its envelope is a claim.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from uuid import UUID

from django.db.models import Exists, OuterRef, Q

from approvals.models import Proposal, ProposalTarget
from memories.models import MemoryType

MAKES_OR_CHANGES = frozenset({Proposal.Op.REMEMBER, Proposal.Op.MERGE, Proposal.Op.REVISE})


def types_of(proposal: Proposal, touched: Iterable[str]) -> tuple[str, ...]:
    """Each type once, long-term ones first; ``touched`` are the types of the targets."""
    own = {proposal.memory_type} if proposal.op in MAKES_OR_CHANGES else set()
    return tuple(sorted({*touched, *own}, key=_long_term_first))


def about_type(memory_type: str) -> Q:
    """Proposals that are about a memory type."""
    of_type = {"proposal": OuterRef("pk"), "memory__memory_type": memory_type}
    makes = Q(op__in=MAKES_OR_CHANGES, memory_type=memory_type)
    return makes | Q(Exists(ProposalTarget.objects.filter(**of_type)))


def touched_types(proposals: Sequence[Proposal]) -> dict[UUID, set[str]]:
    """The types of the targets of each proposal, in one query."""
    found: dict[UUID, set[str]] = defaultdict(set)
    targets = ProposalTarget.objects.filter(proposal__in=[one.pk for one in proposals])
    pairs = targets.order_by().values_list("proposal_id", "memory__memory_type").distinct()
    for proposal_id, memory_type in pairs:
        found[proposal_id].add(memory_type)
    return found


def _long_term_first(memory_type: str) -> tuple[bool, str]:
    return not MemoryType(memory_type).is_long_term, memory_type
