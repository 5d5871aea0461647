"""Settings for web, worker and beat as processes of their own, without a Qdrant server.

Sound only because in those tests the worker is the one process that opens the index.
"""

from __future__ import annotations

from ampsite.settings import *  # noqa: F403

SILENCED_SYSTEM_CHECKS = ["ampsite.E002"]
