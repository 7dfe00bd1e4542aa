"""What was changed in the database past its triggers is named by `doxa verify`."""

from pathlib import Path
from typing import Any, NamedTuple

import pytest
from sqlalchemy import insert, select

import triggers
from service.db.database import Database
from service.events.log import adopt_logs
from service.models import CogEvent, LogHead
from service.settings import Settings
from service.trust.leaves import LeafEncoder
from service.verification.rows import TABLES
from tests.service.factories import AGENT, row_of
from tests.service.verification.recording import a_checkpointer, faults, verified, write_rows

ROWS = 30


def tamper(database: Database, *statements: str, table: str = "cog_events") -> None:
    """Runs statements on a table whose triggers are put away for the moment."""
    with database.writing.begin() as connection:
        triggers.remove(connection, table)
        for statement in statements:
            connection.exec_driver_sql(statement)
        triggers.reinstall(connection, table)


class Record(NamedTuple):
    """A record that was signed, and the option that says where."""

    database: Database
    settings: Settings
    outside: list[str]


@pytest.fixture
def checkpoints(tmp_path: Path) -> Path:
    return tmp_path / "outside"


@pytest.fixture
def record(database: Database, settings: Settings, checkpoints: Path) -> Record:
    """Thirty rows, signed when they were twelve, twenty-four and thirty."""
    checkpointer = a_checkpointer(database, checkpoints, settings)
    for first in (0, 4, 8):
        write_rows(database, first, 4 if first < 8 else 2)
        checkpointer.note_now()
    assert checkpointer.alarms() == []
    assert checkpointer.notes == 3
    return Record(database, settings, ["--checkpoints", str(checkpoints)])


def broken(record: Record, *, anchored: bool = True) -> dict[str, dict[str, Any]]:
    _, settings, outside = record
    code, account = verified(settings, *(outside if anchored else ()))
    assert code == 1, account
    return faults(account)


def test_what_nobody_touched_holds_anchored_or_not(record: Record) -> None:
    _, settings, outside = record
    code, account = verified(settings, *outside)
    assert (code, account["faults"], account["rows"]) == (0, [], ROWS)
    assert account["logs"][0]["anchored_rows"] == ROWS
    code, account = verified(settings)
    assert (code, account["anchored"]) == (3, False)
    assert any("older copy" in remark for remark in account["remarks"])


@pytest.mark.parametrize("anchored", [True, False])
def test_an_edit_is_named_by_row(record: Record, *, anchored: bool) -> None:
    tamper(record[0], "UPDATE cog_events SET confidence = 0.5 WHERE event_id = 'belief-3'")
    found = broken(record, anchored=anchored)
    assert set(found) == {"edited"}
    edited = found["edited"]
    assert (edited["table"], edited["key"]["event_id"]) == ("cog_events", "belief-3")
    assert (edited["agent_id"], edited["log"]) == ("piper", "agent")
    assert edited["seq"]


@pytest.mark.parametrize(
    "change",
    [
        "detail = '{}'",
        "detail = NULL",
        "detail = NULL, detail_salt = NULL",
        "worker = 'Day'",
        "worker = NULL",
        "ts = ts - 1",
        "received_at = received_at + 1",
        "cost_usd = 0",
        "flags = '[]'",
    ],
)
def test_every_column_is_committed_to(record: Record, change: str) -> None:
    tamper(record[0], f"UPDATE cog_events SET {change} WHERE event_id = 'belief-5'")
    assert broken(record)["edited"]["key"]["event_id"] == "belief-5"


def test_an_edit_in_another_table_is_named(record: Record) -> None:
    statement = "UPDATE shadow_inferences SET statement = 'x' WHERE belief_id = 'b2'"
    tamper(record[0], statement, table="shadow_inferences")
    assert broken(record)["edited"]["table"] == "shadow_inferences"


def _rehashed(database: Database, where: str, *, seal: str = "seal") -> str:
    """The statement that gives a changed row the leaf it should have had."""
    (table,) = (table for table in TABLES if table.name == "cog_events")
    columns = [c.name for c in table.columns if c.name not in ("seq", "leaf_hash", "seal")]
    with database.reading.connect() as connection:
        row = connection.exec_driver_sql(
            f"SELECT {', '.join(columns)} FROM cog_events WHERE {where}"
        ).one()
    changed = [*row]
    changed[columns.index("worker")] = "night"
    encoder = LeafEncoder(
        "cog_events", columns, {"detail": "detail_salt"}, {"confidence", "cost_usd", "latency_ms"}
    )
    leaf = encoder.leaf_hash(changed).hex()
    written = {"sqlite": f"x'{leaf}'", "postgresql": f"'\\x{leaf}'::bytea"}[
        database.writing.dialect.name
    ]
    return (
        f"UPDATE cog_events SET worker = 'night', leaf_hash = {written}, seal = {seal} "
        f"WHERE {where}"
    )


@pytest.mark.parametrize("anchored", [True, False])
@pytest.mark.parametrize("seal", ["seal", "NULL"])
def test_an_edit_with_its_leaf_computed_anew_is_named(
    record: Record, *, seal: str, anchored: bool
) -> None:
    tamper(record[0], _rehashed(record[0], "event_id = 'belief-3'", seal=seal))
    found = broken(record, anchored=anchored)
    assert set(found) == {"edited and rehashed"}
    assert found["edited and rehashed"]["key"]["event_id"] == "belief-3"


def test_without_the_key_of_the_seals_the_checkpoints_find_a_rehash(
    record: Record, tmp_path: Path
) -> None:
    database, settings, outside = record
    tamper(database, _rehashed(database, "event_id = 'belief-3'"))
    public = settings.resolved_key_dir / "checkpoint.pub"
    code, account = verified(
        settings, *outside, "--key-dir", str(tmp_path), "--public-key", str(public)
    )
    assert code == 1
    assert not account["seals_checked"]
    span = faults(account)["reordered"]
    assert span["seq"] <= 7 <= span["until"]
    assert "seals were not checked" in span["reason"]


def test_a_deleted_row_is_a_gap(record: Record) -> None:
    tamper(record[0], "DELETE FROM cog_events WHERE event_id = 'note-3'")
    found = broken(record)
    assert set(found) == {"deleted"}
    assert found["deleted"]["seq"] == 8


def test_several_deleted_rows_are_one_gap(record: Record) -> None:
    tamper(record[0], "DELETE FROM cog_events WHERE event_id = 'note-3'")
    tamper(record[0], "DELETE FROM cog_events WHERE event_id = 'belief-3'")
    found = broken(record)["deleted"]
    assert (found["seq"], found["until"]) == (7, 8)


@pytest.mark.parametrize("anchored", [True, False])
def test_two_rows_that_changed_places_are_named(record: Record, *, anchored: bool) -> None:
    where = "UPDATE cog_events SET seq = {} WHERE seq = {}"
    a, b = _seqs(record[0], "note-1", "note-2")
    tamper(record[0], where.format(-1, a), where.format(a, b), where.format(b, -1))
    found = broken(record, anchored=anchored)
    assert set(found) == {"reordered"}
    assert found["reordered"]["seq"] == a
    assert found["reordered"]["key"]["event_id"] == "note-2"


def _seqs(database: Database, *event_ids: str) -> list[int]:
    with database.reading.connect() as connection:
        rows = connection.exec_driver_sql("SELECT event_id, seq FROM cog_events").all()
    found: dict[str, int] = dict(tuple(row) for row in rows)
    return [found[event_id] for event_id in event_ids]


def _move_up(database: Database, after: int) -> None:
    for table in ("cog_events", "shadow_inferences"):
        tamper(
            database,
            f"UPDATE {table} SET seq = -seq WHERE seq > {after}",
            f"UPDATE {table} SET seq = -seq - 1 WHERE seq < 0",
            table=table,
        )


@pytest.mark.parametrize("anchored", [True, False])
def test_a_deletion_with_the_rest_renumbered_is_named(record: Record, *, anchored: bool) -> None:
    tamper(record[0], "DELETE FROM cog_events WHERE event_id = 'note-1'")
    place = 4
    _move_up(record[0], place)
    found = broken(record, anchored=anchored)
    assert set(found) == {"renumbered"}
    assert found["renumbered"]["seq"] <= place <= found["renumbered"]["until"]


def test_a_row_of_somebody_else_is_named_unsealed(record: Record) -> None:
    columns = "agent_id, log, event_id, ts, received_at, event"
    database = record[0]
    with database.writing.begin() as connection:
        connection.exec_driver_sql(
            f"INSERT INTO cog_events ({columns}, seq) VALUES "
            "('piper', 'agent', 'forged', 1, 1, 'x.forged', 31)"
        )
    found = broken(record)
    assert set(found) == {"unsealed"}
    assert found["unsealed"]["key"]["event_id"] == "forged"
    # The service steps over it: it stays unsealed, inside the tree.
    write_rows(database, 20, 5)
    assert set(broken(record)) == {"unsealed"}


@pytest.mark.parametrize("seq", [0, -5, 7, 1_000_000_000_000])
def test_a_forged_row_at_any_position_is_named(record: Record, seq: int) -> None:
    with record[0].writing.begin() as connection:
        connection.exec_driver_sql(
            "INSERT INTO turns (agent_id, turn_id, log, seq, ts, received_at, session_id) VALUES "
            f"('piper', 'forged', 'agent', {seq}, 1, 1, 's')"
        )
    found = broken(record)
    assert set(found) == {"unsealed"}
    assert (found["unsealed"]["table"], found["unsealed"]["seq"]) == ("turns", seq)


def test_a_log_that_nobody_keeps_is_named(record: Record) -> None:
    with record[0].writing.begin() as connection:
        connection.exec_driver_sql(
            "INSERT INTO turns (agent_id, turn_id, log, seq, ts, received_at, session_id) VALUES "
            "('nobody', 'forged', '../x', 1, 1, 1, 's')"
        )
    assert set(broken(record)) == {"unsealed", "head tampered"}


CUT = (
    "DELETE FROM cog_events WHERE seq > 24",
    "DELETE FROM shadow_inferences WHERE seq > 24",
)


def _cut(database: Database) -> None:
    tamper(database, CUT[0])
    tamper(database, CUT[1], table="shadow_inferences")


@pytest.mark.parametrize("anchored", [True, False])
def test_a_cut_tail_is_named(record: Record, *, anchored: bool) -> None:
    _cut(record[0])
    found = broken(record, anchored=anchored)
    assert set(found) == {"cut at the tail"}
    assert (found["cut at the tail"]["seq"], found["cut at the tail"]["until"]) == (25, 30)


def test_a_cut_tail_with_its_head_rewritten_is_named(record: Record) -> None:
    _cut(record[0])
    with record[0].writing.begin() as connection:
        connection.exec_driver_sql("UPDATE log_heads SET size = 24")
    assert set(broken(record)) == {"head tampered", "cut at the tail"}
    assert set(broken(record, anchored=False)) == {"head tampered"}


@pytest.mark.parametrize("change", ["size = 29", "size = 31", "unsealed_until = 30", "seal = NULL"])
def test_a_head_that_was_changed_is_named(record: Record, change: str) -> None:
    with record[0].writing.begin() as connection:
        connection.exec_driver_sql(f"UPDATE log_heads SET {change}")
    assert set(broken(record, anchored=False)) == {"head tampered"}


def test_a_head_that_is_gone_is_named(record: Record) -> None:
    with record[0].writing.begin() as connection:
        connection.exec_driver_sql("DELETE FROM log_heads")
    assert set(broken(record)) == {"head tampered"}


def test_a_log_of_which_nothing_is_left_is_named(record: Record) -> None:
    database = record[0]
    with database.writing.begin() as connection:
        connection.exec_driver_sql("DELETE FROM log_heads")
    for table in ("cog_events", "shadow_inferences"):
        tamper(database, f"DELETE FROM {table}", table=table)
    assert set(broken(record)) == {"cut at the tail"}


def test_a_head_of_before_put_back_is_named(record: Record) -> None:
    database = record[0]
    with database.writing.begin() as connection:
        before = connection.exec_driver_sql("SELECT size, frontier, seal FROM log_heads").one()
    write_rows(database, 30, 2)
    with database.writing.begin() as connection:
        marks = {"sqlite": "?", "postgresql": "%s"}[connection.dialect.name]
        connection.exec_driver_sql(
            f"UPDATE log_heads SET size = {marks}, frontier = {marks}, seal = {marks}",
            tuple(before),
        )
    found = broken(record)
    assert set(found) == {"head tampered"}
    assert found["head tampered"]["seq"] == ROWS + 1


def test_a_trigger_that_is_gone_is_named(record: Record) -> None:
    with record[0].writing.begin() as connection:
        triggers.remove(connection, "turns")
    assert broken(record)["trigger missing or changed"]["table"] == "turns"


def test_several_attacks_are_each_named(record: Record) -> None:
    database = record[0]
    tamper(database, "UPDATE cog_events SET worker = 'x' WHERE event_id = 'belief-1'")
    tamper(database, "DELETE FROM cog_events WHERE event_id = 'note-4'")
    tamper(database, _rehashed(database, "event_id = 'belief-0'"))
    assert set(broken(record)) == {"edited", "deleted", "edited and rehashed"}


def _make_old(database: Database) -> None:
    """Makes the record look like one of before there were leaves."""
    for table in ("cog_events", "shadow_inferences"):
        tamper(database, f"UPDATE {table} SET leaf_hash = NULL, seal = NULL", table=table)
    with database.writing.begin() as connection:
        connection.exec_driver_sql(
            "UPDATE log_heads SET frontier = NULL, unsealed_until = NULL, seal = NULL"
        )


def test_a_record_made_to_look_older_than_its_leaves_is_not_taken_for_one(
    database: Database, settings: Settings
) -> None:
    write_rows(database, 0, 8)
    tamper(database, "UPDATE cog_events SET worker = 'x' WHERE event_id = 'belief-3'")
    _make_old(database)
    code, account = verified(settings)
    assert code == 1
    assert "head tampered" in {fault["kind"] for fault in account["faults"]}
    # Nor does the service take it over: what it finds there stays without a seal.
    write_rows(database, 8, 2)
    code, account = verified(settings)
    assert code == 1
    assert "unsealed" in {fault["kind"] for fault in account["faults"]}


def test_a_forged_row_is_not_adopted_by_taking_the_head_s_tree_away(
    database: Database, settings: Settings
) -> None:
    write_rows(database, 0, 3)
    head = row_of(database, LogHead, AGENT, "agent")
    with database.writing.begin() as connection:
        table = CogEvent.__table__
        row = dict(connection.execute(select(*table.columns).limit(1)).one()._mapping)
        row |= {"seq": head["size"] + 1, "event_id": "forged", "leaf_hash": None, "seal": None}
        connection.execute(insert(CogEvent), row)
        connection.exec_driver_sql(
            "UPDATE log_heads SET frontier = NULL, unsealed_until = NULL, seal = NULL"
        )
    write_rows(database, 3, 2)
    code, account = verified(settings)
    assert code == 1
    (fault,) = [one for one in account["faults"] if one["kind"] == "unsealed"]
    assert fault["seq"] == head["size"] + 1


def test_a_salt_that_swallows_its_payload_is_an_edit(record: Record) -> None:
    joined = {
        "sqlite": "CAST(detail_salt || CAST(detail AS BLOB) AS BLOB)",
        "postgresql": "detail_salt || convert_to(detail, 'UTF8')",
    }[record[0].writing.dialect.name]
    where = "WHERE event_id = 'note-4'"
    tamper(record[0], f"UPDATE cog_events SET detail_salt = {joined}, detail = '' {where}")
    assert broken(record)["edited"]["key"]["event_id"] == "note-4"


def test_rows_of_before_there_were_seals_are_committed_to_from_then_on(
    database: Database, settings: Settings
) -> None:
    write_rows(database, 0, 8)
    _make_old(database)
    with database.writing.begin() as connection:  # as the migration does
        adopt_logs(connection, database.sealer)
    assert verified(settings)[0] == 3
    write_rows(database, 8, 2)
    assert verified(settings)[0] == 3
    tamper(database, "UPDATE cog_events SET worker = 'x' WHERE event_id = 'belief-3'")
    code, account = verified(settings)
    assert code == 1
    span = faults(account)["edited"]
    assert span["seq"] <= 7 <= span["until"]
    assert set(faults(account)) == {"edited"}
