"""Builds small records by hand: events through the real append, audited turns as rows."""

import itertools
from collections.abc import Iterator
from typing import Any

from sqlalchemy.orm import Session

from service.app import projectors
from service.db.database import Database
from service.events.log import LogPositions
from service.events.operations import append
from service.events.schemas import Event
from service.events.vocabulary import Log
from service.instants import DAY, HOUR, parse_instant
from service.json_text import encode
from service.models import Agent, AuditedTurn, AuditRun, Finding, Turn

MONDAY = parse_instant("2026-09-28T00:00:00Z")
NEXT_MONDAY = MONDAY + 7 * DAY
AGENT = "piper"


def at(days: float = 0.0, hours: float = 0.0) -> int:
    """An instant after Monday 28 September 2026, 00:00 UTC."""
    return MONDAY + int(days * DAY + hours * HOUR)


class RecordBuilder:
    """Writes into the record of one agent, as ingestion and the auditor do."""

    def __init__(self, database: Database, *, time_zone: str = "UTC") -> None:
        self.database = database
        self._numbers: Iterator[int] = itertools.count(1)
        self._runs: set[str] = set()
        self.last_event_id = ""
        with database.write() as session:
            session.add(Agent(agent_id=AGENT, created_at=0, time_zone=time_zone))

    def event(self, event: str, ts: int, *, log: str = "agent", **fields: Any) -> None:
        """Appends one event."""
        self.events([(event, ts, {"log": log, **fields})])

    def events(self, told: list[tuple[str, int, dict[str, Any]]]) -> None:
        """Appends events in one transaction."""
        made = []
        for name, ts, fields in told:
            given = dict(fields)
            log = given.pop("log", "agent")
            detail = given.pop("detail", {})
            self.last_event_id = f"e{next(self._numbers)}"
            made.append(
                Event(
                    AGENT, log, self.last_event_id, ts, ts, name, detail=detail,
                    detail_text=encode(detail), **given,
                )
            )  # fmt: skip
        with self.database.write() as session:
            positions = LogPositions(session)
            positions.lock({(AGENT, one.log) for one in made})
            append(session, positions, made, projectors())
            positions.store()

    def turn(self, turn_id: str, ts: int, **fields: Any) -> None:
        """Stores a transcript."""
        given = {"session_id": "s1", "worker": None, "model": None, "commit_sha": None, **fields}
        with self.database.write() as session:
            session.add(
                Turn(
                    agent_id=AGENT, turn_id=turn_id, log=Log.AGENT,
                    seq=self._take(session, Log.AGENT), ts=ts, received_at=ts, payload="{}",
                    **given,
                )
            )  # fmt: skip

    def audited(
        self,
        turn_id: str,
        ts: int,
        findings: list[dict[str, Any]],
        *,
        population: int,
        sample: int,
        run_id: str = "run1",
        method: str = "builtin",
        stratum: str = "day",
        state: str = "done",
        **fields: Any,
    ) -> None:
        """Stores a judged turn with its findings, as one transaction of the auditor."""
        given = {"session_id": turn_id, "worker": "day", "model": None, "commit_sha": None}
        given.update(fields)
        with self.database.write() as session:
            self._run(session, run_id, method)
            session.add(
                AuditedTurn(
                    agent_id=AGENT, turn_id=turn_id, log=Log.AUDIT,
                    seq=self._take(session, Log.AUDIT), run_id=run_id, ts=ts, audited_at=ts,
                    stratum=stratum, stratum_population=population, stratum_sample=sample,
                    state=state, reason=None, sentences=3, claims=len(findings), counts="{}",
                    **given,
                )
            )  # fmt: skip
            for place, finding in enumerate(findings):
                session.add(
                    self._finding(session, turn_id, ts, run_id, place, given["session_id"], finding)
                )

    def _run(self, session: Session, run_id: str, method: str) -> None:
        if run_id not in self._runs:
            self._runs.add(run_id)
            start = MONDAY + len(self._runs)
            session.add(
                AuditRun(
                    run_id=run_id, agent_id=AGENT, window_from=start, window_until=start + DAY,
                    method=method, method_version="1", state="done", seed=b"", sample_size=50,
                    population=100, drawn_seq=0, started_at=0, heartbeat_at=0, finished_at=0,
                    ledger=None,
                )
            )  # fmt: skip

    def _finding(
        self, session: Session, turn_id: str, ts: int, run_id: str, place: int,
        session_id: str | None, told: dict[str, Any],
    ) -> Finding:  # fmt: skip
        facts = {
            "support": None, "decisive_source": None, "tool_before": 0, "abducted": 0, "gated": 0,
            "written": 0, **told,
        }  # fmt: skip
        return Finding(
            agent_id=AGENT, finding_id=f"{turn_id}-{place}", log=Log.AUDIT,
            seq=self._take(session, Log.AUDIT), run_id=run_id, turn_id=turn_id,
            session_id=session_id, ts=ts, statement=f"claim {place} of {turn_id}",
            quote=f"claim {place}", quote_start=0, quote_end=7, context_quotes="[]",
            support_score=None, expressed_confidence=None, belief_id=None, belief_label=None,
            link_score=None, **facts,
        )  # fmt: skip

    def _take(self, session: Session, log: Log) -> int:
        positions = LogPositions(session)
        positions.lock([(AGENT, str(log))])
        # These rows stand for what the auditor wrote; nobody here asks for their leaves.
        position = positions.take(AGENT, log, bytes(32))
        positions.store()
        return position

    def lay_down(self) -> None:
        """A week in which every ratio has something to count; the tests give the counts by hand."""
        _beliefs(self)
        _contradictions(self)
        _discriminators(self)
        _audit(self)


def _created(
    belief: str, ts: int, label: str | None = "infer", **fields: Any
) -> tuple[str, int, dict[str, Any]]:
    detail = {"content": f"content of {belief}", "category": fields.pop("category", "forecast")}
    detail.update(fields.pop("more", {}))
    return (
        "belief.created",
        ts,
        {"belief_id": belief, "label_to": label, "detail": detail, "worker": "day", **fields},
    )


def _relabelled(belief: str, ts: int, label: str, sources: list[Any]) -> tuple[str, int, Any]:
    fields = {
        "belief_id": belief,
        "label_from": "infer",
        "label_to": label,
        "detail": {"sources": sources},
        "worker": "night",
    }
    return ("belief.relabelled", ts, fields)


def _beliefs(record: RecordBuilder) -> None:
    record.events(
        [
            ("abduction.invoked", at(0, 0), {"turn_id": "t1"}),
            _created("b1", at(0, 1), turn_id="t1"),
            _created("b2", at(0, 2), turn_id="t2", category="system state"),
            _created("b3", at(1, 1), worker="night"),
            _created("b4", at(1, 2), turn_id="t2"),
            _created("k1", at(1, 3), "know"),
            # Laundered: b2 without a source, b3 with one that is no know; b4 has a know source.
            _relabelled("b2", at(2, 1), "remember", []),
            _relabelled("b2", at(2, 2), "know", []),
            _relabelled("b3", at(2, 3), "know", [{"id": "b1", "label": "infer"}]),
            _relabelled("b4", at(2, 4), "know", ["k1"]),
            _relabelled("b1", at(2, 5), "suspect", []),
            # Derived: stronger than b1 was; d2 has a second justification that bears it; d3 weaker.
            _created("d1", at(2, 6), "know", more={"justifications": [["b1", "k1"]]}),
            _created("d2", at(2, 7), "know", more={"justifications": [["b1"], ["k1"]]}),
            _created("d3", at(2, 8), "guess", more={"justifications": [["b1"]]}),
            # Challenged: b1 twice and then superseded, b2 superseded before, k1 never.
            ("belief.superseded", at(3, 0), {"belief_id": "b2", "detail": {"superseded_by": "x"}}),
            ("belief.challenged", at(3, 1), {"belief_id": "b1", "worker": "scan"}),
            ("belief.challenged", at(3, 2), {"belief_id": "b2", "worker": "scan"}),
            ("belief.challenged", at(3, 3), {"belief_id": "k1"}),
            ("belief.challenged", at(3, 4), {"belief_id": "b1"}),
            ("belief.superseded", at(4, 0), {"belief_id": "b1", "detail": {"superseded_by": "y"}}),
            ("belief.overwritten", at(4, 1), {"belief_id": "k1", "worker": "night"}),
            ("belief.overwrite_refused", at(4, 2), {"belief_id": "k1", "log": "audit"}),
        ]
    )


def _contradictions(record: RecordBuilder) -> None:
    created = "contradiction.created"
    dismissed = {"resolution": {"kind": "not_a_contradiction"}}
    told = [
        (created, at(-10), "c0", {}),
        (created, at(0), "c1", {}),
        (created, at(1), "c2", {}),
        (created, at(2), "c3", {}),
        (created, at(3), "c4", {}),
        (created, at(4), "c5", {}),
        ("contradiction.investigated", at(4, 1), "c1", {"owner": "day"}),
        ("contradiction.resolved", at(4, 2), "c1", {"resolution": {"kind": "resolved"}}),
        ("contradiction.scoped", at(4, 3), "c2", {"resolution": {"kind": "scoped"}}),
        ("contradiction.expired", at(4, 4), "c3", {}),
        # Out of a closed state nothing moves.
        ("contradiction.resolved", at(4, 5), "c3", {"resolution": {"kind": "resolved"}}),
        ("contradiction.resolved", at(4, 6), "c4", dismissed),
    ]
    record.events(
        [
            (event, ts, {"contradiction_id": identity, "detail": detail, "worker": "scan"})
            for event, ts, identity, detail in told
        ]
    )


def _discriminators(record: RecordBuilder) -> None:
    told = [
        ("discriminator.generated", 0, "g1"),
        ("discriminator.generated", 1, "g1"),
        ("discriminator.generated", 2, "g2"),
        ("discriminator.generated", 3, "g3"),
        ("discriminator.acted_on", 4, "g1"),
        ("discriminator.acted_on", 5, "g1"),
        ("discriminator.acted_on", -1, "g2"),
    ]
    record.events(
        [
            (event, at(5, hours), {"detail": {"discriminator_id": identity}, "worker": "day"})
            for event, hours, identity in told
        ]
    )


def _audit(record: RecordBuilder) -> None:
    for number in range(1, 5):
        record.turn(f"t{number}", at(0, number), model="m1", commit_sha="abc", worker="day")
    in_path = {"source": "in_path"}
    record.events(
        [
            ("opportunity.detected", at(0, 1), {"turn_id": "t1", "detail": in_path}),
            ("opportunity.detected", at(0, 2), {"turn_id": "t2", "detail": in_path}),
            (
                "opportunity.detected",
                at(0, 2),
                {"turn_id": "t2", "detail": {"source": "auditor"}, "log": "audit"},
            ),
        ]
    )
    # Half of four turns were read: each stands for two.
    record.audited(
        "t1", at(0, 1), [{"abducted": 1, "written": 1}], population=4, sample=2, model="m1"
    )
    record.audited(
        "t2", at(0, 2), [{}, {"gated": 1}, {"written": 1}], population=4, sample=2, model="m2"
    )
