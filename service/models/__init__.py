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
from service.models.hand_checks import HandCheck, HandCheckVerdict
from service.models.inferences import InferenceContext, InferenceResolution, ShadowInference
from service.models.ledger import (
    Belief,
    BeliefSupport,
    BeliefVersion,
    Contradiction,
    Prediction,
)
from service.models.record import Committed, Record
from service.models.reports import BenchRun, WeeklyReport
from service.models.requests import IdempotencyKey
from service.models.trust import LedgerChange, PublishedChange, Redaction
from service.models.turns import Turn

__all__ = [
    "Agent",
    "ApiKey",
    "AuditRequest",
    "AuditRun",
    "AuditSample",
    "AuditedTurn",
    "Belief",
    "BeliefSupport",
    "BeliefVersion",
    "BenchRun",
    "CogEvent",
    "Committed",
    "Contradiction",
    "Finding",
    "HandCheck",
    "HandCheckVerdict",
    "IdempotencyKey",
    "InferenceContext",
    "InferenceResolution",
    "LedgerChange",
    "LogHead",
    "Prediction",
    "PublishedChange",
    "Record",
    "Redaction",
    "ShadowInference",
    "Turn",
    "WeeklyReport",
]
