"""What a trigger caught becomes an event of the agent's audit log, once, whenever it happened."""

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import insert, select

from service.app import projectors
from service.changes.operations import CHANGES_A_COMMIT, publish_changes
from service.changes.queries import last_change
from service.db.database import Database
from service.db.opening import open_database
from service.events.log import LogPositions
from service.events.vocabulary import EXPECTATIONS
from service.models import Belief, CogEvent, LedgerChange, PublishedChange
from service.settings import Settings
from tests.attacks.attacker import attacking
from tests.service.factories import AGENT, NOW, a_belief, an_event, post, row_of

OTHER = "other-agent"


@pytest.fixture
def record(settings: Settings) -> Iterator[Database]:
    opened = open_database(settings)
    post(opened, [a_belief("b1"), an_event("x.seen")])
    yield opened
    opened.close()


def publish(database: Database, now: int = NOW) -> int:
    with database.write() as session:
        positions = LogPositions(session)
        published = publish_changes(session, positions, projectors(), now)
        positions.store()
    return published


def attack(database: Database, *statements: str) -> None:
    with attacking(database.url) as attacker:
        for statement in statements:
            attacker.attempt(statement)


def events(database: Database, agent: str = AGENT) -> list[dict[str, Any]]:
    columns = CogEvent.__table__.columns
    with database.read() as session:
        rows = session.execute(
            select(*columns)
            .where(CogEvent.agent_id == agent, CogEvent.log == "audit")
            .order_by(CogEvent.seq)
        )
        return [dict(row._mapping) | {"detail": json.loads(row.detail)} for row in rows]


def noted_at(database: Database) -> list[int]:
    with database.read() as session:
        return list(session.scalars(select(LedgerChange.at).order_by(LedgerChange.change_id)))


def a_note(
    database: Database, key: str, *, table: str = "ledger", refused: int = 0, op: str = "update",
    old: str | None = None, new: str | None = None, at: int = NOW,
) -> None:  # fmt: skip
    row = {
        "at": at, "table_name": table, "op": op, "refused": refused, "row_key": key,
        "old_row": old, "new_row": new,
    }  # fmt: skip
    with database.write() as session:
        session.execute(insert(LedgerChange).values(row))


def test_a_refused_attempt_becomes_an_event_at_the_time_of_the_attempt(record: Database) -> None:
    attack(record, "UPDATE cog_events SET label_to = 'know' WHERE belief_id = 'b1'")
    assert events(record) == []
    assert publish(record) == 1
    (event,) = events(record)
    assert (event["event"], event["belief_id"]) == ("belief.overwrite_refused", "b1")
    assert event["event_id"] == "change:1"
    assert [event["ts"]] == noted_at(record)
    assert event["received_at"] == NOW
    assert event["detail"]["table"] == "cog_events"
    assert event["detail"]["new"] == {"label_to": "know"}
    assert event["detail"]["key"]["seq"] == 1
    assert event["leaf_hash"]
    assert event["seal"]


def test_nothing_is_published_twice(record: Database) -> None:
    attack(record, "DELETE FROM belief_versions")
    assert (publish(record), publish(record)) == (1, 0)
    assert len(events(record)) == 1
    assert row_of(record, PublishedChange, 1)["event_id"] == "change:1"


def test_every_event_carries_what_its_type_must(record: Database) -> None:
    attack(record, "DELETE FROM cog_events WHERE event = 'x.seen'")
    publish(record)
    (event,) = events(record)
    for name in EXPECTATIONS[event["event"]].must:
        assert event[name], name
    assert event["belief_id"] == "cog_events:agent/2"


def test_the_attack_on_one_agents_row_is_in_its_log_alone(record: Database) -> None:
    post(record, [an_event("x.seen", agent_id=OTHER)])
    attack(record, f"DELETE FROM cog_events WHERE agent_id = '{OTHER}'")
    publish(record)
    assert len(events(record, OTHER)) == 1
    assert events(record) == []


def test_an_attack_on_a_note_is_told_where_the_note_is(record: Database) -> None:
    post(record, [an_event("x.seen", agent_id=OTHER)])
    attack(
        record,
        f"DELETE FROM cog_events WHERE agent_id = '{OTHER}'",
        "DELETE FROM ledger_changes",
    )
    assert publish(record) == 2
    assert [e["detail"]["table"] for e in events(record, OTHER)] == [
        "cog_events", "ledger_changes",
    ]  # fmt: skip
    assert events(record) == []


def test_what_belongs_to_no_agent_is_told_to_all(record: Database) -> None:
    post(record, [an_event("x.seen", agent_id=OTHER)])
    a_note(record, '{"agent_id": "nobody"}', refused=1)
    assert (publish(record), publish(record)) == (1, 0)
    assert len(events(record)) == len(events(record, OTHER)) == 1


def test_a_change_in_a_watched_ledger_overwrites_the_belief(record: Database) -> None:
    a_note(
        record, json.dumps({"agent_id": AGENT, "id": "b1"}), old='{"content": "one"}',
        new='{"content": "two"}',
    )  # fmt: skip
    a_note(record, '{"id": "b1"}', op="delete", old='{"content": "two"}')
    publish(record)
    first, second = events(record)
    assert first["event"] == second["event"] == "belief.overwritten"
    assert first["detail"]["content"] == "two"
    assert "content" not in second["detail"]
    assert second["belief_id"] == "b1"
    assert row_of(record, Belief, AGENT, "b1")["overwrites"] == 2


@pytest.mark.parametrize(
    "key", ["no JSON", '"text"', "[1, 2]", "null", '{"belief_id": [1]}', '{"id": "\\ud800"}',
            '{"agent_id": 7, "n": 1e999}', '{"n": 123456789012345678901234567890}',
            '{"id": "\\u0000"}', "[" * 5_000],
)  # fmt: skip
def test_a_note_that_was_forged_holds_nothing_up(record: Database, key: str) -> None:
    a_note(record, key, refused=1, at=-(2**62))
    assert publish(record) == 1
    (event,) = events(record)
    assert event["ts"] == NOW
    assert len(event["belief_id"]) <= 256
    assert publish(record) == 0


def test_bytes_that_are_no_text_hold_nothing_up(sqlite_template: Any, record: Database) -> None:
    if "sqlite" not in record.url:
        return  # PostgreSQL stores none
    with attacking(record.url) as attacker:
        attacker.run(
            "INSERT INTO ledger_changes (at, table_name, op, refused, row_key) "
            "VALUES (1, 'turns', CAST(x'ff' AS TEXT), 1, CAST(x'7b80' AS TEXT))"
        )
    assert publish(record) == 1
    assert events(record)[0]["detail"]["key"] == "{\ufffd"


def test_a_mark_that_somebody_else_set_hides_nothing(record: Database) -> None:
    attack(
        record,
        "DELETE FROM cog_events WHERE seq = 1",
        "INSERT INTO published_changes VALUES (1, 'piper', 'change:1')",
    )
    assert publish(record) == 1
    assert len(events(record)) == 1


def test_a_mark_that_is_removed_doubles_nothing(record: Database) -> None:
    attack(record, "DELETE FROM cog_events WHERE seq = 1")
    publish(record)
    attack(record, "DELETE FROM published_changes")
    assert publish(record) == 1
    assert len(events(record)) == 1
    assert publish(record) == 0


def test_two_that_publish_at_once_do_it_once(record: Database, settings: Settings) -> None:
    for seq in (1, 2):
        attack(record, f"DELETE FROM cog_events WHERE seq = {seq}")
    others = [open_database(settings) for _ in range(4)]
    gate, published = threading.Barrier(len(others)), []

    def run(database: Database) -> None:
        gate.wait()
        published.append(publish(database))

    threads = [threading.Thread(target=run, args=(database,)) for database in others]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for database in others:
        database.close()
    assert len(published) == len(others)
    assert [event["event_id"] for event in events(record)] == ["change:1", "change:2"]


def test_a_flood_becomes_events_over_several_commits(record: Database) -> None:
    note = {"at": 1, "table_name": "turns", "op": "update", "refused": 1, "row_key": "{}"}
    with record.write() as session:
        session.execute(insert(LedgerChange), [note] * (CHANGES_A_COMMIT + 1))
    assert [publish(record) for _ in range(3)] == [CHANGES_A_COMMIT, 1, 0]


def test_the_number_of_the_last_change_moves_with_each(record: Database) -> None:
    seen = []
    for _ in range(3):
        with record.read() as session:
            seen.append(last_change(session))
        a_note(record, "{}")
    assert seen == sorted(set(seen))
    assert seen[0] == 0


def test_without_agents_a_change_waits(settings: Settings) -> None:
    database = open_database(settings)
    a_note(database, "{}")
    assert publish(database) == 0
    post(database, [an_event("x.seen")])
    assert publish(database) == 1
    database.close()
