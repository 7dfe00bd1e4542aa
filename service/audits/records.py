"""What the auditor hands over to be stored; instants in microseconds since 1970 UTC."""

from collections.abc import Mapping
from dataclasses import dataclass

from service.audits.vocabulary import TurnState


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run about to begin over the turns of [`window_from`, `window_until`).

    `sample_size` is what was asked for; `drawn_seq` the length of the agent's log at the draw.
    """

    run_id: str
    agent_id: str
    window_from: int
    window_until: int
    method: str
    method_version: str
    seed: bytes
    sample_size: int
    population: int
    drawn_seq: int


@dataclass(frozen=True, slots=True)
class DrawnTurn:
    """A turn of the sample, in the order of reading from 1, with the sizes of its stratum."""

    turn_id: str
    position: int
    stratum: str
    stratum_population: int
    stratum_sample: int


@dataclass(slots=True)
class Lease:
    """The right to go on with a run: whoever wrote its last heartbeat holds it."""

    run_id: str
    agent_id: str
    heartbeat_at: int


@dataclass(frozen=True, slots=True)
class TurnFacts:
    """What is copied from a turn beside its judgement, so that figures need no join."""

    turn_id: str
    ts: int
    session_id: str
    worker: str | None
    model: str | None
    commit_sha: str | None


@dataclass(frozen=True, slots=True)
class FindingRecord:
    """One inferential assertion: `quote` is the output's text from `quote_start` to `quote_end`.

    `recorded` says whether the agent wrote the claim down itself, as a belief (`belief_id`, with
    the `link_score` by which it was found) or as an assertion.
    """

    finding_id: str
    statement: str
    quote: str
    quote_start: int
    quote_end: int
    context_quotes: tuple[tuple[str, str, str], ...]
    support: str | None
    support_score: float | None
    expressed_confidence: float | None
    decisive_source: bool | None
    tool_before: bool
    abducted: bool
    gate_decision: str | None
    gated: bool
    recorded: bool
    belief_id: str | None
    belief_label: str | None
    link_score: float | None


@dataclass(frozen=True, slots=True)
class JudgedTurn:
    """What became of a drawn turn, to be stored in one transaction."""

    turn: TurnFacts
    drawn: DrawnTurn
    state: TurnState
    reason: str | None
    sentences: int
    claims: int
    counts: Mapping[str, object]
    findings: tuple[FindingRecord, ...]
