"""An audited record is as honest as before: what the auditor left follows from its log."""

from datetime import date

import pytest
from sqlalchemy import delete, update
from typer.testing import CliRunner

import triggers
from auditor.method import builtin_method
from auditor.run import Auditor, RunOptions
from cli.main import app as cli
from service.db.database import Database
from service.instants import DAY
from service.models import Finding, ShadowInference
from service.settings import Settings
from service.verification.comparing import Kind
from service.verification.rebuild import Comparison, compare_projections, repair_projections
from tests.auditor.recording import AGENT, NOON, a_turn, findings, record_turns, rows_of
from tests.service.factories import an_event, post

CLAIM = "The broker lost its lease because the clock jumped."


def an_audit(database: Database) -> None:
    """A real one of two claims: one that the agent recorded itself, and one that it did not."""
    told = a_turn("t2", output="The disk is full because the log was never rotated.", worker="day")
    record_turns(database, [a_turn("t1", output=CLAIM, commit_sha="abc"), told])
    statement = {"statement": "The disk is full because the log was never rotated."}
    post(database, [an_event("assertion.made", turn_id="t2", ts=told.ts, detail=statement)])
    auditor = Auditor(database, builtin_method(), lambda: NOON + 10 * DAY, 50)
    auditor.audit_day(AGENT, date(2026, 10, 5), RunOptions(50))
    sources = sorted(shadow.source for shadow in rows_of(database, ShadowInference))
    assert (len(findings(database)), sources) == (2, ["agent", "audit"])


def rebuilt(database: Database) -> Comparison:
    return compare_projections(database.reading, lambda _events: None)


def run(settings: Settings, *arguments: str) -> tuple[int, str]:
    given = {
        "DOXA_DATABASE_URL": settings.database_url or "",
        "DOXA_DATA_DIR": str(settings.data_dir),
    }
    result = CliRunner().invoke(cli, arguments, env=given)
    return result.exit_code, result.output


def test_an_audited_record_is_no_broken_one(database: Database, settings: Settings) -> None:
    an_audit(database)
    assert rebuilt(database).differences == []
    assert compare_projections(database.reading, lambda _: None, agent_id=AGENT).rows[
        "shadow_inferences"
    ] == 2  # fmt: skip
    for arguments in (["rebuild"], ["rebuild", "--write"]):
        code, output = run(settings, *arguments)
        assert code == 0, output
    code, output = run(settings, "verify", "--projections")
    # Without a checkpoint nothing is anchored outside: that is said, and nothing else.
    assert code == 3, output
    assert "Everything held" in output
    assert len(rows_of(database, ShadowInference)) == 2


def without_triggers(database: Database, statement: object, table: str) -> None:
    with database.write() as session:
        triggers.remove(session.connection(), table)
        assert session.execute(statement).rowcount == 1  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("statement", "forged"),
        ("label", "know"),
        ("evidence", "[{}]"),
        ("turn_id", "t2"),
        ("ts", 7),
    ],
)
def test_an_altered_shadow_of_a_finding_is_a_difference(
    database: Database, column: str, value: object
) -> None:
    an_audit(database)
    change = update(ShadowInference).where(ShadowInference.source == "audit")
    without_triggers(database, change.values({column: value}), "shadow_inferences")
    (one,) = rebuilt(database).differences
    assert (one.kind, set(one.columns)) == (Kind.CHANGED, {column})


def test_a_shadow_without_its_finding_is_a_difference_that_writing_leaves(
    database: Database,
) -> None:
    an_audit(database)
    (shadow,) = [one for one in rows_of(database, ShadowInference) if one.source == "audit"]
    finding_id = shadow.event_id.removeprefix("finding:")
    without_triggers(database, delete(Finding).where(Finding.finding_id == finding_id), "findings")
    assert [one.kind for one in rebuilt(database).differences] == [Kind.FOREIGN]
    assert repair_projections(database, lambda _: None).remaining == 1
    assert len(rows_of(database, ShadowInference)) == 2
