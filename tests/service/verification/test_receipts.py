"""A receipt is kept by the log, or `doxa verify --receipts` says that it is not."""

import json
import subprocess
from pathlib import Path

import pytest
from sqlalchemy import select

import triggers
from service.db.database import Database
from service.models import ShadowInference
from service.settings import Settings
from service.trust.receipts import receipt_of
from tests.processes import ROOT, doxa, environment
from tests.service.verification.recording import faults, verified, write_rows


@pytest.fixture
def receipts(database: Database, tmp_path: Path) -> Path:
    """The receipts of three shadow inferences, as three ways of keeping them."""
    write_rows(database, 0, 3)
    with database.read() as session:
        rows = session.execute(
            select(
                ShadowInference.log, ShadowInference.seq, ShadowInference.leaf_hash,
                ShadowInference.shadow_id,
            ).order_by(ShadowInference.seq)
        ).all()  # fmt: skip
    one, two, three = (receipt_of(log, seq, leaf or b"", name) for log, seq, leaf, name in rows)
    lines = [
        {
            "log": one.log, "index": one.index, "leaf_hash": one.leaf_hash,
            "shadow_id": one.shadow_id,
        },
        {
            "agent_id": "piper", "shadow_id": two.shadow_id,
            "receipt": {"log": two.log, "seq": two.index + 1, "leaf_hash": two.leaf_hash},
        },
        {
            "accepted": 1,
            "receipts": [
                {
                    "log": three.log, "index": three.index, "leaf_hash": three.leaf_hash,
                    "shadow_id": three.shadow_id,
                }
            ],
        },
    ]  # fmt: skip
    path = tmp_path / "receipts.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in lines) + "\n\n")
    return path


def test_receipts_that_are_kept_hold(settings: Settings, receipts: Path) -> None:
    code, account = verified(settings, "--receipts", str(receipts))
    assert (code, account["receipts"], account["faults"]) == (3, 3, [])


def test_the_answer_of_a_ledger_call_is_a_line_of_receipts_as_well(
    settings: Settings, receipts: Path
) -> None:
    first = json.loads(receipts.read_text().splitlines()[0])
    events = [{"event_id": "e1", "receipt": first}, {"event_id": "e2", "receipt": None}]
    receipts.write_text(json.dumps({"accepted": 1, "events": events}))
    code, account = verified(settings, "--receipts", str(receipts))
    assert (code, account["receipts"], account["faults"]) == (3, 1, [])


@pytest.mark.parametrize("text", ["", "\n\n", "[" * 100_000, "7", '{"events": [1]}'])
def test_a_file_that_holds_no_receipts_checks_nothing_and_says_so(
    settings: Settings, receipts: Path, text: str
) -> None:
    receipts.write_text(text)
    told = subprocess.run(
        doxa("verify", "--receipts", str(receipts)),
        cwd=ROOT,
        env=environment(
            database_url=settings.resolved_database_url, data_dir=str(settings.data_dir)
        ),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert told.returncode == 2, told.stdout
    assert "receipts" in told.stderr
    assert "Traceback" not in told.stderr


@pytest.mark.parametrize("change", ["index", "leaf_hash", "shadow_id", "agent_id"])
def test_a_receipt_that_is_not_kept_is_named(
    settings: Settings, receipts: Path, change: str
) -> None:
    first = json.loads(receipts.read_text().splitlines()[0])
    changed = {"index": 99, "leaf_hash": "00" * 32, "shadow_id": "x", "agent_id": "nobody"}[change]
    receipts.write_text(json.dumps(first | {change: changed}))
    code, account = verified(settings, "--receipts", str(receipts))
    assert code == 1
    assert set(faults(account)) == {"receipt not kept"}


def test_a_shadow_inference_cut_off_breaks_its_receipt(
    database: Database, settings: Settings, receipts: Path
) -> None:
    with database.writing.begin() as connection:
        triggers.remove(connection, "shadow_inferences")
        connection.exec_driver_sql("DELETE FROM shadow_inferences WHERE seq = 9")
        triggers.reinstall(connection, "shadow_inferences")
    code, account = verified(settings, "--receipts", str(receipts))
    assert code == 1
    assert set(faults(account)) == {"receipt not kept", "cut at the tail"}


def test_what_is_no_receipt_is_a_usage_error(settings: Settings, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from cli.main import app

    path = tmp_path / "bad.jsonl"
    for text in ("[]", "{", '{"log": "agent", "leaf_hash": "", "shadow_id": "x"}', "7"):
        path.write_text(text)
        done = CliRunner().invoke(
            app,
            ["verify", "--database-url", settings.resolved_database_url, "--receipts", str(path)],
        )
        assert done.exit_code == 2, text
        assert "Line 1" in done.stderr
