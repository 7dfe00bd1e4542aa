"""The closed sets of shadow inferences."""

from enum import StrEnum


class ContextKind(StrEnum):
    """What a companion row tells of."""

    TURN = "turn"
    GATE = "gate"
    PREDICTION = "prediction"


class Rule(StrEnum):
    """What stands against a resolution; named in the refusal and in the record of it."""

    TOOL_RESULT = "tool_result_cites_a_stored_tool_call"
    PREDICTION = "prediction_is_scored_and_about_the_claim"
    KNOW_BELIEF = "know_belief_cites_a_stored_tool_call_or_observation"
