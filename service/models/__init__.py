"""All tables, one module a subject; importing this package fills `Record.metadata`."""

from service.models.agents import Agent, ApiKey
from service.models.audits import (
    AuditedTurn,
    AuditRequest,
    AuditRun,
    AuditSample,
    Finding,
)
from service.models.events import CogEvent, LogHead
from service.models.inferences import InferenceResolution, ShadowInference
from service.models.ledger import Belief, BeliefVersion, Contradiction, Prediction
from service.models.record import Record
from service.models.reports import BenchRun, WeeklyReport
from service.models.turns import Turn

__all__ = [
    "Agent",
    "ApiKey",
    "AuditRequest",
    "AuditRun",
    "AuditSample",
    "AuditedTurn",
    "Belief",
    "BeliefVersion",
    "BenchRun",
    "CogEvent",
    "Contradiction",
    "Finding",
    "InferenceResolution",
    "LogHead",
    "Prediction",
    "Record",
    "ShadowInference",
    "Turn",
    "WeeklyReport",
]
