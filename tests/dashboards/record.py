"""A small record to show: what agents send, and a run of the auditor."""

from typing import Any

import httpx
from sqlalchemy import insert

from service.audits.vocabulary import RunState, TurnState
from service.db.database import Database
from service.instants import DAY, HOUR, format_instant, parse_instant
from service.models import AuditedTurn, AuditRun, AuditSample, Finding
from tests.service.factories import NOW

DAY_START = parse_instant("2026-10-02T00:00:00Z")


def send_events(client: httpx.Client, agent: str, *, at: int = NOW - HOUR, **fields: Any) -> None:
    """One event of an agent."""
    event = {"agent_id": agent, "event": "x.note", "ts": format_instant(at)} | fields
    answer = client.post("/v1/events", json=event)
    assert answer.status_code == 200, answer.text


def send_turns(client: httpx.Client, agent: str, *turn_ids: str, at: int = NOW - HOUR) -> None:
    """Turns of an agent, one a second."""
    turns = [
        {
            "agent_id": agent,
            "session_id": "s1",
            "turn_id": turn_id,
            "ts": format_instant(at + place * 1_000_000),
            "output": "The disk is full.",
        }
        for place, turn_id in enumerate(turn_ids)
    ]
    answer = client.post("/v1/turns", json=turns)
    assert answer.status_code == 200, answer.text


def store_run(
    database: Database,
    agent: str,
    *,
    state: RunState = RunState.DONE,
    start: int = DAY_START,
    started_at: int = NOW - HOUR,
    heartbeat_at: int = NOW - HOUR,
    drawn: int = 3,
    read: int = 2,
    failed: int = 1,
) -> None:
    """A run as the auditor stores it; each turn that was read has one finding."""
    run_id = f"{agent}-{start}"
    turns = [f"turn-{number}" for number in range(drawn)]
    states = [TurnState.DONE] * read + [TurnState.FAILED] * failed
    place = {"agent_id": agent, "run_id": run_id, "session_id": "s1", "ts": start}
    stratum = {"stratum": "day", "stratum_population": drawn, "stratum_sample": drawn}
    with database.write() as session:
        session.execute(
            insert(AuditRun).values(
                run_id=run_id, agent_id=agent, window_from=start, window_until=start + DAY,
                method="builtin", method_version="1", state=str(state), seed=b"s", sample_size=50,
                population=drawn, drawn_seq=drawn, started_at=started_at,
                heartbeat_at=heartbeat_at,
            )
        )  # fmt: skip
        for position, turn_id in enumerate(turns):
            session.execute(
                insert(AuditSample).values(
                    agent_id=agent, turn_id=turn_id, run_id=run_id, position=position, **stratum
                )
            )
        for seq, (turn_id, turn_state) in enumerate(zip(turns, states, strict=False), start=1_000):
            session.execute(
                insert(AuditedTurn).values(
                    turn_id=turn_id, log="audit", seq=seq, audited_at=NOW, state=str(turn_state),
                    sentences=1, claims=1, counts="{}", **place, **stratum,
                )
            )  # fmt: skip
            if turn_state is TurnState.DONE:
                session.execute(
                    insert(Finding).values(
                        finding_id=f"finding-{turn_id}", log="audit", seq=seq + 1_000,
                        turn_id=turn_id, statement="s", quote="q", quote_start=0, quote_end=1,
                        context_quotes="[]", tool_before=0, abducted=0, gated=0, written=0,
                        **place,
                    )
                )  # fmt: skip
