"""Figures by worker, day, week, category, model or commit."""

from collections.abc import Callable, Iterable

from sqlalchemy.orm import Session

from service.errors import Fault, Malformed
from service.events.vocabulary import EventType
from service.models import CogEvent
from service.ratios import queries
from service.ratios.census import category_of
from service.ratios.definitions import Definition, Dimension
from service.ratios.figures import Counted, Kind
from service.ratios.window import View

NONE = "(none)"


def require_dimension(definition: Definition, dimension: Dimension) -> None:
    """Raises Malformed, naming the dimensions there are, when the figure has not this one."""
    if dimension not in definition.dimensions:
        known = ", ".join(one for one in Dimension if one in definition.dimensions)
        fault = Fault(
            "/query/group_by", f"{definition.name} is not kept by {dimension}: use one of {known}"
        )
        raise Malformed(f"{fault.reason}.", errors=(fault,))


def group(
    session: Session,
    view: View,
    definition: Definition,
    dimension: Dimension,
    rows: Iterable[Counted],
) -> dict[str, list[Counted]]:
    """Rows by their key, keys in order; every row is in exactly one group, so counts add up."""
    members = list(rows)
    key = _key_of(session, view, definition, dimension, members)
    groups: dict[str, list[Counted]] = {}
    for row in members:
        groups.setdefault(key(row) or NONE, []).append(row)
    return dict(sorted(groups.items()))


def _key_of(
    session: Session,
    view: View,
    definition: Definition,
    dimension: Dimension,
    rows: list[Counted],
) -> Callable[[Counted], str | None]:
    if dimension is Dimension.DAY:
        return lambda row: view.day_of(row.ts)
    if dimension is Dimension.WEEK:
        return lambda row: view.week_of(row.ts)
    if dimension is Dimension.WORKER:
        return lambda row: row.worker
    if dimension is Dimension.CATEGORY:
        return _category_key(session, view, rows)
    place = 0 if dimension is Dimension.MODEL else 1
    if definition.kind is Kind.SAMPLED:
        return lambda row: (row.model, row.commit_sha)[place]
    turn_ids = {row.turn_id for row in rows if row.turn_id is not None}
    facts = queries.turn_facts(session, view, turn_ids)
    return lambda row: facts.get(row.turn_id or "", (None, None))[place]


def _category_key(
    session: Session, view: View, rows: list[Counted]
) -> Callable[[Counted], str | None]:
    """The category that a belief's first creation gives it."""
    wanted = {row.subject for row in rows if row.category is None and row.subject is not None}
    found: dict[str, str | None] = {}
    for event in queries.events_about(
        session, view, CogEvent.belief_id, wanted, [EventType.BELIEF_CREATED], CogEvent.detail
    ):
        if event.belief_id not in found:
            found[event.belief_id] = category_of(event.detail)
    return lambda row: row.category or found.get(row.subject or "")
