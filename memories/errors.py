"""What can be wrong, named by fact. ``code`` is public and never changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """One member at fault: ``pointer`` is a JSON Pointer (RFC 6901) into the request."""

    pointer: str
    message: str


class DomainError(Exception):
    """Base class. ``code`` is stable and public; the message is for people and may change."""

    code = "domain_error"
    http_status = 400
    title = "The request cannot be carried out"

    def __init__(self, message: str, *, faults: Sequence[Fault] = ()) -> None:
        super().__init__(message)
        self.faults = tuple(faults)


class Impossible(DomainError):
    """Valid by the schema, yet nothing that could be done."""

    code = "impossible"
    http_status = 422
    title = "The request is well formed but impossible"

    def __init__(self, message: str, *, pointer: str, code: str = "impossible") -> None:
        super().__init__(message, faults=[Fault(pointer, message)])
        self.code = code


class Malformed(DomainError):
    """Not what the contract allows: broken JSON, a wrong member, a wrong parameter."""

    code = "malformed"
    http_status = 400
    title = "The request is malformed"

    def __init__(
        self, message: str, *, code: str = "malformed", faults: Sequence[Fault] = ()
    ) -> None:
        super().__init__(message, faults=faults)
        self.code = code


class MemoryNotFound(DomainError):
    """Never existed, another agent's, forgotten, retired or expired: all the same."""

    code = "memory_not_found"
    http_status = 404
    title = "A memory is unknown"


class ProposalNotFound(DomainError):
    code = "proposal_not_found"
    http_status = 404
    title = "The proposal is unknown"


class StaleVersion(DomainError):
    """The change was drafted against a version that is no longer current."""

    code = "stale"
    http_status = 409
    title = "The memory moved on"


class ChangedSinceShown(DomainError):
    """The card that was decided on is not the proposal as it is now."""

    code = "changed_since_shown"
    http_status = 409
    title = "The proposal changed since it was shown"


class AlreadyDecided(DomainError):
    """Somebody was faster, or the proposal closed itself."""

    code = "already_decided"
    http_status = 409
    title = "The proposal is no longer pending"


class CannotUndo(DomainError):
    """Too late, undone already, or something it touched changed since."""

    code = "cannot_undo"
    http_status = 409
    title = "The decision can no longer be undone"


class KeyAlreadyMade(DomainError):
    """The same form was sent again; its key was shown then, and never is again."""

    code = "key_already_made"
    http_status = 409
    title = "The key was made already"


class NotAllowed(DomainError):
    """This person or key may not do this; the message says why."""

    code = "not_allowed"
    http_status = 403
    title = "Not allowed"

    def __init__(self, message: str, *, code: str = "not_allowed") -> None:
        super().__init__(message)
        self.code = code


class QueueFull(DomainError):
    """The agent has as many pending proposals as it may have."""

    code = "queue_full"
    http_status = 429
    title = "Too many proposals are waiting"
    retry_after = 60


class IdempotencyInProgress(DomainError):
    code = "idempotency_in_progress"
    http_status = 409
    title = "The first request with this key is still being worked on"
    retry_after = 1


class IdempotencyMismatch(DomainError):
    code = "idempotency_mismatch"
    http_status = 422
    title = "The key was used for another request"


class RecallUnavailable(DomainError):
    """No leg of the search can answer; never an empty list instead."""

    code = "index_unavailable"
    http_status = 503
    title = "Recall is unavailable for the moment"
    retry_after = 5


class RelevanceUnknown(DomainError):
    """A least relevance was asked for, and nobody measured the embedder."""

    code = "relevance_unknown"
    http_status = 422
    title = "Relevance has no meaning with this embedder"
