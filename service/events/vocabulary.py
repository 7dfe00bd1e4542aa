"""The closed list of event types: what each must and should carry, and who may say it."""

from dataclasses import dataclass
from enum import StrEnum


class Log(StrEnum):
    """The two logs of an agent: what it wrote itself, and what was written about it."""

    AGENT = "agent"
    AUDIT = "audit"


class EventType(StrEnum):
    """All event types; a type of the agent's own begins with `x.` and is stored, not projected."""

    OPPORTUNITY_DETECTED = "opportunity.detected"
    GATE_DECIDED = "gate.decided"
    ASSERTION_MADE = "assertion.made"
    ABDUCTION_INVOKED = "abduction.invoked"
    ABDUCTION_COMPLETED = "abduction.completed"
    HYPOTHESES_GENERATED = "hypotheses.generated"
    DISCRIMINATOR_GENERATED = "discriminator.generated"
    DISCRIMINATOR_ACTED_ON = "discriminator.acted_on"
    EVIDENCE_RETRIEVED = "evidence.retrieved"
    BELIEF_CREATED = "belief.created"
    BELIEF_RELABELLED = "belief.relabelled"
    BELIEF_SUPERSEDED = "belief.superseded"
    BELIEF_OVERWRITTEN = "belief.overwritten"
    BELIEF_OVERWRITE_REFUSED = "belief.overwrite_refused"
    BELIEF_CHALLENGED = "belief.challenged"
    BELIEF_INVALIDATED = "belief.invalidated"
    CONTRADICTION_CREATED = "contradiction.created"
    CONTRADICTION_INVESTIGATED = "contradiction.investigated"
    CONTRADICTION_RESOLVED = "contradiction.resolved"
    CONTRADICTION_SCOPED = "contradiction.scoped"
    CONTRADICTION_EXPIRED = "contradiction.expired"
    PREDICTION_MADE = "prediction.made"
    PREDICTION_SCORED = "prediction.scored"
    INFERENCE_OUTCOME = "inference.outcome"
    SUMMARY_WRITTEN = "summary.written"
    SIGNAL_OBSERVED = "signal.observed"
    DECISION_RECORDED = "decision.recorded"
    OPERATOR_REPORTED = "operator.reported"
    FLAG_CHANGED = "flag.changed"
    LEDGER_REFUSED = "ledger.refused"


class Flag(StrEnum):
    """What was odd about a row that was recorded all the same."""

    INCOMPLETE = "incomplete"
    UNLABELLED = "unlabelled"
    LABEL_CONFIDENCE_MISMATCH = "label_confidence_mismatch"
    WRONG_LABEL_FROM = "wrong_label_from"
    ALREADY_CREATED = "already_created"
    SUBJECT_CLOSED = "subject_closed"
    UNEXPECTED_MOVE = "unexpected_move"
    UNEVIDENCED = "unevidenced"
    UNKNOWN_SUBJECT = "unknown_subject"
    CIRCULAR = "circular"
    TEXT_REPAIRED = "text_repaired"
    FUTURE_TIME = "future_time"


OWN_TYPE_PREFIX = "x."


@dataclass(frozen=True, slots=True)
class Expectation:
    """Fields by name; `detail.x` stands for a key inside `detail`."""

    must: tuple[str, ...] = ()
    should: tuple[str, ...] = ()


EXPECTATIONS: dict[str, Expectation] = {
    EventType.OPPORTUNITY_DETECTED: Expectation(("turn_id", "detail.source")),
    EventType.GATE_DECIDED: Expectation(("turn_id", "detail.decision")),
    EventType.ASSERTION_MADE: Expectation(
        ("turn_id", "detail.statement"), ("confidence", "detail.evidence")
    ),
    EventType.ABDUCTION_INVOKED: Expectation(
        ("turn_id",), ("detail.n_hypotheses", "detail.discriminator")
    ),
    EventType.ABDUCTION_COMPLETED: Expectation(
        ("turn_id",), ("detail.n_hypotheses", "detail.discriminator")
    ),
    EventType.HYPOTHESES_GENERATED: Expectation(("turn_id",), ("detail.n",)),
    EventType.DISCRIMINATOR_GENERATED: Expectation((), ("detail.discriminator_id",)),
    EventType.DISCRIMINATOR_ACTED_ON: Expectation((), ("detail.discriminator_id",)),
    EventType.EVIDENCE_RETRIEVED: Expectation((), ("detail.tool",)),
    EventType.BELIEF_CREATED: Expectation(
        ("belief_id",), ("worker", "detail.content", "detail.category")
    ),
    EventType.BELIEF_RELABELLED: Expectation(
        ("belief_id", "label_to"), ("label_from", "detail.sources")
    ),
    EventType.BELIEF_SUPERSEDED: Expectation(("belief_id",), ("detail.superseded_by",)),
    EventType.BELIEF_OVERWRITTEN: Expectation(("belief_id",)),
    EventType.BELIEF_OVERWRITE_REFUSED: Expectation(("belief_id",)),
    EventType.BELIEF_CHALLENGED: Expectation(("belief_id",), ("detail.by",)),
    EventType.BELIEF_INVALIDATED: Expectation(("belief_id",), ("detail.cause",)),
    EventType.CONTRADICTION_CREATED: Expectation(("contradiction_id",), ("detail.beliefs",)),
    EventType.CONTRADICTION_INVESTIGATED: Expectation(("contradiction_id",), ("detail.owner",)),
    EventType.CONTRADICTION_RESOLVED: Expectation(("contradiction_id",), ("detail.resolution",)),
    EventType.CONTRADICTION_SCOPED: Expectation(("contradiction_id",), ("detail.resolution",)),
    EventType.CONTRADICTION_EXPIRED: Expectation(("contradiction_id",)),
    EventType.PREDICTION_MADE: Expectation(("detail.prediction_id",), ("confidence",)),
    EventType.PREDICTION_SCORED: Expectation(("detail.prediction_id", "detail.outcome")),
    EventType.INFERENCE_OUTCOME: Expectation(
        ("detail.shadow_id", "detail.outcome", "detail.source")
    ),
    EventType.SUMMARY_WRITTEN: Expectation((), ("detail.labels_in", "detail.labels_out")),
    EventType.SIGNAL_OBSERVED: Expectation(("turn_id", "detail.signal")),
    EventType.DECISION_RECORDED: Expectation(("detail.decision_id", "detail.action")),
    EventType.OPERATOR_REPORTED: Expectation(("detail.text",)),
    EventType.FLAG_CHANGED: Expectation(("detail.flag", "detail.state")),
    EventType.LEDGER_REFUSED: Expectation(("detail.rule",)),
}

# Types that only the service, the auditor or an operator may say; the scope that allows it.
RESERVED: dict[str, str] = {
    EventType.BELIEF_OVERWRITE_REFUSED: "audit",
    EventType.LEDGER_REFUSED: "audit",
    EventType.OPERATOR_REPORTED: "operate",
}


class OpportunitySource(StrEnum):
    """Who saw an inference opportunity."""

    IN_PATH = "in_path"
    AUDITOR = "auditor"


class ResolutionSource(StrEnum):
    """Where ground truth came from, best first."""

    OPERATOR_CORRECTION = "operator_correction"
    TOOL_RESULT = "tool_result"
    PREDICTION = "prediction"
    KNOW_BELIEF = "know_belief"
    SELF_BELIEF = "self_belief"
