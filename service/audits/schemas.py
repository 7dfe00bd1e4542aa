"""Wire shapes of audits."""

from datetime import date
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator


class AuditIn(BaseModel):
    """A request for an audit: one day, or the days of [from, until); days are the agent's."""

    model_config = ConfigDict(extra="forbid")

    agent: Annotated[str, Field(min_length=1, max_length=1024)] | None = None
    day: date | None = None
    since: Annotated[date | None, Field(alias="from")] = None
    until: date | None = None

    @model_validator(mode="after")
    def _one_way(self) -> "AuditIn":
        has_range = self.since is not None and self.until is not None
        if (self.day is not None) == has_range or (self.since is None) != (self.until is None):
            raise ValueError("name either a day, or from and until (a day not audited any more)")
        if self.since is not None and self.until is not None and self.since >= self.until:
            raise ValueError("until must lie after from: it is the first day not audited")
        if self.day == date.max:
            raise ValueError("there is no day after 9999-12-31 for it to end at")
        return self


class AuditQueuedOut(BaseModel):
    """A request that was taken down."""

    request_id: str
    state: str


class AuditRequestOut(BaseModel):
    """A request, what became of it, and the runs of its window."""

    request_id: str
    agent_id: str
    window: dict[str, str]
    state: str
    outcome: str | None
    requested_at: str
    audits: list[str]


class AuditOut(BaseModel):
    """A run. `turns` counts the drawn turns that are finished, by state."""

    audit_id: str
    agent_id: str
    window: dict[str, str]
    method: str
    method_version: str
    state: str
    population: int
    sample_size: int
    drawn: int
    turns: dict[str, int]
    sentences: int
    claims: int
    findings: int
    ledger: dict[str, Any] | None
    started_at: str
    finished_at: str | None


class AuditsOut(BaseModel):
    """A page of runs."""

    items: list[AuditOut]
    next: str | None


class StratumOut(BaseModel):
    """A stratum of a run: `day|worker`, or `late:day:worker` for turns that missed their night."""

    stratum: str
    population: int
    drawn: int
    finished: int


class AuditDetailOut(AuditOut):
    """A run with its strata."""

    strata: list[StratumOut]


class ContextQuoteOut(BaseModel):
    """A verbatim passage of the context that bears on a claim."""

    source: str
    id: str
    quote: str


class FindingOut(BaseModel):
    """An inferential assertion; a null is what the method cannot tell, never a no."""

    finding_id: str
    agent_id: str
    audit_id: str
    seq: int
    turn_id: str
    session_id: str
    ts: str
    statement: str
    quote: str
    quote_start: int
    quote_end: int
    context_quotes: list[ContextQuoteOut]
    support: str | None
    support_score: float | None
    expressed_confidence: float | None
    decisive_source: bool | None
    tool_before: bool
    abducted: bool
    gated: bool
    written: bool
    belief_id: str | None
    belief_label: str | None
    link_score: float | None


class FindingsOut(BaseModel):
    """A page of findings."""

    items: list[FindingOut]
    next: str | None
