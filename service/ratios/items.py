"""The rows behind a figure, one page at a time, each saying whether it is in the numerator."""

from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy.orm import Session

from service.instants import format_instant
from service.ratios import queries
from service.ratios.figures import Counted, Json
from service.ratios.window import AsOf, View, Window

Cursor = tuple[int, str, int, int, int, int, int]
"""Place (ts, log, seq), then window and as_of of the first page, which the later ones keep."""

_FINDING = "finding"


def cursor_of(row: Counted, view: View) -> Cursor:
    """Where the page after a row begins."""
    window, as_of = view.window, view.as_of
    return (row.ts, row.log, row.seq, window.start, window.until, as_of.agent, as_of.audit)


def view_of(cursor: Cursor, view: View, current: AsOf) -> View:
    """The view of the page before; lengths that a cursor made up are cut to those there are."""
    *_, start, until, agent, audit = cursor
    as_of = AsOf(min(agent, current.agent), min(audit, current.audit))
    return View(view.agent_id, view.zone, as_of, Window(start, until))


def page(
    rows: Sequence[Counted], *, limit: int, after: Cursor | None
) -> tuple[list[Counted], bool]:
    """One page in the order (ts, log, seq), and whether more follow."""
    ordered = sorted(rows, key=_place)
    if after is not None:
        ordered = [row for row in ordered if _place(row) > after[:3]]
    return ordered[:limit], len(ordered) > limit


def _place(row: Counted) -> tuple[int, str, int]:
    return (row.ts, row.log, row.seq)


def shown(session: Session, agent_id: str, rows: Sequence[Counted]) -> list[Json]:
    """Rows as they stand in answers, with what was said: a finding's words, an event's detail."""
    quotes = queries.quotes_of(session, agent_id, [row.id for row in rows if row.kind == _FINDING])
    places = [(row.log, row.seq) for row in rows if row.kind != _FINDING]
    details = queries.details_of(session, agent_id, places)
    return [_row(row, quotes.get(row.id), details.get((row.log, row.seq))) for row in rows]


def _row(row: Counted, finding: Any, detail: str | None) -> Json:
    body: Json = {
        "counts": row.counts,
        "kind": row.kind,
        "ts": format_instant(row.ts),
        "log": row.log,
        "seq": row.seq,
        "session_id": row.session_id,
        "turn_id": row.turn_id,
        "worker": row.worker,
        "subject": row.subject,
    }
    if row.age_days is not None:
        # An age has no numerator: each open one is a value of the median.
        body["counts"] = None
        body["age_days"] = row.age_days
    if row.kind == _FINDING:
        body["finding_id"] = row.id
        if finding is not None:
            body.update(statement=finding.statement, quote=finding.quote, support=finding.support)
        return body
    body["event_id"] = row.id
    body["detail"] = msgspec.Raw((detail or "null").encode())
    return body
