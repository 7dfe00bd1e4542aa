"""Every belief event of a window, examined by rule: no model, no sample.

The rules are those of the owned ledger; a reported ledger may break them and is counted. What a
belief was labelled before is read from its own events, not from the `label_from` that a relabel
claims.
"""

import json
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from scoring.labels import INFERENTIAL, Label, is_stronger, label_confidence_mismatch, weakest
from service.events.vocabulary import EventType
from service.models import CogEvent


class LedgerRule(StrEnum):
    """What can be wrong with a ledger write."""

    LAUNDERING = "laundering"
    WEAKEST_LABEL = "weakest_label"
    LABEL_CONFIDENCE_MISMATCH = "label_confidence_mismatch"
    WITHOUT_TURN = "without_turn"
    UNLABELLED = "unlabelled"


SHOWN_EVENTS = 20
"""So many event ids are kept as examples of each rule."""

_BELIEF_EVENTS = sorted(event for event in EventType if event.startswith("belief."))
_WRITES = frozenset({EventType.BELIEF_CREATED, EventType.BELIEF_RELABELLED})
_RELABELLING = sorted(
    {
        EventType.BELIEF_CREATED,
        EventType.BELIEF_RELABELLED,
        EventType.BELIEF_OVERWRITTEN,
        EventType.BELIEF_INVALIDATED,
    }
)
_STRONG = frozenset({Label.REMEMBER, Label.KNOW})
_CHUNK = 1_000
Place = tuple[int, str, int]


@dataclass(frozen=True, slots=True)
class _Write:
    """A ledger write whose judgement needs the labels of other beliefs, or its own before."""

    event_id: str
    place: Place
    belief_id: str
    label: Label
    label_from: str | None
    sources: Any
    justifications: Any


class LabelHistory:
    """Which label each belief bore at which place in the record."""

    def __init__(self) -> None:
        self._places: defaultdict[str, list[Place]] = defaultdict(list)
        self._labels: defaultdict[str, list[Label | None]] = defaultdict(list)

    def add(self, belief_id: str, place: Place, label: str | None) -> None:
        """Adds a change; of one belief they come in order."""
        self._places[belief_id].append(place)
        self._labels[belief_id].append(None if label is None else Label(label))

    def before(self, belief_id: str, place: Place) -> Label | None:
        """The label just before a place; None where nothing is known of one."""
        index = bisect_left(self._places.get(belief_id, []), place)
        return self._labels[belief_id][index - 1] if index else None


def examine_ledger(session: Session, agent_id: str, since: int, until: int) -> dict[str, object]:
    """Counts by rule over the belief events of [since, until), and some event ids of each."""
    counts: Counter[str] = Counter()
    examples: defaultdict[str, list[str]] = defaultdict(list)
    dependent: list[_Write] = []
    for row in _events(session, agent_id, since, until):
        counts["examined"] += 1
        for rule in _simple_faults(row):
            _note(counts, examples, rule, row.event_id)
        if (write := _dependent_write(row)) is not None:
            dependent.append(write)
    history = _histories(session, agent_id, dependent, until)
    for write in dependent:
        if is_laundering(write, history):
            _note(counts, examples, LedgerRule.LAUNDERING, write.event_id)
        if _is_too_strong(write, history):
            _note(counts, examples, LedgerRule.WEAKEST_LABEL, write.event_id)
    return {
        "examined": counts["examined"],
        **{str(rule): counts[rule] for rule in LedgerRule},
        "examples": {str(rule): examples[rule] for rule in LedgerRule if examples[rule]},
    }


def _note(
    counts: Counter[str], examples: defaultdict[str, list[str]], rule: LedgerRule, event_id: str
) -> None:
    counts[rule] += 1
    if len(examples[rule]) < SHOWN_EVENTS:
        examples[rule].append(event_id)


def _events(session: Session, agent_id: str, since: int, until: int) -> Iterator[Any]:
    yield from session.execute(
        select(
            CogEvent.event_id, CogEvent.ts, CogEvent.log, CogEvent.seq, CogEvent.event,
            CogEvent.turn_id, CogEvent.belief_id, CogEvent.label_from, CogEvent.label_to,
            CogEvent.confidence, CogEvent.detail,
        )
        .where(
            CogEvent.agent_id == agent_id,
            CogEvent.event.in_(_BELIEF_EVENTS),
            CogEvent.ts >= since,
            CogEvent.ts < until,
        )
        .order_by(CogEvent.ts, CogEvent.log, CogEvent.seq)
        .execution_options(yield_per=_CHUNK)
    )  # fmt: skip


def _simple_faults(row: Any) -> Iterator[LedgerRule]:
    if row.event not in _WRITES:
        return
    if row.turn_id is None:
        yield LedgerRule.WITHOUT_TURN
    if row.label_to is None:
        yield LedgerRule.UNLABELLED
    elif label_confidence_mismatch(Label(row.label_to), row.confidence):
        yield LedgerRule.LABEL_CONFIDENCE_MISMATCH


def _dependent_write(row: Any) -> _Write | None:
    if row.event not in _WRITES or row.label_to is None or row.belief_id is None:
        return None
    detail = json.loads(row.detail or "{}")
    label = Label(row.label_to)
    is_relabel = row.event == EventType.BELIEF_RELABELLED
    justifications = detail.get("justifications")
    if not (is_relabel and label in _STRONG) and not justifications:
        return None
    return _Write(
        row.event_id,
        (row.ts, row.log, row.seq),
        row.belief_id,
        label,
        row.label_from if is_relabel else None,
        detail.get("sources") if is_relabel else None,
        justifications,
    )


def _histories(
    session: Session, agent_id: str, writes: Sequence[_Write], until: int
) -> LabelHistory:
    """The label histories of all beliefs that the writes touch or name."""
    wanted = {write.belief_id for write in writes}
    for write in writes:
        wanted.update(name for name, _ in _sources(write.sources))
        wanted.update(name for names in _justifications(write.justifications) for name in names)
    history = LabelHistory()
    ids = sorted(wanted)
    for start in range(0, len(ids), _CHUNK):
        rows = session.execute(
            select(
                CogEvent.belief_id, CogEvent.ts, CogEvent.log, CogEvent.seq, CogEvent.event,
                CogEvent.label_to,
            )
            .where(
                CogEvent.agent_id == agent_id,
                CogEvent.belief_id.in_(ids[start : start + _CHUNK]),
                CogEvent.event.in_(_RELABELLING),
                CogEvent.ts < until,
            )
            .order_by(CogEvent.belief_id, CogEvent.ts, CogEvent.log, CogEvent.seq)
        )  # fmt: skip
        for name, ts, log, seq, event, label_to in rows:
            belief_id, place, label = str(name), (ts, log, seq), label_to
            if event == EventType.BELIEF_INVALIDATED and label is None:
                is_guess = history.before(belief_id, place) is Label.GUESS
                label = Label.GUESS if is_guess else Label.SUSPECT
            if label is not None or event == EventType.BELIEF_CREATED:
                history.add(belief_id, place, label)
    return history


def is_laundering(write: _Write, history: LabelHistory) -> bool:
    """Whether infer, suspect or guess became remember or know without a `know` source."""
    was = history.before(write.belief_id, write.place) or write.label_from
    if was not in INFERENTIAL or write.label not in _STRONG:
        return False
    # What a source is labelled in the record outweighs what the relabel says of it.
    return not any(
        (history.before(name, write.place) or claimed) == Label.KNOW
        for name, claimed in _sources(write.sources)
    )


def _sources(sources: object) -> Iterator[tuple[str, object]]:
    """Each source's id ("" without one), and the label that the relabel claims for it."""
    for source in sources if isinstance(sources, list) else ():
        if isinstance(source, str):
            yield source, None
        elif isinstance(source, dict):
            name = source.get("id")
            yield (name if isinstance(name, str) else ""), source.get("label")


def _is_too_strong(write: _Write, history: LabelHistory) -> bool:
    """Whether a belief is stronger than the weakest member of its strongest justification.

    A justification of evidence alone, or of beliefs unknown here, bears any label.
    """
    strengths = []
    for names in _justifications(write.justifications):
        known = [label for name in names if (label := history.before(name, write.place))]
        if not known:
            return False
        strengths.append(weakest(known))
    return bool(strengths) and all(is_stronger(write.label, strength) for strength in strengths)


def _justifications(justifications: object) -> Iterator[list[str]]:
    for group in justifications if isinstance(justifications, list) else ():
        if isinstance(group, list):
            yield [name for name in group if isinstance(name, str)]
