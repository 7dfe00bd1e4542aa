"""Results as ratios, one row a question."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement: the ratio of each repeat, and what is asked of it.

    `target` is a floor, or a ceiling when `is_ceiling`.
    """

    what: str
    against: str
    ratios: Sequence[float]
    target: float
    absolute: str
    is_ceiling: bool = False

    @property
    def median(self) -> float:
        """The middle repeat."""
        return statistics.median(self.ratios)

    @property
    def holds(self) -> bool:
        """Whether the median keeps to the target."""
        return self.median <= self.target if self.is_ceiling else self.median >= self.target


def as_markdown(rows: Sequence[Row]) -> str:
    """The table of `docs/benchmarks.md`."""
    lines = [
        "| what | against | median | all repeats | asked | holds | absolute, this machine |",
        "| --- | --- | --: | --- | --: | --- | --- |",
    ]
    for row in rows:
        repeats = ", ".join(f"{ratio:.2f}" for ratio in row.ratios)
        sign = "≤" if row.is_ceiling else "≥"
        lines.append(
            f"| {row.what} | {row.against} | {row.median:.2f} | {repeats} | {sign} {row.target:g} "
            f"| {'yes' if row.holds else 'no'} | {row.absolute} |"
        )
    return "\n".join(lines)
