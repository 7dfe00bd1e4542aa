"""What the auditor's sample says: estimates over all turns, from the turns that were read."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy.orm import Session

from scoring.intervals import Interval
from scoring.sampling import (
    WeightedRatio,
    count_uncovered_turns,
    extrapolated_total,
    hajek_ratio,
    merge_small_strata,
)
from service.audits.vocabulary import TurnState
from service.events.vocabulary import EventType
from service.ratios import queries
from service.ratios.figures import Counted, Reading, share_json
from service.ratios.window import View

BUILTIN_METHOD = "builtin"
UNCORRECTED = "auditor-flagged, uncorrected"
BUILT_IN_CAVEAT = (
    "read by the built-in text method, not by a language model: it compares words and cannot weigh "
    "meaning"
)
UNMEASURED_CAVEAT = "the auditor's precision is unmeasured: there are no hand-checks yet"
NO_AUDIT = "no turn of the window has been audited"
NO_WRITES = (
    "the agent has reported no ledger write at all: by construction none of its assertions is "
    "recorded, as with imported transcripts"
)
CANNOT_JUDGE_SUPPORT = "the built-in auditor cannot tell an inferred claim from an unsupported one"
_MACHINERY = (EventType.ABDUCTION_INVOKED, EventType.GATE_DECIDED)

Stratum = tuple[tuple[str, str], str]


@dataclass(frozen=True, slots=True)
class ReadTurn:
    """A turn whose output the auditor read to the end."""

    turn_id: str
    session_id: str
    ts: int
    worker: str | None
    model: str | None
    commit_sha: str | None
    stratum: Stratum
    method: str


@dataclass(frozen=True, slots=True)
class Assertion:
    """One finding: an inferential assertion, counted once a session.

    `decisive_source` is None where the method cannot tell whether one was at hand.
    """

    row: Counted
    written: bool
    abducted: bool
    gated: bool
    tool_before: bool
    decisive_source: bool | None
    support: str | None


@dataclass(frozen=True, slots=True)
class Sample:
    """The auditor's turns that bear on a window.

    `turns` also holds turns of the same strata that lie outside the window: there they count
    nothing, but the strata's sizes and spreads are theirs too (estimation of a domain).
    """

    turns: tuple[ReadTurn, ...]
    in_window: tuple[ReadTurn, ...]
    populations: Mapping[Stratum, int]
    assertions: tuple[Assertion, ...]
    abduction_events: int
    unread: int
    turns_of_window: int
    reports_writes: bool

    @property
    def caveats(self) -> tuple[str, ...]:
        """What stands with every figure that rests on this sample."""
        if not self.in_window:
            return ()
        found = [UNCORRECTED, UNMEASURED_CAVEAT]
        if any(turn.method == BUILTIN_METHOD for turn in self.in_window):
            found.insert(1, BUILT_IN_CAVEAT)
        if self.unread:
            found.append(f"{self.unread} drawn turns of the window could not be read")
        strata = [turn.stratum for turn in self.turns]
        covered = sum(self.populations.values()) - count_uncovered_turns(strata, self.populations)
        if covered < self.turns_of_window:
            found.append(
                f"audits covered {covered} of the window's {self.turns_of_window} turns: nothing "
                "is said of the others"
            )
        return tuple(found)

    def ratio_of(self, rows: Iterable[Counted]) -> WeightedRatio:
        """Numerator over denominator of some assertions, estimated over all turns."""
        return self._ratio(rows, None)

    def per_turn(self, rows: Iterable[Counted]) -> WeightedRatio:
        """Assertions per turn, estimated over all turns."""
        return self._ratio(rows, {turn.turn_id: 1 for turn in self.in_window})

    def _ratio(self, rows: Iterable[Counted], per: Mapping[str, int] | None) -> WeightedRatio:
        hits: Counter[str] = Counter()
        members: Counter[str] = Counter()
        for row in rows:
            turn_id = row.turn_id or ""
            members[turn_id] += 1
            hits[turn_id] += row.counts
        numerators, denominators = (hits, members) if per is None else (members, per)
        return hajek_ratio(
            [numerators.get(turn.turn_id, 0) for turn in self.turns],
            [denominators.get(turn.turn_id, 0) for turn in self.turns],
            [turn.stratum for turn in self.turns],
            [turn.session_id for turn in self.turns],
            self.populations,
        )

    def total(self) -> tuple[float, Interval] | None:
        """How many assertions all turns of the covered strata hold, extrapolated (spec 2.5)."""
        counts = Counter(one.row.turn_id for one in self.assertions)
        return extrapolated_total(
            [counts[turn.turn_id] for turn in self.turns],
            [turn.stratum for turn in self.turns],
            self.populations,
        )

    def judged_by(self, judges: Callable[[ReadTurn], bool]) -> "Sample":
        """The part of the sample that was read by methods that can judge something."""
        turns = tuple(turn for turn in self.turns if judges(turn))
        kept = {turn.turn_id for turn in turns}
        strata = {turn.stratum for turn in turns}
        return replace(
            self,
            turns=turns,
            in_window=tuple(turn for turn in self.in_window if turn.turn_id in kept),
            populations={key: size for key, size in self.populations.items() if key in strata},
            assertions=tuple(one for one in self.assertions if one.row.turn_id in kept),
        )


def read_sample(session: Session, view: View) -> Sample:
    """Reads the sample; a turn that failed or was not reached is in no denominator."""
    drawn = queries.audited_turns(session, view)
    strata, populations = _strata(view, drawn)
    turns = tuple(
        ReadTurn(
            row.turn_id, row.session_id, row.ts, row.worker, row.model, row.commit_sha,
            strata[row.run_id, row.stratum], row.method or "unknown",
        )
        for row in drawn
        if row.state == TurnState.DONE
    )  # fmt: skip
    in_window = tuple(turn for turn in turns if view.window.holds(turn.ts))
    machinery = queries.events_in_audited_turns(session, view, _MACHINERY) if in_window else []
    seen = {(turn_id, event): count for turn_id, event, count in machinery}
    by_id = {turn.turn_id: turn for turn in in_window}
    return Sample(
        turns=turns,
        in_window=in_window,
        populations=populations,
        assertions=tuple(
            _assertion(row, by_id[row.turn_id], seen)
            for row in queries.findings(session, view)
            if row.turn_id in by_id
        ),
        abduction_events=sum(
            seen.get((turn_id, EventType.ABDUCTION_INVOKED), 0) for turn_id in by_id
        ),
        unread=sum(row.state != TurnState.DONE and view.window.holds(row.ts) for row in drawn),
        turns_of_window=queries.count_turns(session, view),
        reports_writes=queries.reports_writes(session, view),
    )


def _assertion(row: Any, turn: ReadTurn, seen: Mapping[tuple[str, str], int]) -> Assertion:
    # The finding knows what was recorded when it was made; events may have come later.
    abducted = bool(row.abducted) or (turn.turn_id, EventType.ABDUCTION_INVOKED) in seen
    gated = bool(row.gated) or (turn.turn_id, EventType.GATE_DECIDED) in seen
    counted = Counted(
        row.ts, row.log, row.seq, row.finding_id, "finding", False, row.session_id, row.turn_id,
        turn.worker, row.belief_id, None, turn.model, turn.commit_sha,
    )  # fmt: skip
    return Assertion(
        counted,
        bool(row.written),
        abducted,
        gated,
        bool(row.tool_before),
        None if row.decisive_source is None else bool(row.decisive_source),
        row.support,
    )


def _strata(
    view: View, drawn: Sequence[Any]
) -> tuple[dict[tuple[str, str], Stratum], dict[Stratum, int]]:
    """The stratum each drawn one belongs to after merging within its day, and the merged sizes."""
    sizes: dict[Stratum, int] = {}
    read: Counter[Stratum] = Counter()
    all_drawn: Counter[Stratum] = Counter()
    first: dict[tuple[str, str], Stratum] = {}
    for row in drawn:
        day = (row.run_id, view.day_of(row.ts))
        key = first.setdefault((row.run_id, row.stratum), (day, row.stratum))
        all_drawn[key] += 1
        read[key] += row.state == TurnState.DONE
        sizes[key] = max(sizes.get(key, 0), row.stratum_population, all_drawn[key])
    merged = merge_small_strata(sizes, read)
    populations: Counter[Stratum] = Counter()
    for key, size in sizes.items():
        populations[merged[key]] += size
    return {name: merged[key] for name, key in first.items()}, dict(populations)


def counting(assertions: Iterable[Assertion], counts: Callable[[Assertion], bool]) -> list[Counted]:
    """The assertions as members of a denominator, with those that count marked."""
    return [_marked(one.row, counts=counts(one)) for one in assertions]


def _marked(row: Counted, *, counts: bool) -> Counted:
    return Counted(
        row.ts, row.log, row.seq, row.id, row.kind, counts, row.session_id, row.turn_id,
        row.worker, row.subject, row.category, row.model, row.commit_sha,
    )  # fmt: skip


def _reading(sample: Sample, rows: list[Counted], **more: Any) -> Reading:
    empty = NO_AUDIT
    if sample.in_window:
        empty = f"no inferential assertion was found in {len(sample.in_window)} audited turns"
    beside = {"audited_turns": len(sample.in_window), **more.pop("beside", {})}
    return Reading(rows, empty, beside, sample.caveats, **more)


def read_engagement(sample: Sample) -> Reading:
    """Findings whose turn invoked abduction; `raw` counts invocations over findings, both in A."""
    rows = counting(sample.assertions, lambda one: one.abducted)
    raw = share_json(sample.abduction_events, len(rows))
    return _reading(sample, rows, beside={"raw": raw})


def read_unrecorded(sample: Sample) -> Reading:
    """Findings with no ledger write linked."""
    reading = _reading(sample, counting(sample.assertions, lambda one: not one.written))
    if sample.in_window and not sample.reports_writes:
        reading = replace(reading, caveats=(NO_WRITES, *reading.caveats))
    return reading


def read_unsupported(sample: Sample) -> Reading:
    """Findings judged unsupported or contradicted, where the method judges support."""
    rows = [one for one in sample.assertions if one.support is not None]
    unavailable = None
    if sample.in_window and all(turn.method == BUILTIN_METHOD for turn in sample.in_window):
        unavailable = CANNOT_JUDGE_SUPPORT
    weak = sum(one.support == "weak" for one in rows)
    marked = counting(rows, lambda one: one.support in ("unsupported", "contradicted"))
    return _reading(
        sample, marked, beside={"weak": share_json(weak, len(rows))}, unavailable=unavailable
    )
