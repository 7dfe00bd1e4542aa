"""Measure the built-in auditor against claims that people labelled: `python -m bench.claims`."""

import argparse
import csv
import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from auditor.text.claims import no_claim_reason
from auditor.text.judge import ClaimKind, judge_output
from auditor.text.normalise import NEGATED, content_words, context_words, is_exact
from auditor.text.overlap import SUPPORT_THRESHOLD, ContextPiece
from auditor.text.sentences import split_sentences
from scoring.intervals import wilson

DEFAULT_DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "claims"

MAPPING = """\
One record is one answer with one evidence text. *Positive* (inferential: not in the evidence):
BEGIN "Not fully attributable"; FaithDial "Hallucination", "Partial Hallucination" and every label
that contains "hallucination". *Negative* (in context): BEGIN "Fully attributable"; FaithDial
"Entailment", also together with "uncooperative". Left out and counted: "Generic", and
"Uncooperative" alone. A record is called positive when the auditor finds at least one inferential
assertion in it; an answer in which it sees no claim is therefore called negative. Halves: the first
bit of the SHA-256 of evidence and answer."""


class Half(StrEnum):
    """Which half of the data a record is in."""

    DEVELOPMENT = "development"
    TEST = "test"


@dataclass(frozen=True, slots=True)
class Record:
    """One labelled answer; `inferential` is None where the label says neither."""

    data_set: str
    evidence: str
    answer: str
    label: str
    inferential: bool | None
    half: Half


@dataclass(frozen=True, slots=True)
class Confusion:
    """Counts of records, positive meaning inferential."""

    true_positive: int
    false_positive: int
    false_negative: int
    true_negative: int

    @property
    def balanced_accuracy(self) -> float:
        """Mean of recall and specificity, which does not depend on how common positives are."""
        recall = self.true_positive / (self.true_positive + self.false_negative)
        return (recall + self.true_negative / (self.true_negative + self.false_positive)) / 2

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall (van Rijsbergen 1979); NaN without positives."""
        wrong = self.false_positive + self.false_negative
        total = 2 * self.true_positive + wrong
        return 2 * self.true_positive / total if total else math.nan


def read_records(folder: Path) -> list[Record]:
    """Return all labelled records below a folder with `begin/*.tsv` and `faithdial/*.csv`."""
    return [
        *(record for path in sorted(folder.glob("begin/*.tsv")) for record in _read_begin(path)),
        *(
            record
            for path in sorted(folder.glob("faithdial/*.csv"))
            for record in _read_faithdial(path)
        ),
    ]


def _read_begin(path: Path) -> Iterator[Record]:
    name = {"cmu": "BEGIN, CMU-DoG", "wow": "BEGIN, Wizard of Wikipedia"}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            yield _record(
                name[row["data_source"]], row["knowledge"], row["response"], row["begin_label"]
            )


def _read_faithdial(path: Path) -> Iterator[Record]:
    model = path.name.split("_")[0]
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            evidence = row.get("knowledge") or row["evidence"]
            answer = row.get(model.lower()) or row.get("response") or ""
            label = row.get("begin_label") or row["BEGIN"]
            yield _record(f"FaithDial, {model}", evidence, answer, label)


def _record(data_set: str, evidence: str, answer: str, label: str) -> Record:
    folded = label.casefold()
    inferential: bool | None = None
    if "hallucination" in folded or folded == "not fully attributable":
        inferential = True
    elif folded.startswith("entail") or folded == "fully attributable":
        inferential = False
    digest = hashlib.sha256(f"{evidence}\x1f{answer}".encode()).digest()
    half = Half.TEST if digest[0] & 1 else Half.DEVELOPMENT
    return Record(data_set, evidence, answer, folded, inferential, half)


def finds_inference(record: Record) -> bool:
    """Return whether the auditor, as shipped, finds an inferential assertion in an answer."""
    context = [ContextPiece("memory", "evidence", record.evidence)]
    judged = judge_output(record.answer, context, [])
    return any(claim.kind is ClaimKind.INFERRED for claim in judged)


def confusion(records: Iterable[Record], predict: Callable[[Record], bool]) -> Confusion:
    """Return how a predictor's answers fall against the labels."""
    counts = Counter(
        (record.inferential, predict(record))
        for record in records
        if record.inferential is not None
    )
    return Confusion(
        counts[True, True], counts[False, True], counts[True, False], counts[False, False]
    )


def _share(numerator: int, denominator: int) -> str:
    interval = wilson(numerator, denominator)
    if interval is None:
        return "n/a"
    return f"{numerator / denominator:.3f} [{interval.low:.3f}, {interval.high:.3f}]"


def _row(name: str, records: Sequence[Record]) -> str:
    found = confusion(records, finds_inference)
    cells = (
        name,
        str(found.true_positive),
        str(found.false_positive),
        str(found.false_negative),
        str(found.true_negative),
        _share(found.true_positive, found.true_positive + found.false_positive),
        _share(found.true_positive, found.true_positive + found.false_negative),
        f"{found.f1:.3f}",
        _share(found.true_negative, found.true_negative + found.false_positive),
        str(sum(record.inferential is None for record in records)),
    )
    return "| " + " | ".join(cells) + " |"


def results_table(records: Sequence[Record]) -> str:
    """Return the shipped method's results by data set and pooled, as a Markdown table."""
    head = (
        "| data set | TP | FP | FN | TN | precision | recall | F1 | specificity | left out |\n"
        "| --- | --: | --: | --: | --: | --- | --- | --: | --- | --: |"
    )
    names = sorted({record.data_set for record in records})
    rows = [_row(name, [r for r in records if r.data_set == name]) for name in names]
    cooperative = [record for record in records if "uncooperative" not in record.label]
    with_claims = [record for record in records if _claims(record)]
    rows += [
        _row("**pooled**", records),
        _row("pooled, without any uncooperative answer", cooperative),
        _row("pooled, only answers in which it sees a claim", with_claims),
    ]
    return "\n".join([head, *rows])


def _claims(record: Record) -> list[frozenset[str]]:
    return [
        content_words(sentence.text)
        for sentence in split_sentences(record.answer)
        if no_claim_reason(sentence) is None
    ]


Rule = Callable[[frozenset[str], frozenset[str]], bool]


def _unweighted(threshold: float, *, exact: bool, negation: bool) -> Rule:
    """Return the rule "too few of the claim's words found", with its two variations."""

    def is_inferred(claim: frozenset[str], evidence: frozenset[str]) -> bool:
        if not negation:
            claim = frozenset(word.removeprefix(NEGATED) for word in claim)
            evidence = frozenset(word.removeprefix(NEGATED) for word in evidence)
        if exact and any(map(is_exact, claim - evidence)):
            return True
        return len(claim & evidence) / len(claim) < threshold

    return is_inferred


def _weighted(threshold: float, records: Iterable[Record]) -> Rule:
    """Return the rule with each word weighted by its rarity among the evidence texts."""
    texts = {record.evidence for record in records}
    frequency = Counter(word for text in texts for word in context_words(text))

    def weight(words: Iterable[str]) -> float:
        return math.fsum(math.log((len(texts) + 1) / (frequency[w] + 0.5)) for w in words)

    return lambda claim, evidence: weight(claim & evidence) < threshold * weight(claim)


def _opposed(threshold: float) -> Rule:
    """Return the shipped rule with one more ground: the evidence denies a word, or affirms it."""
    shipped = _unweighted(threshold, exact=True, negation=True)

    def is_inferred(claim: frozenset[str], evidence: frozenset[str]) -> bool:
        opposites = {
            word.removeprefix(NEGATED) if word.startswith(NEGATED) else NEGATED + word
            for word in claim - evidence
        }
        return shipped(claim, evidence) or bool(opposites & evidence)

    return is_inferred


def tried_table(records: Sequence[Record]) -> str:
    """Return what each rule tried reaches on the given (development) records, as Markdown."""
    parsed = {id(r): (_claims(r), context_words(r.evidence)) for r in records}
    rules: list[tuple[str, Rule]] = []
    for threshold in (0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9):
        at = f"{threshold:.2f}"
        rules += [
            (f"share < {at}", _unweighted(threshold, exact=False, negation=True)),
            (
                f"share < {at}, or a number absent",
                _unweighted(threshold, exact=True, negation=True),
            ),
            (
                f"share < {at}, negation ignored",
                _unweighted(threshold, exact=False, negation=False),
            ),
            (f"share < {at}, or number absent or polarity opposed", _opposed(threshold)),
            (f"share weighted by rarity < {at}", _weighted(threshold, records)),
        ]
    lines = [
        "| rule | precision | recall | F1 | specificity | balanced accuracy |",
        "| --- | --: | --: | --: | --: | --: |",
    ]
    for name, rule in rules:

        def predict(record: Record, rule: Rule = rule) -> bool:
            claims, evidence = parsed[id(record)]
            return any(rule(claim, evidence) for claim in claims)

        found = confusion(records, predict)
        positives = found.true_positive + found.false_negative
        called = found.true_positive + found.false_positive
        negatives = found.true_negative + found.false_positive
        lines.append(
            f"| {name} | {found.true_positive / called:.3f} | {found.true_positive / positives:.3f}"
            f" | {found.f1:.3f} | {found.true_negative / negatives:.3f}"
            f" | {found.balanced_accuracy:.3f} |"
        )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; without the data say so and succeed."""
    parser = argparse.ArgumentParser(prog="python -m bench.claims", description=__doc__)
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, metavar="DIR")
    parser.add_argument("--tried", action="store_true", help="also print the rules tried")
    options = parser.parse_args(arguments)
    records = read_records(options.data)
    if not records:
        print(f"No labelled claims (begin/*.tsv, faithdial/*.csv) in {options.data}: not measured.")
        return 0
    for half in (Half.TEST, Half.DEVELOPMENT):
        chosen = [record for record in records if record.half is half]
        print(f"\n### The {half} half: {len(chosen)} of {len(records)} records\n")
        print(results_table(chosen))
    print(f"\nThreshold {SUPPORT_THRESHOLD}. {MAPPING}")
    if options.tried:
        print("\n### Rules tried, on the development half\n")
        print(tried_table([r for r in records if r.half is Half.DEVELOPMENT]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
