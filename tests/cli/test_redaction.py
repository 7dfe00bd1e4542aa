"""After payloads went, by age or one by one, everything else stands and says what is gone."""

import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select, update
from typer.testing import CliRunner

import triggers
from cli.main import app as cli
from service.app import projectors
from service.db.database import Database
from service.events.vocabulary import Log
from service.events.writer import Writer
from service.instants import DAY, format_instant
from service.models import CogEvent, Redaction, ShadowInference, Turn
from service.redactions import retention
from service.redactions.retention import BY, Aged, remove_aged
from service.settings import Settings
from service.upkeep import Upkeep
from tests.service.factories import AGENT, NOW, a_belief, a_client, an_event, post

OLD, YOUNG = NOW - 400 * DAY, NOW
TEXT = "what was said long ago; " * 40


def run(*arguments: str, settings: Settings) -> Any:
    given = {
        "DOXA_DATABASE_URL": settings.database_url or "",
        "DOXA_DATA_DIR": str(settings.data_dir),
    }
    return CliRunner().invoke(cli, list(arguments), env=given)


def a_record(database: Database, settings: Settings, *, turns: int = 30) -> None:
    """Old and young turns and events, and a shadow inference that quotes an old turn."""
    with a_client(settings) as client:
        for ts in (OLD, YOUNG):
            batch = [
                {
                    "agent_id": AGENT, "session_id": "s1", "turn_id": f"{ts}-{number}",
                    "ts": format_instant(ts + number), "output": TEXT,
                    "retrieved": [{"id": "m1", "content": "the disk is full"}],
                }
                for number in range(turns)
            ]  # fmt: skip
            client.post("/v1/turns", json=batch).raise_for_status()
    for ts in (OLD, YOUNG):
        post(database, [
            an_event("evidence.retrieved", ts=ts, detail={"tool": "sh", "text": TEXT}),
            an_event("evidence.retrieved", ts=ts, detail={"tool": "sh"}),
            an_event("summary.written", ts=ts, detail={"text": TEXT}),
            an_event("flag.changed", log=Log.AUDIT, ts=ts,
                     detail={"flag": "x", "state": TEXT}),
            a_belief(f"b{ts}", ts=ts, turn_id=f"{ts}-1",
                     detail={"content": TEXT, "evidence": ["m1"]}),
        ])  # fmt: skip


def left(database: Database) -> tuple[int, int]:
    """Payloads of turns and details of events that stand."""
    with database.read() as session:
        return (
            session.execute(select(func.count(Turn.payload))).scalar_one(),
            session.execute(select(func.count(CogEvent.detail))).scalar_one(),
        )


def test_what_is_old_goes_the_rest_stands_and_the_record_verifies(
    database: Database, settings: Settings
) -> None:
    a_record(database, settings)
    assert left(database) == (60, 10)
    planned = run("retention", "--older-than", "180d", "--dry-run", "--json", settings=settings)
    assert planned.exit_code == 0, planned.output
    assert left(database) == (60, 10)
    done = run("retention", "--older-than", "P180D", "--json", settings=settings)
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)
    # Short ones, the ledger's and those that figures are read from stay.
    assert (told["turns"], told["events"]) == (30, 2)
    same = ("turns", "events", "payload_bytes")
    assert [told[name] for name in same] == [json.loads(planned.output)[name] for name in same]
    assert left(database) == (30, 8)
    with database.read() as session:
        tombstones = session.execute(select(Redaction.removed_by, Redaction.reason)).all()
    assert {by for by, _ in tombstones} == {BY}
    assert all("older than P180D" in reason for _, reason in tombstones)
    assert len(tombstones) == 32
    verified = run("verify", "--json", settings=settings)
    assert verified.exit_code in (0, 3), verified.output
    assert "older than P180D" in verified.output
    rebuilt = run("rebuild", "--json", settings=settings)
    assert rebuilt.exit_code == 0, rebuilt.output
    account = json.loads(rebuilt.output)
    assert account["payloads_removed"] == {"turns": 30, "cog_events": 2}
    # The text that the belief of then rests on stands in its snapshot alone.
    assert account["evidence_not_comparable"] == 1
    again = run("retention", "--older-than", "180d", "--json", settings=settings)
    assert json.loads(again.output)["turns"] == 0


def test_evidence_that_an_event_told_is_not_missed_when_its_detail_went(
    database: Database, settings: Settings
) -> None:
    seen = {"tool": "sh", "evidence_id": "e1", "text": TEXT}
    post(database, [
        an_event("evidence.retrieved", ts=OLD, turn_id="t1", detail=seen),
        a_belief("b1", ts=OLD, turn_id="t1", detail={"evidence": ["e1"]}),
    ])  # fmt: skip
    for lost in (0, 1):
        rebuilt = run("rebuild", "--json", settings=settings)
        assert rebuilt.exit_code == 0, rebuilt.output
        assert json.loads(rebuilt.output)["evidence_not_comparable"] == lost
        assert run("retention", "--older-than", "180d", settings=settings).exit_code == 0
    assert left(database) == (0, 1)


def test_evidence_that_a_redacted_turn_does_not_explain_is_a_difference(
    database: Database, settings: Settings
) -> None:

    a_record(database, settings, turns=2)
    assert run("retention", "--older-than", "180d", settings=settings).exit_code == 0
    with database.write() as session:
        triggers.remove(session.connection(), "shadow_inferences")
        done = session.execute(update(ShadowInference).values(evidence='["m2"]'))
        assert done.rowcount == 2  # type: ignore[attr-defined]
    rebuilt = run("rebuild", "--json", settings=settings)
    assert rebuilt.exit_code == 1
    assert json.loads(rebuilt.output)["differences"] == 2


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_the_file_gets_smaller_and_holds_nothing_of_what_went(
    database: Database, settings: Settings
) -> None:
    secret = "a-secret-of-then-" * 3
    path = Path((settings.database_url or "").removeprefix("sqlite:///"))
    with a_client(settings) as client:
        batch = [
            {
                "agent_id": AGENT, "session_id": "s1", "turn_id": f"t{number}",
                "ts": format_instant(OLD + number), "output": secret * 200,
            }
            for number in range(300)
        ]  # fmt: skip
        client.post("/v1/turns", json=batch).raise_for_status()
    before = sum(part.stat().st_size for part in path.parent.glob(f"{path.name}*"))
    done = run("retention", "--older-than", "180d", "--json", settings=settings)
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)
    assert told["not_smaller"] is None
    assert path.stat().st_size == told["database_bytes"]["after"]
    assert path.stat().st_size < before / 4
    everything = b"".join(part.read_bytes() for part in path.parent.glob(f"{path.name}*"))
    assert secret.encode() not in everything
    assert run("verify", settings=settings).exit_code in (0, 3)


def test_it_goes_in_batches_and_goes_on_where_it_was_cut_off(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_record(database, settings)
    monkeypatch.setattr(retention, "BATCH", 7)
    steps: list[int] = []

    class CutOff(Exception):
        """As a kill would do it, between two transactions."""

    def stop_after_two(removed: int) -> None:
        steps.append(removed)
        # Others write between two batches.
        post(database, [an_event(ts=YOUNG)])
        if len(steps) == 2:
            raise CutOff

    aged = Aged(NOW - 180 * DAY, "180d", projectors())
    with pytest.raises(CutOff):
        remove_aged(database, aged, NOW, stop_after_two)
    assert steps == [7, 7]
    assert left(database)[0] == 60 - 14
    removed = remove_aged(database, aged, NOW, lambda _: None)
    assert (removed.turns, removed.events) == (30 - 14, 2)
    assert run("verify", settings=settings).exit_code in (0, 3)


def test_every_night_the_service_removes_what_has_reached_the_age(
    database: Database, settings: Settings
) -> None:
    a_record(database, settings)
    writer = Writer(database, projectors(), max_pending_items=1_000, clock=lambda: NOW)
    Upkeep(database, writer, clock=lambda: NOW).remove_aged_payloads()
    assert left(database) == (60, 10)
    upkeep = Upkeep(database, writer, clock=lambda: NOW, retain_payloads="180d")
    upkeep.remove_aged_payloads()
    assert left(database) == (30, 8)


def test_an_age_is_needed_and_must_be_one(settings: Settings) -> None:
    assert run("retention", settings=settings).exit_code == 2
    refused = run("retention", "--older-than", "soon", settings=settings)
    assert refused.exit_code == 2
    assert "soon" in refused.output
    with pytest.raises(ValueError, match="no duration"):
        Settings(retain_payloads="soon")


def test_health_says_how_full_the_disk_is(settings: Settings) -> None:
    settings.data_dir.mkdir(exist_ok=True)
    with a_client(settings) as client:
        ready = client.get("/readyz").json()
        assert 0 < ready["disk_used_share"] < 1
        assert 0 < ready["disk_free_bytes"] < ready["disk_total_bytes"]
        metrics = client.get("/metrics").text
        for name in ("doxa_disk_free_bytes", "doxa_disk_total_bytes", "doxa_database_bytes"):
            assert f"\n{name} " in metrics
