"""Reads figures of a view: gathers their rows once, judges them, groups them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from sqlalchemy.orm import Session

from service.ratios.definitions import DEFINITIONS, IN_PATH_ENGAGEMENT, Definition, Dimension
from service.ratios.figures import Figure, RatioName, Reading
from service.ratios.grouping import group
from service.ratios.judging import Counts, count, judge
from service.ratios.sampled import BUILTIN_METHOD, Sample, read_sample, read_unsupported
from service.ratios.signature import BypassSignature, bypass_signature
from service.ratios.window import View, Window


@dataclass(frozen=True, slots=True)
class Ratios:
    """Some of the ten ratios, and the signature where all that it needs was read."""

    figures: Mapping[RatioName, Figure]
    signature: BypassSignature | None


class Reader:
    """Reads one window of the record; the auditor's sample is read once, when first needed."""

    def __init__(self, session: Session, view: View) -> None:
        self.session, self.view = session, view
        self._sample: Sample | None = None
        self._readings: dict[tuple[RatioName, str], Reading] = {}

    @property
    def sample(self) -> Sample:
        """The auditor's turns of this window."""
        if self._sample is None:
            self._sample = read_sample(self.session, self.view)
        return self._sample

    def sample_for(self, definition: Definition) -> Sample:
        """The part of the sample whose method can judge what the figure asks."""
        if definition.sample is read_unsupported:
            return self.sample.judged_by(lambda turn: turn.method != BUILTIN_METHOD)
        return self.sample

    def reading(self, definition: Definition) -> Reading:
        """The rows of a ratio, read once."""
        key = (definition.name, definition.kind)
        if key not in self._readings:
            if definition.count is not None:
                self._readings[key] = definition.count(self.session, self.view)
            elif definition.sample is not None:
                part = self.sample_for(definition)
                # Without a turn left, the whole sample knows why.
                sample = part if part.in_window else self.sample
                self._readings[key] = definition.sample(sample)
        return self._readings[key]

    def counts(self, definition: Definition) -> Counts:
        """Counts and estimate of a ratio."""
        return count(definition, self.reading(definition).rows, self._part(definition))

    def groups(self, definition: Definition, dimension: Dimension) -> dict[str, Counts]:
        """Counts and estimate by group."""
        grouped = group(
            self.session, self.view, definition, dimension, self.reading(definition).rows
        )
        part = self._part(definition)
        return {key: count(definition, rows, part) for key, rows in grouped.items()}

    def _part(self, definition: Definition) -> Sample | None:
        return None if definition.sample is None else self.sample_for(definition)


@dataclass(frozen=True, slots=True)
class Readers:
    """A window and the one before it."""

    now: Reader
    before: Reader

    @classmethod
    def of(cls, session: Session, view: View, previous: Window | None = None) -> "Readers":
        """Readers of a view and of the window before: of the same length, unless one is given."""
        earlier = view.over(previous or view.window.before())
        return cls(Reader(session, view), Reader(session, earlier))

    def figure(self, definition: Definition, dimension: Dimension | None = None) -> Figure:
        """One figure, with its groups where a dimension is asked."""
        reading = self.now.reading(definition)
        before_reading = self.before.reading(definition)
        before = self.before.counts(definition)
        if before_reading.unavailable is not None:
            before = replace(before, value=None, interval=None)
        figure = judge(definition, self.now.counts(definition), before, reading)
        if dimension is None:
            return figure
        earlier = self.before.groups(definition, dimension)
        bare = replace(reading, beside={})
        groups = tuple(
            (key, judge(definition, counts, earlier.get(key), bare))
            for key, counts in self.now.groups(definition, dimension).items()
        )
        return replace(figure, groups=groups)

    def signature(self) -> BypassSignature:
        """Whether reasoning is bypassed, by the four figures that say so."""
        return bypass_signature(
            self.now.sample,
            {
                name: self.now.counts(DEFINITIONS[name])
                for name in (
                    RatioName.ABDUCTION_ENGAGEMENT,
                    RatioName.INFER_WITHOUT_ABDUCTION,
                    RatioName.REVISION,
                )
            },
        )


def engagement(
    readers: Readers,
    dimension: Dimension | None,
    *,
    in_path: bool = False,
    sees_audit: bool = True,
) -> Figure:
    """`abduction_engagement` by one reading, with the other beside it and their disagreement."""
    by_agent = readers.figure(IN_PATH_ENGAGEMENT, dimension if in_path else None)
    if not sees_audit:
        return by_agent.with_beside(source="in_path")
    definition = DEFINITIONS[RatioName.ABDUCTION_ENGAGEMENT]
    by_auditor = readers.figure(definition, None if in_path else dimension)
    disagreement = None
    if by_agent.value is not None and by_auditor.value is not None:
        disagreement = by_agent.value - by_auditor.value
    main, other = (by_agent, by_auditor) if in_path else (by_auditor, by_agent)
    return main.with_beside(
        source="in_path" if in_path else "auditor",
        **{"auditor" if in_path else "in_path": other.as_json()},
        disagreement=disagreement,
    )


def read_ratios(
    session: Session,
    view: View,
    names: Iterable[RatioName],
    *,
    dimension: Dimension | None = None,
    in_path: bool = False,
    sees_audit: bool = True,
) -> Ratios:
    """Some ratios of a view; those that lack the dimension come without groups."""
    readers = Readers.of(session, view)
    figures: dict[RatioName, Figure] = {}
    for name in names:
        definition = DEFINITIONS[name]
        by = dimension if dimension in definition.dimensions else None
        if name is RatioName.ABDUCTION_ENGAGEMENT:
            figures[name] = engagement(readers, by, in_path=in_path, sees_audit=sees_audit)
        else:
            figures[name] = readers.figure(definition, by)
    needs_all = sees_audit and len(figures) == len(RatioName)
    return Ratios(figures, readers.signature() if needs_all else None)
