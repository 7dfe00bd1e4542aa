"""The ten ratios as spec 2.2 defines them: kind, target, dimensions, and who counts them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy.orm import Session

from scoring.figures import Target
from service.ratios import census, contradictions, laundering, sampled
from service.ratios.figures import Kind, RatioName, Reading
from service.ratios.sampled import Sample
from service.ratios.window import View


class Dimension(StrEnum):
    """What a figure may be grouped by."""

    WORKER = "worker"
    DAY = "day"
    WEEK = "week"
    CATEGORY = "category"
    MODEL = "model"
    COMMIT_SHA = "commit_sha"


_OF_TURNS = frozenset(Dimension) - {Dimension.CATEGORY}
_OF_BELIEFS = frozenset(Dimension)


@dataclass(frozen=True, slots=True)
class Definition:
    """One ratio. A census reads the session; a sampled figure reads the auditor's sample."""

    name: RatioName
    title: str
    kind: Kind
    target: Target | None
    dimensions: frozenset[Dimension]
    count: Callable[[Session, View], Reading] | None = None
    sample: Callable[[Sample], Reading] | None = None
    unit: str = "ratio"


_ALL = (
    Definition(
        RatioName.ABDUCTION_ENGAGEMENT, "Abduction engagement", Kind.SAMPLED,
        Target("rising", 1.0), _OF_TURNS, sample=sampled.read_engagement,
    ),
    Definition(
        RatioName.UNRECORDED_ASSERTIONS, "Unrecorded assertions", Kind.SAMPLED,
        Target("<", 0.10), _OF_TURNS, sample=sampled.read_unrecorded,
    ),
    Definition(
        RatioName.INFER_WITHOUT_ABDUCTION, "Infer without abduction", Kind.CENSUS,
        None, _OF_BELIEFS, count=census.read_infer_without_abduction,
    ),
    Definition(
        RatioName.LAUNDERING, "Laundering", Kind.CENSUS,
        Target("<", 0.01), _OF_BELIEFS, count=laundering.read_laundering,
    ),
    Definition(
        RatioName.CONTRADICTION_RESOLUTION, "Contradictions settled", Kind.CENSUS,
        Target(">", 0.7), _OF_TURNS, count=contradictions.read_contradiction_resolution,
    ),
    Definition(
        RatioName.CONTRADICTION_AGE, "Median age of open contradictions", Kind.CENSUS,
        Target("<", 7.0), _OF_TURNS, count=contradictions.read_contradiction_age, unit="days",
    ),
    Definition(
        RatioName.REVISION, "Revised after a challenge", Kind.CENSUS,
        Target(">", 0.5), _OF_BELIEFS, count=census.read_revision,
    ),
    Definition(
        RatioName.SILENT_OVERWRITES, "Silent overwrites", Kind.CENSUS,
        Target("<", 0.01), _OF_BELIEFS, count=census.read_silent_overwrites,
    ),
    Definition(
        RatioName.UNSUPPORTED_ASSERTIONS, "Unsupported assertions", Kind.SAMPLED,
        Target("falling"), _OF_TURNS, sample=sampled.read_unsupported,
    ),
    Definition(
        RatioName.DISCRIMINATOR_FOLLOW_THROUGH, "Discriminators acted on", Kind.CENSUS,
        Target(">", 0.5), _OF_TURNS, count=census.read_follow_through,
    ),
)  # fmt: skip
DEFINITIONS: Mapping[RatioName, Definition] = {one.name: one for one in _ALL}

IN_PATH_ENGAGEMENT = Definition(
    RatioName.ABDUCTION_ENGAGEMENT,
    "Abduction engagement, by the agent's own trigger",
    Kind.CENSUS,
    Target("rising", 1.0),
    _OF_TURNS,
    count=census.read_in_path_engagement,
)
"""The second reading of `abduction_engagement`: circular, and shown beside the first for that."""
