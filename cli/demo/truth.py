"""The true numerator and denominator of each of the ten ratios of spec 2.2, counted on the way.

Every subject (a belief, a contradiction, a discriminator) carries the tallies of the windows it
was born in, so nothing is remembered but what is still alive.
"""

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from cli.demo.plan import DAY_US
from cli.demo.story import Support

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Ratio(StrEnum):
    """The ten bypass ratios by their names in the API."""

    ABDUCTION_ENGAGEMENT = "abduction_engagement"
    UNRECORDED_ASSERTIONS = "unrecorded_assertions"
    INFER_WITHOUT_ABDUCTION = "infer_without_abduction"
    LAUNDERING = "laundering"
    CONTRADICTION_RESOLUTION = "contradiction_resolution"
    CONTRADICTION_AGE = "contradiction_age"
    REVISION = "revision"
    SILENT_OVERWRITES = "silent_overwrites"
    UNSUPPORTED_ASSERTIONS = "unsupported_assertions"
    DISCRIMINATOR_FOLLOW_THROUGH = "discriminator_follow_through"


@dataclass(frozen=True, slots=True)
class TrueRatio:
    """A ratio as it really is; `contradiction_age` has no numerator, its value is in days."""

    numerator: int | None
    denominator: int
    value: float | None


@dataclass(frozen=True, slots=True)
class ClaimTruth:
    """An inferential sentence of a turn's output: its ledger write, its support, first or again."""

    text: str
    support: Support
    recorded: bool
    repeated: bool


@dataclass(frozen=True, slots=True)
class TurnTruth:
    """What an auditor without error would find in one turn."""

    turn_id: str
    session_id: str
    abduction: bool
    claims: tuple[ClaimTruth, ...]


@dataclass(frozen=True, slots=True)
class TrueWindow:
    """The ten ratios over `[start, until)`, and the turns whose transcript was sent in it."""

    start: datetime
    until: datetime
    turns: int
    ratios: Mapping[Ratio, TrueRatio]


@dataclass(frozen=True, slots=True)
class Truth:
    """The truth of every window that was counted: each week, the last 30 days, and those asked."""

    windows: tuple[TrueWindow, ...]

    def window(self, start: datetime, until: datetime) -> TrueWindow:
        """The truth over `[start, until)`; a window that was not counted is a `KeyError`."""
        for window in self.windows:
            if window.start == start and window.until == until:
                return window
        counted = ", ".join(f"{one.start:%F %T}/{one.until:%F %T}" for one in self.windows)
        raise KeyError(f"[{start}, {until}) was not counted; counted: {counted}")


@dataclass(slots=True, eq=False)
class Tally:
    """Counts of one window, in microseconds since 1970; compared by identity."""

    start: int
    until: int
    numerators: Counter[Ratio]
    denominators: Counter[Ratio]
    turns: int = 0
    open_ages_us: tuple[int, ...] = ()


Tallies = tuple[Tally, ...]


class TruthKeeper:
    """Counts over all windows at once while time moves forward."""

    def __init__(self, windows: Iterable[tuple[int, int]]) -> None:
        self.tallies = tuple(
            Tally(start, until, Counter(), Counter()) for start, until in sorted(set(windows))
        )
        self.active: Tallies = ()
        self.open_since: dict[str, int] = {}
        edges = {tally.start for tally in self.tallies} | {tally.until for tally in self.tallies}
        self._edges = sorted(edges, reverse=True)
        self.next_edge = self._edges[-1]

    def advance(self, now: int) -> None:
        """Move to `now`: windows that end get their open contradictions, others begin."""
        while self._edges and self._edges[-1] <= now:
            edge = self._edges.pop()
            for tally in self.tallies:
                if tally.until == edge:
                    tally.open_ages_us = tuple(edge - since for since in self.open_since.values())
        self.next_edge = self._edges[-1] if self._edges else 1 << 62
        self.active = tuple(tally for tally in self.tallies if tally.start <= now < tally.until)

    def finish(self) -> None:
        """Let all windows end."""
        if self._edges:
            self.advance(self._edges[0])

    def expect(self, ratio: Ratio, *, hit: bool = False) -> Tallies:
        """Add one to the denominator now, and to the numerator on a `hit`; the windows counted."""
        for tally in self.active:
            tally.denominators[ratio] += 1
            if hit:
                tally.numerators[ratio] += 1
        return self.active

    @staticmethod
    def credit(ratio: Ratio, tallies: Iterable[Tally], now: int) -> None:
        """Add one to the numerator of those of `tallies` that have not ended by `now`."""
        for tally in tallies:
            if now < tally.until:
                tally.numerators[ratio] += 1

    @staticmethod
    def withdraw(ratio: Ratio, tallies: Iterable[Tally], now: int) -> None:
        """Take one from the denominator of those of `tallies` that have not ended by `now`."""
        for tally in tallies:
            if now < tally.until:
                tally.denominators[ratio] -= 1

    def turn(self, turn: TurnTruth) -> None:
        """Count a turn whose transcript is sent; a claim said again is not counted again."""
        for tally in self.active:
            tally.turns += 1
        for claim in turn.claims:
            if claim.repeated:
                continue
            unsupported = claim.support in (Support.UNSUPPORTED, Support.CONTRADICTED)
            self.expect(Ratio.ABDUCTION_ENGAGEMENT, hit=turn.abduction)
            self.expect(Ratio.UNRECORDED_ASSERTIONS, hit=not claim.recorded)
            self.expect(Ratio.UNSUPPORTED_ASSERTIONS, hit=unsupported)

    def truth(self) -> Truth:
        """All windows as values."""
        return Truth(tuple(_closed(tally) for tally in self.tallies))


def _closed(tally: Tally) -> TrueWindow:
    ratios: dict[Ratio, TrueRatio] = {}
    for ratio in Ratio:
        numerator, denominator = tally.numerators[ratio], tally.denominators[ratio]
        value = numerator / denominator if denominator else None
        ratios[ratio] = TrueRatio(numerator, denominator, value)
    ratios[Ratio.CONTRADICTION_AGE] = _median_age(tally.open_ages_us)
    return TrueWindow(instant(tally.start), instant(tally.until), tally.turns, ratios)


def _median_age(ages_us: Sequence[int]) -> TrueRatio:
    value = statistics.median(ages_us) / DAY_US if ages_us else None
    return TrueRatio(None, len(ages_us), value)


def instant(microseconds: int) -> datetime:
    """The instant that many microseconds after 1970, UTC."""
    return EPOCH + timedelta(microseconds=microseconds)


def microseconds(moment: datetime) -> int:
    """Microseconds from 1970 to an instant, exactly; an instant without offset is refused."""
    if moment.tzinfo is None:
        raise ValueError(f"{moment.isoformat()} has no offset from UTC")
    return (moment - EPOCH) // timedelta(microseconds=1)
