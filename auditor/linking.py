"""By rule: did the agent write a claim down, with which label, and did its machinery run.

A ledger write of the same turn is linked by id where the agent gave one: an `assertion.made` that
states the claim and names the belief. Else by text: the belief whose content shares at least
`SAME_CLAIM_THRESHOLD` of the stemmed content words with the claim, each way. The score by which
it was found is kept.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from auditor.text.normalise import content_words
from auditor.text.overlap import SAME_CLAIM_THRESHOLD, shared_both_ways
from service.events.queries import events_of
from service.events.schemas import Event
from service.events.vocabulary import EventType, Log
from service.models import BeliefVersion, CogEvent

_TYPES = frozenset(
    {
        EventType.BELIEF_CREATED,
        EventType.BELIEF_RELABELLED,
        EventType.ASSERTION_MADE,
        EventType.ABDUCTION_INVOKED,
        EventType.GATE_DECIDED,
        EventType.EVIDENCE_RETRIEVED,
    }
)
_WRITES = frozenset({EventType.BELIEF_CREATED, EventType.BELIEF_RELABELLED})


@dataclass(frozen=True, slots=True)
class LedgerWrite:
    """A belief created or relabelled in a turn, with the words of its content."""

    belief_id: str
    label: str | None
    words: frozenset[str]


@dataclass(frozen=True, slots=True)
class Assertion:
    """What the agent said it asserted in a turn; `belief_id` where it named one."""

    belief_id: str | None
    words: frozenset[str]


@dataclass(frozen=True, slots=True)
class Link:
    """The ledger write that a claim was found in, and the score by which."""

    belief_id: str
    label: str | None
    score: float


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """What the agent recorded of a turn. `looked` says that a tool was read, by its own events."""

    writes: tuple[LedgerWrite, ...]
    assertions: tuple[Assertion, ...]
    abducted: bool
    gated: bool
    gate_decision: str | None
    looked: bool


def read_record(session: Session, agent_id: str, turn_id: str) -> TurnRecord:
    """The agent's own events of a turn; the audit log does not count as its record."""
    events = [
        event
        for event in events_of(session, agent_id, CogEvent.turn_id == turn_id, _TYPES)
        if event.log == Log.AGENT
    ]
    events.sort(key=lambda event: (event.ts, event.seq))
    gates = [event for event in events if event.event == EventType.GATE_DECIDED]
    return TurnRecord(
        writes=tuple(_writes(session, agent_id, events)),
        assertions=tuple(
            Assertion(event.belief_id or _named(event), _words(event.detail.get("statement")))
            for event in events
            if event.event == EventType.ASSERTION_MADE
        ),
        abducted=any(event.event == EventType.ABDUCTION_INVOKED for event in events),
        gated=bool(gates),
        gate_decision=_decision(gates[-1]) if gates else None,
        looked=any(
            event.event == EventType.EVIDENCE_RETRIEVED and event.detail.get("tool")
            for event in events
        ),
    )


def find_write(statement: str, record: TurnRecord) -> Link | None:
    """The ledger write of a claim, by id before text; of several the best, then the latest."""
    words = content_words(statement)
    labels = {write.belief_id: write.label for write in record.writes}
    by_id = [
        Link(assertion.belief_id, labels[assertion.belief_id], score)
        for assertion in record.assertions
        if assertion.belief_id in labels
        and (score := shared_both_ways(words, assertion.words)) >= SAME_CLAIM_THRESHOLD
    ]
    by_text = (
        Link(write.belief_id, labels[write.belief_id], score)
        for write in record.writes
        if (score := shared_both_ways(words, write.words)) >= SAME_CLAIM_THRESHOLD
    )
    return _best(by_id) or _best(by_text)


def is_asserted(statement: str, record: TurnRecord) -> bool:
    """Whether the agent recorded the claim as an assertion, with a ledger write or without."""
    words = content_words(statement)
    return any(
        shared_both_ways(words, assertion.words) >= SAME_CLAIM_THRESHOLD
        for assertion in record.assertions
    )


def _best(links: Iterable[Link]) -> Link | None:
    found = list(links)
    best = max((link.score for link in found), default=None)
    return next((link for link in reversed(found) if link.score == best), None)


def _writes(session: Session, agent_id: str, events: Sequence[Event]) -> Iterable[LedgerWrite]:
    writes = [event for event in events if event.event in _WRITES and event.belief_id]
    contents = _contents(
        session,
        agent_id,
        sorted({e.belief_id for e in writes if e.belief_id and "content" not in e.detail}),
    )
    for event in writes:
        assert event.belief_id is not None  # noqa: S101 - the vocabulary's must
        content = event.detail.get("content", contents.get(event.belief_id))
        yield LedgerWrite(event.belief_id, event.label_to, _words(content))


_CHUNK = 1_000


def _contents(session: Session, agent_id: str, belief_ids: Sequence[str]) -> dict[str, str | None]:
    """What each belief last said, for writes that only name it."""
    found: dict[str, str | None] = {}
    for start in range(0, len(belief_ids), _CHUNK):
        rows = session.execute(
            select(BeliefVersion.belief_id, BeliefVersion.content)
            .where(
                BeliefVersion.agent_id == agent_id,
                BeliefVersion.belief_id.in_(belief_ids[start : start + _CHUNK]),
            )
            .order_by(BeliefVersion.ts, BeliefVersion.log, BeliefVersion.seq)
        )
        found.update(rows.all())
    return found


def _named(event: Event) -> str | None:
    name = event.detail.get("belief_id")
    return name if isinstance(name, str) else None


def _decision(gate: Event) -> str | None:
    decision = gate.detail.get("decision")  # gone where an operator removed the detail
    return None if decision is None else str(decision)


def _words(text: object) -> frozenset[str]:
    return content_words(text) if isinstance(text, str) else frozenset()
