"""Every row is committed to: its leaf and seal follow from what is stored, in the order stored."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import delete, select, text, update

from service.app import create_app
from service.db.database import SEALER, Database
from service.db.leaf_encoders import leaf_encoder, told_columns
from service.errors import ConfigurationError
from service.events.adopting import committed_tables, frontier_of
from service.events.committing import ENCODER, TOLD
from service.events.log import LogPositions, adopt_logs
from service.models import CogEvent, LogHead
from service.models.record import Record
from service.settings import Settings
from service.trust.keys import seal_key
from service.trust.leaves import LeafEncoder
from service.trust.seals import Sealer
from service.trust.tree import Frontier
from tests.service.factories import AGENT, a_belief, an_event, post, row_of

EVENTS_TABLE = Record.metadata.tables["cog_events"]


def leaves(database: Database) -> Iterator[tuple[int, bytes, bytes, bytes]]:
    """Position, leaf by the content, leaf as stored, seal; of the agent's own log."""
    with database.read() as session:
        for table in committed_tables():
            told = [table.c[name] for name in told_columns(table)]
            rows = session.execute(
                select(table.c.seq, table.c.leaf_hash, table.c.seal, *told).where(
                    table.c.log == "agent"
                )
            )
            for seq, leaf_hash, seal, *row in rows:
                yield seq, leaf_encoder(table).leaf_hash(row), leaf_hash, seal


def test_the_spelt_out_columns_are_those_of_the_table() -> None:
    assert told_columns(EVENTS_TABLE) == TOLD
    reals: LeafEncoder = leaf_encoder(EVENTS_TABLE)
    assert vars(reals) == vars(ENCODER)


def test_leaf_seal_and_tree_follow_from_what_is_stored(database: Database) -> None:
    # The second batch folds anew and notes flags; the third repeats an event, which is tried twice.
    late = an_event("belief.relabelled", belief_id="b1", label_to="guess", label_from="know", ts=1)
    again = an_event(detail={"x": "\u0000 \U0001f600", "n": 1e300}, confidence=1.0, cost_usd=0.1)
    post(database, [a_belief("b1"), again])
    post(database, [late, a_belief("b1", "know", event_id="twice")])
    post(database, [again, an_event("belief.challenged", belief_id="nobody")])
    found = sorted(leaves(database))
    assert [seq for seq, *_ in found] == list(range(1, len(found) + 1))
    assert len(found) > 5
    with database.write() as session:
        sealer: Sealer = session.info[SEALER]
    frontier = Frontier()
    for _, computed, stored, seal in found:
        assert computed == stored
        assert sealer.holds(seal, stored)
        frontier.extend([computed])
    head = row_of(database, LogHead, AGENT, "agent")
    assert (head["size"], head["frontier"]) == (frontier.size, frontier.packed())
    assert head["unsealed_until"] == 0


def test_flags_that_a_fold_notes_enter_the_leaf(database: Database) -> None:
    stranger = an_event("belief.challenged", belief_id="nobody")
    post(database, [stranger])
    row = row_of(database, CogEvent, AGENT, "agent", 1)
    assert "unknown_subject" in (row["flags"] or "")
    ((_, computed, stored, _),) = leaves(database)
    assert computed == stored


def test_a_log_from_before_leaves_is_adopted_whole_and_unsealed_by_the_migration(
    database: Database,
) -> None:
    post(database, [a_belief("b1"), an_event()])
    before = row_of(database, LogHead, AGENT, "agent")
    _forget_leaves(database)
    with database.writing.begin() as connection:
        adopt_logs(connection, database.sealer)
    post(database, [an_event()])
    head = row_of(database, LogHead, AGENT, "agent")
    assert head["unsealed_until"] == before["size"] == head["size"] - 1
    with database.read() as session:
        assert head["frontier"] == frontier_of(session, AGENT, "agent").packed()


def _forget_leaves(database: Database) -> None:
    with database.writing.begin() as connection:
        connection.execute(update(LogHead).values(frontier=None, unsealed_until=None, seal=None))


def test_a_foreign_row_behind_the_end_is_stepped_over_and_stays_unsealed(
    database: Database,
) -> None:
    post(database, [an_event()])
    with database.writing.begin() as connection:
        row = dict(connection.execute(select(EVENTS_TABLE)).one()._mapping)
        forged = row | {"seq": 2, "event_id": "forged", "leaf_hash": None, "seal": None}
        connection.execute(EVENTS_TABLE.insert(), forged)
    assert post(database, [an_event(event_id="mine")]).accepted == 1
    assert row_of(database, CogEvent, AGENT, "agent", 3)["event_id"] == "mine"
    assert row_of(database, CogEvent, AGENT, "agent", 2)["seal"] is None
    with database.read() as session:
        frontier = frontier_of(session, AGENT, "agent")
    assert row_of(database, LogHead, AGENT, "agent")["frontier"] == frontier.packed()


@pytest.mark.parametrize("tampering", ["size = size + 5", "seal = NULL", "frontier = NULL"])
def test_a_head_that_was_moved_is_made_again_from_the_rows(
    database: Database, tampering: str
) -> None:
    post(database, [an_event(), an_event()])
    with database.writing.begin() as connection:
        connection.execute(text(f"UPDATE log_heads SET {tampering}"))
    assert post(database, [an_event()]).accepted == 1
    with database.read() as session:
        assert frontier_of(session, AGENT, "agent").size == 3
    assert row_of(database, LogHead, AGENT, "agent")["size"] == 3


def test_a_head_that_was_deleted_is_made_again_from_the_rows(database: Database) -> None:
    post(database, [an_event(), an_event()])
    with database.writing.begin() as connection:
        connection.execute(delete(LogHead))
    assert post(database, [an_event()]).accepted == 1
    assert row_of(database, LogHead, AGENT, "agent")["size"] == 3


def test_another_key_than_the_one_of_the_seals_is_refused_at_the_start(
    settings: Settings, database: Database, tmp_path: Path
) -> None:
    post(database, [an_event()])
    create_app(settings).state.doxa.database.close()
    elsewhere = settings.model_copy(update={"key_dir": tmp_path / "elsewhere"})
    with pytest.raises(ConfigurationError, match="No key was made"):
        create_app(elsewhere)
    assert not (tmp_path / "elsewhere").exists()
    seal_key(tmp_path / "elsewhere")
    with pytest.raises(ConfigurationError, match="another key"):
        create_app(elsewhere)


def test_without_the_key_nothing_is_written(database: Database) -> None:
    keyless = Database(database.url)
    with (
        pytest.raises(ConfigurationError, match="without the key"),
        keyless.write() as session,
    ):
        LogPositions(session)
    keyless.close()
