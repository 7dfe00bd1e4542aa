from collections import Counter

import pytest

from service.errors import Malformed
from service.instants import parse_instant
from service.ratios.definitions import DEFINITIONS, Dimension
from service.ratios.figures import RatioName
from service.ratios.grouping import require_dimension
from tests.service.ratios.record_builder import RecordBuilder, at
from tests.service.ratios.seeing import ratios, view


@pytest.mark.parametrize("dimension", list(Dimension))
def test_counts_of_groups_add_up_to_the_whole(week: RecordBuilder, dimension: Dimension) -> None:
    found = ratios(view(week.database), week.database, dimension=dimension)
    grouped = 0
    for name, figure in found.figures.items():
        if dimension not in DEFINITIONS[name].dimensions:
            assert figure.groups is None
            continue
        assert figure.groups is not None
        assert sum(one.denominator for _, one in figure.groups) == figure.denominator
        if figure.numerator is not None:
            assert sum(one.numerator or 0 for _, one in figure.groups) == figure.numerator
        grouped += len(figure.groups)
    assert grouped > len(found.figures) / 2


def _groups(week: RecordBuilder, name: RatioName, dimension: Dimension) -> dict[str, float]:
    figure = ratios(view(week.database), week.database, names=[name], dimension=dimension)
    return {key: one.denominator for key, one in figure.figures[name].groups or ()}


def test_groups_are_what_the_rows_say(week: RecordBuilder) -> None:
    infer, laundering = RatioName.INFER_WITHOUT_ABDUCTION, RatioName.LAUNDERING
    assert _groups(week, infer, Dimension.WORKER) == {"day": 3, "night": 1}
    assert _groups(week, infer, Dimension.DAY) == {"2026-09-28": 2, "2026-09-29": 2}
    assert _groups(week, laundering, Dimension.WEEK) == {"2026-W40": 4}
    assert _groups(week, laundering, Dimension.CATEGORY) == {"forecast": 3, "system state": 1}
    # t1 and t2 have a transcript of model m1, b3 has no turn.
    assert _groups(week, infer, Dimension.MODEL) == {"(none)": 1, "m1": 3}
    assert _groups(week, infer, Dimension.COMMIT_SHA) == {"(none)": 1, "abc": 3}
    assert _groups(week, RatioName.UNRECORDED_ASSERTIONS, Dimension.MODEL) == {"m1": 1, "m2": 3}
    # A challenge has no category of its own: it is that of the belief.
    assert _groups(week, RatioName.REVISION, Dimension.CATEGORY) == {
        "forecast": 2, "system state": 1,
    }  # fmt: skip


def test_days_and_weeks_are_those_of_the_agents_zone(record: RecordBuilder) -> None:
    # 23:30 on Sunday in UTC is Monday in Berlin, also where the clocks change.
    sunday = parse_instant("2026-10-25T23:30:00Z")
    record.event("belief.created", sunday, belief_id="b", label_to="infer")
    record.event("belief.created", sunday - 60_000_000 * 60, belief_id="c", label_to="infer")
    name = RatioName.INFER_WITHOUT_ABDUCTION
    for dimension, expected in (
        (Dimension.DAY, {"2026-10-25": 1, "2026-10-26": 1}),
        (Dimension.WEEK, {"2026-W43": 1, "2026-W44": 1}),
    ):
        seen = view(record.database, until=at(60), zone="Europe/Berlin")
        figure = ratios(seen, record.database, names=[name], dimension=dimension).figures[name]
        assert Counter({key: one.denominator for key, one in figure.groups or ()}) == expected


def test_a_missing_dimension_is_refused_with_those_there_are() -> None:
    with pytest.raises(Malformed, match="worker, day, week, model, commit_sha"):
        require_dimension(DEFINITIONS[RatioName.CONTRADICTION_AGE], Dimension.CATEGORY)
