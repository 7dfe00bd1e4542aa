"""Which labels new beliefs bear, by writer, and where labels grew stronger on the way."""

import json
from collections import Counter
from typing import Any

from scoring.figures import Status
from scoring.labels import Label, is_stronger, weakest
from service.events.vocabulary import EventType
from service.models import CogEvent
from service.ratios import queries
from service.ratios.figures import Figure, Kind
from service.ratios.laundering import read_labels
from service.ratios.queries import EventRow
from service.ratios.reading import Reader
from service.reports.figures import MixRow, Part, Point

UNLABELLED = "unlabelled"
NO_WRITER = "(none)"


def label_mix(week: Reader, _before: Reader) -> Point:
    """Relabels from infer to remember, beside the mix and the summaries that came out stronger."""
    session, view = week.session, week.view
    created = queries.events(session, view, [EventType.BELIEF_CREATED])
    relabels = _infer_to_remember(week)
    summaries = [
        verdict
        for row in queries.events(session, view, [EventType.SUMMARY_WRITTEN], CogEvent.detail)
        if (verdict := came_out_stronger(json.loads(row.detail or "{}"))) is not None
    ]
    stronger = sum(summaries)
    is_empty = not created and not relabels and not summaries
    unlabelled = sum(row.label_to is None for row in created)
    return Point(
        None if is_empty else relabels,
        len(created),
        reason="no belief was written or relabelled in the week",
        parts=()
        if is_empty
        else (
            Part("unlabelled", "New beliefs without a label", _share(unlabelled, len(created))),
            Part(
                "stronger_summaries",
                "Summaries stronger than their weakest source",
                _share(stronger, len(summaries)),
            ),
        ),
        mix=_mix(created),
    )


def _share(numerator: int, denominator: int) -> Figure:
    return Figure(
        numerator / denominator if denominator else None,
        numerator,
        denominator,
        None,
        Status.NO_TARGET if denominator else Status.UNAVAILABLE,
        Kind.CENSUS,
        reason="there were none in the week",
    )


def _mix(created: Any) -> tuple[MixRow, ...]:
    by_writer: dict[str, Counter[str]] = {}
    for row in created:
        counts = by_writer.setdefault(row.worker or NO_WRITER, Counter())
        counts[row.label_to or UNLABELLED] += 1
    return tuple(
        MixRow(writer, tuple((label, counts[label]) for label in (UNLABELLED, *Label)))
        for writer, counts in sorted(by_writer.items())
    )


def _infer_to_remember(week: Reader) -> int:
    """Relabels as told; where the event does not say what the label was, the record does."""
    moved: list[EventRow] = [
        row
        for row in queries.events(week.session, week.view, [EventType.BELIEF_RELABELLED])
        if row.label_to == Label.REMEMBER
    ]
    untold = {row.belief_id for row in moved if row.label_from is None}
    labels = read_labels(week.session, week.view, untold)
    return sum(
        (row.label_from or labels.at(row.belief_id, (row.ts, row.log, row.seq))) == Label.INFER
        for row in moved
    )


def came_out_stronger(detail: dict[str, Any]) -> bool | None:
    """Whether a summary bears a label stronger than the weakest of its sources; None if untold."""
    going_in, coming_out = _labels(detail.get("labels_in")), _labels(detail.get("labels_out"))
    if not going_in or not coming_out:
        return None
    bound = weakest(going_in)
    return any(is_stronger(label, bound) for label in coming_out)


def _labels(counts: Any) -> list[Label]:
    known = list(Label)
    return [
        Label(label)
        for label, count in (counts.items() if isinstance(counts, dict) else ())
        if label in known and isinstance(count, int) and count > 0
    ]
