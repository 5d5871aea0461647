"""What a card showed, as a digest: what the reviewer saw is what lands."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from hashlib import sha256

from approvals.models import Proposal
from memories.models import Memory


def seen_digest(proposal: Proposal, targets: Iterable[Memory], now: datetime) -> str:
    """Covers status, revision, the change, and version and state of each target."""
    covered = [
        proposal.status,
        proposal.revision,
        proposal.change_json,
        sorted(
            [str(memory.pk), memory.version, memory.state_at(now)] for memory in targets
        ),
    ]
    return sha256(json.dumps(covered, sort_keys=True).encode()).hexdigest()
