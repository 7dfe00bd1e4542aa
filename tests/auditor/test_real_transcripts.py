"""A real agent's turns, audited end to end."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from auditor.method import builtin_method
from auditor.run import Auditor, RunOptions
from cli.importing.formats import read_records, recognise
from cli.importing.identity import Reading
from cli.importing.records import Record
from cli.importing.source import find_source
from service.db.database import Database
from service.instants import DAY, parse_instant
from service.models import Turn
from service.turns.queries import payload_of
from tests.auditor.recording import (
    AGENT,
    MONDAY,
    NOON,
    a_turn,
    audited,
    findings,
    record_turns,
    rows_of,
)

TAU_BENCH = (
    Path(__file__).parents[3]
    / "shared"
    / "data"
    / "transcripts"
    / "tau-bench"
    / "gpt-4o-airline.json"
)

pytestmark = pytest.mark.skipif(
    not TAU_BENCH.exists(), reason=f"no transcripts at {TAU_BENCH}: nothing real to audit"
)


def import_turns(database: Database) -> int:
    recognised = recognise(find_source(str(TAU_BENCH)))
    reading = Reading(source="tau", at=MONDAY, agent=AGENT, agent_is_given=True, model="gpt-4o")
    bodies: list[dict[str, Any]] = [
        dict(one.body)
        for _, records in read_records(recognised, reading)
        for one in records
        if isinstance(one, Record)
    ]
    for body in bodies:
        body["ts"] = parse_instant(str(body["ts"]))
    record_turns(database, [a_turn(**body) for body in bodies])
    return len(bodies)


def test_real_turns_are_audited_and_every_quote_stands_in_its_output(database: Database) -> None:
    count = import_turns(database)
    outcome = Auditor(database, builtin_method(), lambda: NOON + DAY, 50).audit_day(
        AGENT, date(2026, 10, 5), RunOptions(200)
    )
    assert outcome.audit.population == count
    assert outcome.audit.turns == {"done": 200, "failed": 0, "unjudged": 0}
    assert outcome.audit.claims > 200
    found = findings(database)
    assert 0 < len(found) < outcome.audit.claims
    outputs = {
        turn.turn_id: json.loads(bytes(payload_of(turn)["output"]))
        for turn in rows_of(database, Turn)
    }
    for finding in found:
        output = outputs[finding.turn_id]
        assert output[finding.quote_start : finding.quote_end] == finding.quote
    assert {row.model for row in audited(database)} == {"gpt-4o"}
