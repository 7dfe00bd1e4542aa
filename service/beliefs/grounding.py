"""Rules 3, 4 and 6: what a label rests on, and whether it bears it."""

from collections.abc import Iterable
from typing import Any

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from scoring.labels import INFERENTIAL, Label, is_stronger, weakest
from service.beliefs.grounds import (
    all_ids,
    content_key,
    evidence_ids,
    stored_evidence,
    stored_sets,
)
from service.beliefs.ledger import Ledger
from service.beliefs.projection import SUPERSEDED, BeliefState
from service.beliefs.queries import intact_sets
from service.beliefs.rules import Breaks, Rule
from service.events.queries import events_of
from service.events.schemas import Event
from service.events.vocabulary import EventType
from service.models import CogEvent, Turn

ASSERTED = frozenset({Label.KNOW, Label.REMEMBER})
# The events of a belief that may cite sources.
_CITING = (EventType.BELIEF_CREATED, EventType.BELIEF_RELABELLED)


def check_support(
    ledger: Ledger, event: Event, sets: list[list[str]], evidence: Iterable[str], pointer: str
) -> None:
    """Every member is a belief that stands, or evidence that is named; none leads back."""
    agent_id = event.agent_id
    members = all_ids(sets)
    known = ledger.states(agent_id, members)
    if unknown := sorted(members - known.keys() - set(evidence)):
        reason = (
            f"names {unknown[0]!r}, which is neither a belief of {agent_id!r} nor among the "
            "evidence: write it first, or list it as evidence"
        )
        raise Breaks(Rule.UNKNOWN_SUPPORT, pointer, reason, unknown[0])
    for name in sorted(known):
        if known[name].status == SUPERSEDED:
            raise closed(ledger, agent_id, name, pointer, "names")
    if ledger.leads_back(agent_id, sets, event.belief_id or ""):
        reason = f"leads back to {event.belief_id!r} itself: a belief is no ground of its own"
        raise Breaks(Rule.CIRCULAR_JUSTIFICATION, pointer, reason, event.belief_id)


def closed(ledger: Ledger, agent_id: str, belief_id: str, pointer: str, what: str) -> Breaks:
    """The refusal of what would build on a superseded belief; it names the head."""
    head = ledger.head(agent_id, belief_id)
    now = "its chain is a circle" if head is None else f"{head!r} stands for it now"
    return Breaks(
        Rule.SUPERSEDED,
        pointer,
        f"{what} {belief_id!r}, which is superseded: {now}",
        belief_id,
        head=head,
        version=ledger.version(agent_id, belief_id),
    )


def strength(ledger: Ledger, agent_id: str, sets: list[list[str]]) -> Label | None:
    """The label that justifications bear: the weakest member of the strongest; None bears any.

    Evidence has no label of its own, so a justification of evidence alone bears any.
    """
    found: list[Label] = []
    for names in sets:
        labels = [
            # What nobody labelled bears the least.
            Label(state.label) if state.label else Label.GUESS
            for state in ledger.states(agent_id, names).values()
        ]
        if not labels:
            return None
        found.append(weakest(labels))
    return min(found, key=list(Label).index, default=None)


def check_strength(label: Label, bound: Label | None, what: str) -> None:
    """Rule 4."""
    if bound is not None and is_stronger(label, bound):
        reason = f"is {label}, and {what} bears {bound} at most: write {bound}"
        raise Breaks(Rule.WEAKEST_LABEL, "/label", reason)


def borne_by(ledger: Ledger, state: BeliefState, added: list[list[str]]) -> Label | None:
    """The label that a belief can have by what it rests on and what is added to that."""
    sets = [*stored_sets(state.justifications), *added]
    intact = intact_sets(sets, ledger.fallen(state.agent_id, all_ids(sets)))
    if sets and not intact:
        return Label.SUSPECT
    return strength(ledger, state.agent_id, intact)


def is_promotion(before: str | None, after: Label) -> bool:
    """Whether a label begins to say that it is no inference any more."""
    return after in ASSERTED and (before is None or before in INFERENTIAL)


def check_sources(
    session: Session, ledger: Ledger, event: Event, before: str | None, after: Label
) -> None:
    """Rule 3: what was inferred becomes fact by a `know` that is recorded, and by nothing else."""
    sources = event.detail.get("sources") or []
    calls = [source for source in sources if isinstance(source, dict)]
    for call in calls:
        if not _is_stored(session, event.agent_id, call):
            reason = (
                f"cite tool call {call['tool_call']} of turn {call['turn_id']!r}, which is not "
                "stored: send the turn first"
            )
            raise Breaks(Rule.UNKNOWN_SUPPORT, "/sources", reason)
    if not is_promotion(before, after) or calls:
        return
    if not _is_known(ledger, event.agent_id, sources):
        reason = (
            f"makes {before or 'an unlabelled belief'} into {after} without a recorded know: cite "
            "one in `sources`, a belief or a tool call of a stored turn"
        )
        raise Breaks(Rule.LAUNDERING, "/sources", reason)


def laundered_by(
    session: Session, ledger: Ledger, old: BeliefState, successor: BeliefState
) -> str | None:
    """Why a belief that there is may not stand for an inference of the same words; None if it may.

    What its events cited as sources is judged as it stands now, like that of a new belief.
    """
    agent_id, name = old.agent_id, successor.belief_id
    if successor.label is None or not is_promotion(old.label, Label(successor.label)):
        return None
    old_content = ledger.content(agent_id, old.belief_id)
    if content_key(ledger.content(agent_id, name)) != content_key(old_content):
        return None
    told = events_of(session, agent_id, CogEvent.belief_id == name, _CITING)
    # Reported events may hold anything there.
    sources = [one for event in told for one in _listed(event.detail.get("sources"))]
    calls = [one for one in sources if isinstance(one, dict) and _is_call(one)]
    others = [one for one in sources if one != name]
    if any(_is_stored(session, agent_id, call) for call in calls) or _is_known(
        ledger, agent_id, others
    ):
        return None
    return (
        f"is {name!r}, held as {successor.label} without a recorded know, and {old.belief_id!r} "
        f"says the same as {old.label or 'an unlabelled belief'}: relabel that, and cite one"
    )


def _is_known(ledger: Ledger, agent_id: str, sources: list[Any]) -> bool:
    """Whether a recorded know that still stands is among the sources."""
    cited = ledger.states(agent_id, [one for one in sources if isinstance(one, str)])
    fallen = ledger.fallen(agent_id, cited.keys())
    return any(state.label == Label.KNOW and one not in fallen for one, state in cited.items())


def _listed(sources: Any) -> list[Any]:
    return sources if isinstance(sources, list) else []


def _is_call(source: dict[str, Any]) -> bool:
    call = source.get("tool_call")
    is_place = isinstance(call, int) and not isinstance(call, bool) and call >= 0
    return is_place and isinstance(source.get("turn_id"), str)


def _is_stored(session: Session, agent_id: str, call: dict[str, Any]) -> bool:
    if "\x00" in call["turn_id"]:
        return False  # no turn is called so, and one database would not even look
    payload = session.scalar(
        select(Turn.payload).where(Turn.agent_id == agent_id, Turn.turn_id == call["turn_id"])
    )
    if payload is None:
        return False
    calls = msgspec.json.decode(payload).get("tool_calls") or []
    return bool(call["tool_call"] < len(calls))


def check_evidence_is_new(ledger: Ledger, event: Event, sets: list[list[str]]) -> None:
    """What was superseded is held again only on evidence that it did not have then."""
    key = content_key(event.detail["content"])
    before: set[str] = set()
    given_up = None
    for state in ledger.dependents(event.agent_id, key)[0]:
        content = ledger.content(event.agent_id, state.belief_id)
        if state.status == SUPERSEDED and content_key(content) == key:
            given_up = given_up or state.belief_id
            before |= all_ids(stored_sets(state.justifications))
            before.update(stored_evidence(state.evidence))
    basis = all_ids(sets) | set(evidence_ids(event.detail.get("evidence") or []))
    if given_up is not None and basis <= before:
        raise Breaks(
            Rule.NOT_CURRENT,
            "/evidence",
            f"is what {given_up!r} rested on, which said the same and was superseded: name what "
            "is new",
            given_up,
            head=ledger.head(event.agent_id, given_up),
        )
