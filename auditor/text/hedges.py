"""Read the confidence that a sentence expresses in its own words."""

import re

# The anchors are Sherman Kent's words of estimative probability (Studies in Intelligence, 1964):
# certain 1, almost certain 0.93, probable 0.75, even 0.5, probably not 0.3, almost certainly
# not 0.07. The rest is placed between them by Kent's own lists of equivalents, or by our judgement.
HEDGES: tuple[tuple[str, float], ...] = (
    (r"almost certainly not|almost no chance", 0.07),
    (r"(?:very|highly|extremely) unlikely", 0.1),
    (r"unlikely|improbable|doubtful|i doubt", 0.25),
    (r"almost certain(?:ly)?|virtually certain|nearly certain", 0.93),
    (r"(?:very|highly|most) (?:likely|probabl[ey])|very confident|i(?:'m| am) confident", 0.9),
    (r"definitely|certainly|undoubtedly|without (?:a )?doubt|i(?:'m| am) (?:certain|sure)", 0.97),
    (r"must (?:be|have been)|clearly", 0.9),
    (r"probabl[ey]|likely|presumably|i (?:believe|expect)|we believe|i would expect", 0.75),
    (r"i think|we think|seems?|appears?|apparently|it looks like|looks like|suggests? that", 0.65),
    (r"i suspect|i assume|assuming|supposedly|should be able to", 0.6),
    (r"(?:about|roughly) even|fifty-fifty|50/50", 0.5),
    (r"maybe|perhaps|possibl[ey]|might|may (?:be|have|not be|also be)|could (?:be|have been)", 0.4),
    (
        r"not (?:entirely |completely |quite |100% )?(?:sure|certain)|i guess|my guess|wild guess",
        0.4,
    ),
)
"""A pattern over case-folded text and the probability it expresses; the first match wins."""

_PATTERN = re.compile(
    r"\b(?:" + "|".join(f"(?P<h{i}>{pattern})" for i, (pattern, _) in enumerate(HEDGES)) + r")\b"
)
_PERCENT = re.compile(
    r"\b(\d{1,3}(?:\.\d{1,4})?) ?(?:%|percent|per cent) "
    r"(?:sure|certain|confident|confidence|likely|likelihood|chance|probability)\b"
    r"|\b(?:confidence|probability|likelihood)(?: is| of|:)? (\d{1,3}(?:\.\d{1,4})?) ?%"
)


def expressed_confidence(text: str) -> float | None:
    """Return the lowest probability in [0, 1] that a sentence expresses, or None when unhedged."""
    spoken = text.replace("\u2019", "'").casefold()
    stated = [float(match[1] or match[2]) / 100 for match in _PERCENT.finditer(spoken)]
    values = [value for value in stated if value <= 1]
    if not values:
        values = [
            HEDGES[int(match.lastgroup[1:])][1]
            for match in _PATTERN.finditer(spoken)
            if match.lastgroup is not None
        ]
    return min(values, default=None)
