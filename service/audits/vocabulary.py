"""The closed sets of the audit: what a run, a drawn turn and a request may be."""

from enum import StrEnum


class RunState(StrEnum):
    """What became of a run; `partial` is one whose budget ended before its sample."""

    RUNNING = "running"
    DONE = "done"
    PARTIAL = "partial"


class TurnState(StrEnum):
    """What became of a drawn turn; only `done` stands in the figures."""

    DONE = "done"
    FAILED = "failed"
    UNJUDGED = "unjudged"


class RequestState(StrEnum):
    """How far a request for a run is."""

    QUEUED = "queued"
    TAKEN = "taken"
    FINISHED = "finished"
