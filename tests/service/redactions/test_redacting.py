"""A payload goes for good and for everybody to see; what a projection rests on never goes."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import insert, select

from service.app import projectors
from service.db.database import Database
from service.events.vocabulary import EXPECTATIONS, EventType, Log
from service.models import CogEvent, Redaction, Turn
from service.redactions.operations import is_ledger_event
from service.settings import Settings
from service.verification.rebuild import compare_projections
from tests.service.factories import AGENT, a_belief, a_client, a_key, an_event, post, row_of

SECRET = "hunter2-the-secret-that-got-in"


def a_turn(turn_id: str = "t1", **fields: Any) -> dict[str, Any]:
    return {
        "agent_id": AGENT, "session_id": "s1", "turn_id": turn_id, "ts": "2026-10-03T12:00:00Z",
        "output": f"the password is {SECRET}", "tool_calls": [{"name": "ls", "result": "ok"}],
    } | fields  # fmt: skip


def redact(client: httpx.Client, target: dict[str, Any], **fields: Any) -> httpx.Response:
    body = {"agent_id": AGENT, "target": target, "reason": "a password got in"} | fields
    return client.post("/v1/redactions", json=body)


def test_a_turn_loses_its_payload_and_says_so(database: Database, settings: Settings) -> None:
    with a_client(settings) as client:
        client.post("/v1/turns", json=a_turn()).raise_for_status()
        before = row_of(database, Turn, AGENT, "t1")
        answer = redact(client, {"turn_id": "t1"})
        assert answer.status_code == 201, answer.text
        told = answer.json()["redaction"]
        assert (told["table"], told["turn_id"], told["by"]) == ("turns", "t1", None)
        assert told["payload_bytes"] == len(before["payload"].encode())
        after = row_of(database, Turn, AGENT, "t1")
        gone = {"payload": None, "payload_salt": None}
        assert after == before | gone
        shown = client.get("/v1/turns/t1").json()
        assert shown["payload_removed"] is True
        assert shown["redacted"] == {
            "by": None, "at": told["at"], "reason": "a password got in",
        }  # fmt: skip
        assert SECRET not in client.get("/v1/turns/t1").text
        again = redact(client, {"turn_id": "t1"}, reason="another reason")
        assert again.status_code == 200
        assert again.json()["duplicate"] is True
        assert again.json()["redaction"] == told
        # The same turn sent again is a duplicate, and brings nothing back.
        resent = client.post("/v1/turns", json=a_turn()).json()
        assert (resent["accepted"], resent["duplicates"]) == (0, 1)
        assert row_of(database, Turn, AGENT, "t1")["payload"] is None
        listed = client.get("/v1/redactions", params={"agent": AGENT}).json()
        assert listed == {"items": [told], "next": None}


def test_an_event_of_its_own_type_loses_its_detail(database: Database, settings: Settings) -> None:
    event = an_event("evidence.retrieved", event_id="e1", detail={"tool": "sh", "text": SECRET})
    post(database, [event])
    with a_client(settings) as client:
        assert redact(client, {"event_id": "e1"}).status_code == 201
        (shown,) = client.get("/v1/events", params={"agent": AGENT}).json()["items"]
        assert shown["detail"] is None
        assert shown["redacted"]["reason"] == "a password got in"
    assert row_of(database, CogEvent, AGENT, "agent", 1)["detail"] is None


def test_what_the_ledger_follows_from_is_refused_with_the_reason(
    database: Database, settings: Settings
) -> None:
    post(database, [a_belief("b1", event_id="e1")])
    told = an_event("contradiction.created", log=Log.AUDIT, event_id="e2", contradiction_id="c1")
    post(database, [told])
    with a_client(settings) as client:
        for target in (
            {"event_id": "e1"}, {"event_id": "e2", "log": "audit"}, {"shadow_id": "agent:e1"},
            {"finding_id": "f1"}, {"verdict_id": "v1"},
        ):  # fmt: skip
            answer = redact(client, target)
            assert answer.status_code == 409, answer.text
            assert "never cut" in answer.text
            assert answer.json()["errors"][0]["pointer"].startswith("/target/")
        assert client.get("/v1/redactions").json()["items"] == []
    assert compare_projections(database.reading, lambda _: None).difference_count == 0


def test_every_projected_type_counts_as_the_ledgers() -> None:
    cut = {kind for kind in EventType if not is_ledger_event(kind, projectors())}
    assert not cut & set(projectors())
    assert {EventType.EVIDENCE_RETRIEVED, EventType.SIGNAL_OBSERVED} <= cut
    assert EventType.BELIEF_OVERWRITE_REFUSED not in cut
    assert EventType.LEDGER_REFUSED not in cut


def test_malformed_and_unknown_targets_are_told_apart(settings: Settings) -> None:
    with a_client(settings) as client:
        client.post("/v1/turns", json=a_turn()).raise_for_status()
        for target in ({}, {"turn_id": "t1", "event_id": "e1"}, {"turn_id": ""}, {"turn": "t1"},
                       {"turn_id": "a\u0000b"}):  # fmt: skip
            assert redact(client, target).status_code == 422, target
        assert redact(client, {"turn_id": "t1"}, reason="").status_code == 422
        assert redact(client, {"turn_id": "t1"}, reason="a\u0000").status_code == 422
        assert redact(client, {"turn_id": "t9"}).status_code == 404
        assert redact(client, {"event_id": "e9"}).status_code == 404
        assert redact(client, {"turn_id": "t1"}, agent_id="nobody").status_code == 404
        assert client.get("/v1/redactions", params={"after": "x"}).status_code == 422


def test_only_an_operator_may_and_an_agent_cannot_even_read(settings: Settings) -> None:
    with a_client(settings) as client:
        operator = a_key(client, "operate")
        client.post("/v1/turns", json=a_turn(), headers=operator).raise_for_status()
        writer = a_key(client, "write", AGENT, **operator)
        reader = a_key(client, "read", **operator)
        body = {"agent_id": AGENT, "target": {"turn_id": "t1"}, "reason": "x"}
        for headers in (writer, reader):
            assert client.post("/v1/redactions", json=body, headers=headers).status_code == 403
        assert client.get("/v1/redactions", headers=writer).status_code == 403
        assert client.get("/v1/redactions", headers=reader).status_code == 200
        made = client.post("/v1/redactions", json=body, headers=operator)
        assert made.status_code == 201
        assert made.json()["redaction"]["by"] is not None


def test_eight_at_once_leave_one_tombstone(database: Database, settings: Settings) -> None:
    with a_client(settings) as client:
        client.post("/v1/turns", json=a_turn()).raise_for_status()
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: redact(client, {"turn_id": "t1"}), range(8)))
    assert sorted(answer.status_code for answer in answers) == [200] * 7 + [201]
    with database.read() as session:
        assert len(session.scalars(select(Redaction.seq)).all()) == 1


def test_a_payload_under_a_forged_tombstone_is_not_taken_for_removed(
    database: Database, settings: Settings
) -> None:
    with a_client(settings) as client:
        client.post("/v1/turns", json=a_turn()).raise_for_status()
        with database.write() as session:
            session.execute(insert(Redaction).values(
                agent_id=AGENT, target_log="agent", target_seq=1, log="audit", seq=1,
                target_table="turns", payload_hash=b"x" * 32, payload_bytes=1, reason="forged",
                removed_at=1))  # fmt: skip
        answer = redact(client, {"turn_id": "t1"})
        assert answer.status_code == 409
        assert "doxa verify" in answer.text


def test_without_its_details_every_page_and_figure_still_answers(
    database: Database, settings: Settings
) -> None:
    kinds = [kind for kind in EventType if not is_ledger_event(kind, projectors())]
    events = []
    for kind in kinds:
        must = EXPECTATIONS[kind].must
        detail = {name.removeprefix("detail."): "in_path" for name in must if "detail." in name}
        if kind == EventType.OPPORTUNITY_DETECTED:
            detail["source"] = "in_path"
        events.append(an_event(kind, turn_id="t1", event_id=f"e-{kind}", detail=detail))
    post(database, events)
    with a_client(settings) as client:
        client.post("/v1/turns", json=a_turn()).raise_for_status()
        for kind in kinds:
            assert redact(client, {"event_id": f"e-{kind}"}).status_code == 201, kind
        assert redact(client, {"turn_id": "t1"}).status_code == 201
        for path in ("/v1/ratios", "/v1/calibration", "/v1/turns/t1", "/v1/events",
                     "/v1/reports/weekly/2026-W40", "/v1/sessions"):  # fmt: skip
            answer = client.get(path, params={"agent": AGENT})
            assert answer.status_code == 200, (path, answer.text)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_the_bytes_are_gone_from_the_file_and_its_log(settings: Settings) -> None:
    path = Path((settings.database_url or "").removeprefix("sqlite:///"))
    with a_client(settings) as client:
        for number in range(60):
            text = f"{SECRET} " * (1 if number % 2 else 400)
            client.post("/v1/turns", json=a_turn(f"t{number}", output=text)).raise_for_status()
        event = {"agent_id": AGENT, "event": "x.told", "event_id": "e1", "detail": {"p": SECRET}}
        client.post("/v1/events", json=event).raise_for_status()
        assert SECRET.encode() in all_bytes(path)
        for number in range(60):
            answer = redact(client, {"turn_id": f"t{number}"})
            assert answer.json()["erased"] is True
        assert redact(client, {"event_id": "e1"}).json()["erased"] is True
        assert SECRET.encode() not in all_bytes(path)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_while_a_reader_needs_the_log_the_answer_says_that_the_bytes_stay(
    settings: Settings,
) -> None:
    path = Path((settings.database_url or "").removeprefix("sqlite:///"))
    with a_client(settings) as client:
        client.post("/v1/turns", json=a_turn()).raise_for_status()
        with closing(sqlite3.connect(path, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            assert reader.execute("SELECT count(*) FROM turns").fetchone() == (1,)
            assert redact(client, {"turn_id": "t1"}).json()["erased"] is False
            reader.execute("COMMIT")
        again = redact(client, {"turn_id": "t1"})
        assert (again.status_code, again.json()["erased"]) == (200, True)
        assert SECRET.encode() not in all_bytes(path)


def all_bytes(path: Path) -> bytes:
    """The database file and whatever lies beside it under its name."""
    return b"".join(part.read_bytes() for part in path.parent.glob(f"{path.name}*"))
