"""Inference that became fact: relabelled upward without a source, or born above its base."""

from collections.abc import Collection, Iterable
from typing import Any

import msgspec
from sqlalchemy.orm import Session

from scoring.labels import INFERENTIAL, Label, is_stronger, weakest
from service.events.vocabulary import EventType
from service.models import CogEvent
from service.ratios import queries
from service.ratios.census import category_of, counted, is_circular, raw_relabels
from service.ratios.figures import Counted, Json, Reading, share_json
from service.ratios.queries import EventRow
from service.ratios.window import View

_LABELLING = (
    EventType.BELIEF_CREATED,
    EventType.BELIEF_RELABELLED,
    EventType.BELIEF_OVERWRITTEN,
    EventType.BELIEF_INVALIDATED,
    EventType.BELIEF_SUPERSEDED,
)
STRONG = frozenset({Label.KNOW, Label.REMEMBER})
Order = tuple[int, str, int]


class _Sources(msgspec.Struct):
    sources: Any = None


class _Justifications(msgspec.Struct):
    justifications: Any = None


_sources = msgspec.json.Decoder(_Sources)
_justifications = msgspec.json.Decoder(_Justifications)


def _order(row: EventRow) -> Order:
    return (row.ts, row.log, row.seq)


class Labels:
    """The labels of some beliefs through time, folded as the ledger folds them."""

    def __init__(self, rows: Iterable[EventRow]) -> None:
        self._steps: dict[str, list[tuple[Order, Label | None]]] = {}
        created: set[str] = set()
        superseded: set[str] = set()
        for row in rows:
            is_birth = row.event == EventType.BELIEF_CREATED and row.belief_id not in created
            if is_birth:
                created.add(row.belief_id)
            elif row.event == EventType.BELIEF_CREATED or row.belief_id in superseded:
                continue
            if row.event == EventType.BELIEF_SUPERSEDED:
                if not is_circular(row.flags):
                    superseded.add(row.belief_id)
                continue
            steps = self._steps.setdefault(row.belief_id, [])
            current = steps[-1][1] if steps else None
            steps.append((_order(row), _next_label(row, current)))

    def at(self, belief_id: str, order: Order) -> Label | None:
        """The label a belief bore just before an event; None for a belief not known by then."""
        label = None
        for when, following in self._steps.get(belief_id, ()):
            if when >= order:
                break
            label = following
        return label


def _next_label(row: EventRow, current: Label | None) -> Label | None:
    if row.event == EventType.BELIEF_INVALIDATED:
        return current if current is Label.GUESS else Label.SUSPECT
    if row.event == EventType.BELIEF_OVERWRITTEN and row.label_to is None:
        return current
    return None if row.label_to is None else Label(row.label_to)


def read_labels(session: Session, view: View, belief_ids: Collection[str]) -> Labels:
    """The labels of beliefs up to the window's end."""
    return Labels(
        queries.events_about(
            session, view, CogEvent.belief_id, belief_ids, _LABELLING, CogEvent.flags
        )
    )


def read_laundering(session: Session, view: View) -> Reading:
    """Beliefs created as `infer` in the window, and which of them became fact without a source."""
    born = CogEvent.label_to == "infer"
    subjects = queries.subjects(view, CogEvent.belief_id, EventType.BELIEF_CREATED, born)
    lives: dict[str, list[EventRow]] = {}
    for row in queries.events_about(
        session, view, CogEvent.belief_id, subjects, _LABELLING, CogEvent.flags, CogEvent.detail
    ):
        lives.setdefault(row.belief_id, []).append(row)
    sources = _SourceLabels(session, view)
    sources.load(row for life in lives.values() for row in life)
    rows = [one for life in lives.values() if (one := _laundered(life, view, sources)) is not None]
    rows.sort(key=lambda one: (one.ts, one.log, one.seq))
    beside = {"raw": raw_relabels(session, view), "derived": read_derived(session, view)}
    return Reading(rows, "no belief was created as infer in the window", beside)


class _SourceLabels:
    """Whether a relabel cites a `know` source: by the label it gives, or by the belief it names."""

    def __init__(self, session: Session, view: View) -> None:
        self._session, self._view = session, view
        self._labels = Labels(())

    def load(self, rows: Iterable[EventRow]) -> None:
        """Reads the labels of beliefs that are cited by id alone."""
        cited = {
            identity
            for row in rows
            if row.event == EventType.BELIEF_RELABELLED
            for identity, label in _cited(row.detail)
            if label is None and identity is not None
        }
        if cited:
            self._labels = read_labels(self._session, self._view, cited)

    def hold_know(self, row: EventRow) -> bool:
        """Whether one of the sources is a `know`."""
        return any(
            (label or self._labels.at(identity or "", _order(row))) == Label.KNOW
            for identity, label in _cited(row.detail)
        )


def _cited(detail: str | None) -> list[tuple[str | None, str | None]]:
    """(id, label) of each source of a relabel; a source may be an object or an id alone."""
    sources = _sources.decode(detail).sources if detail else None
    found: list[tuple[str | None, str | None]] = []
    for source in sources if isinstance(sources, list) else []:
        if isinstance(source, str):
            found.append((source, None))
        elif isinstance(source, dict):
            identity, label = source.get("id"), source.get("label")
            found.append(
                (
                    identity if isinstance(identity, str) else None,
                    label if isinstance(label, str) else None,
                )
            )
    return found


def _laundered(life: list[EventRow], view: View, sources: _SourceLabels) -> Counted | None:
    """A belief as a member of the denominator; None when its first creation is another one."""
    creation = next(row for row in life if row.event == EventType.BELIEF_CREATED)
    if creation.label_to != Label.INFER or not view.window.holds(creation.ts):
        return None
    labels = Labels(life)
    is_laundered = any(
        row.event == EventType.BELIEF_RELABELLED
        and row.label_to in STRONG
        and _order(row) > _order(creation)
        and labels.at(row.belief_id, _order(row)) in INFERENTIAL
        and labels.at(row.belief_id, (row.ts, row.log, row.seq + 1)) == row.label_to
        and not sources.hold_know(row)
        for row in life
    )
    return counted(
        creation, counts=is_laundered, kind="belief", category=category_of(creation.detail)
    )


def read_derived(session: Session, view: View) -> Json:
    """Beliefs created stronger than the weakest member of their strongest justification (1.5).

    Of those created in the window with a label and resting on a belief whose label is known.
    """
    created = [
        (row, sets)
        for row in queries.events(
            session,
            view,
            [EventType.BELIEF_CREATED],
            CogEvent.detail,
            only=CogEvent.detail.contains('"justifications"', autoescape=True),
        )
        if row.label_to is not None and (sets := _sets(row.detail))
    ]
    labels = read_labels(
        session, view, {one for _, sets in created for group in sets for one in group}
    )
    stronger = total = 0
    for row, sets in created:
        known = [
            [label for one in group if (label := labels.at(one, _order(row))) is not None]
            for group in sets
        ]
        if not all(known):
            continue
        # Each set is enough by itself, so the belief may be as strong as the best of them.
        bound = min((weakest(group) for group in known), key=list(Label).index)
        total += 1
        stronger += is_stronger(Label(row.label_to), bound)
    return share_json(stronger, total)


def _sets(detail: str | None) -> list[list[str]]:
    sets = _justifications.decode(detail).justifications if detail else None
    return [
        [one for one in group if isinstance(one, str)]
        for group in (sets if isinstance(sets, list) else [])
        if isinstance(group, list)
    ]
