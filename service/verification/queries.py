"""Heads and sizes of logs, and what a checkpoint must know of one before it is signed."""

from collections.abc import Mapping, Sequence
from functools import cache, reduce
from operator import add
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Select, Table, bindparam, func, select, tuple_
from sqlalchemy.orm import Session

from service.db.database import Database
from service.db.triggers import differences
from service.models import LogHead
from service.trust.checkpoints import Alarm, Standing, file_of, last_note
from service.trust.seals import Sealer
from service.trust.tree import Frontier
from service.verification.rows import TABLES
from service.verification.schemas import CheckpointOut, LogStateOut
from service.verification.walking import Head

_HEADS: Table = LogHead.__table__  # type: ignore[assignment]
_BATCH = 1_000
Pair = tuple[str, str]


def all_logs(connection: Connection) -> list[Pair]:
    """Every log that has a head or a row, in order."""
    found: set[Pair] = set()
    for table in (_HEADS, *TABLES):
        key = tuple_(table.c.agent_id, table.c.log)
        wanted = select(table.c.agent_id, table.c.log).order_by(table.c.agent_id, table.c.log)
        last: Pair = ("", "")
        # One look-up a log instead of a walk over all rows.
        while row := connection.execute(wanted.where(key > tuple_(*last)).limit(1)).first():
            last = (row[0], row[1])
            found.add(last)
    return sorted(found)


def head_of(connection: Connection, agent_id: str, log: str, sealer: Sealer | None) -> Head | None:
    """A log's head with whether its seal holds; None when there is none."""
    row = connection.execute(
        select(_HEADS.c.size, _HEADS.c.frontier, _HEADS.c.unsealed_until, _HEADS.c.seal).where(
            _HEADS.c.agent_id == agent_id, _HEADS.c.log == log
        )
    ).first()
    if row is None:
        return None
    size, frontier, unsealed_until, seal = row
    holds = None
    if frontier is None:
        holds = False  # no head was ever left without a tree
    elif sealer is not None:
        expected = sealer.seal_head(agent_id, log, size, frontier, unsealed_until or 0)
        holds = seal == expected
    # What somebody else says of rows without seals is worth nothing.
    return Head(size, frontier, 0 if holds is False else unsealed_until or 0, holds)


def root_of(head: Head) -> bytes | None:
    """The root that a head names; None where it names none."""
    try:
        return Frontier(head.size, head.frontier or b"").root()
    except ValueError:
        return None


def log_states(
    session: Session,
    agent_id: str,
    sealer: Sealer | None,
    folder: Path,
    alarms: Mapping[Pair, Alarm],
) -> list[LogStateOut]:
    """The logs of an agent now, with the newest checkpoint that stands in the folder."""
    found = []
    connection = session.connection()
    wanted = select(_HEADS.c.log).where(_HEADS.c.agent_id == agent_id).order_by(_HEADS.c.log)
    for log in connection.execute(wanted).scalars().all():
        head = head_of(connection, agent_id, log, sealer)
        if head is None:
            continue
        root = root_of(head)
        note = last_note(file_of(folder, agent_id, log))
        alarm = alarms.get((agent_id, log))
        found.append(
            LogStateOut(
                log,
                head.size,
                None if root is None else root.hex(),
                bool(head.holds),
                None
                if note is None
                else CheckpointOut(note.checkpoint.size, note.checkpoint.root.hex()),
                None if alarm is None else alarm.reason,
            )
        )
    return found


def wrong_triggers(session: Session) -> list[str]:
    """The triggers that are not as they must be."""
    return [str(wrong) for wrong in differences(session.connection())]


@cache
def _count_behind() -> Select[Any]:
    """How many rows there are behind a position, counted in the indexes of all tables."""
    counts = [
        select(func.count())
        .select_from(table)
        .where(
            table.c.agent_id == bindparam("agent"),
            table.c.log == bindparam("name"),
            table.c.seq > bindparam("since"),
        )
        .scalar_subquery()
        for table in TABLES
    ]
    return select(reduce(add, counts))


class RecordWatch:
    """What a checkpointer asks the database, one snapshot a question."""

    def __init__(self, database: Database, sealer: Sealer) -> None:
        self._database, self._sealer = database, sealer

    def sizes(self) -> Mapping[Pair, int]:
        """The size of every log."""
        with self._database.read() as session:
            rows = session.execute(select(_HEADS.c.agent_id, _HEADS.c.log, _HEADS.c.size))
            return {(agent_id, log): size for agent_id, log, size in rows}

    def look(self, agent_id: str, log: str, since: int, own: Sequence[range]) -> Standing | None:
        """The log now; behind `since` the seals of rows that others wrote are read."""
        with self._database.read() as session:
            head = head_of(session.connection(), agent_id, log, self._sealer)
            if head is None:
                return None
            root = root_of(head)
            if root is None or not head.holds:
                return Standing(head.size, b"", "its head was not written by Doxa")
            fault = self._fault(session, (agent_id, log), head, since, own)
            return Standing(head.size, root, fault)

    def _fault(
        self, session: Session, pair: Pair, head: Head, since: int, own: Sequence[range]
    ) -> str | None:
        since = min(since, head.size)
        named = {"agent": pair[0], "name": pair[1], "since": since}
        count = session.execute(_count_behind(), named).scalar_one()
        if count != head.size - since:
            return f"it has {count} rows behind position {since} and its head counts {head.size}"
        for part in _others(max(since, head.unsealed_until), head.size, own):
            if (seq := self._first_unsealed(session, pair, part)) is not None:
                return f"the row at position {seq} was not written by Doxa"
        return None

    def _first_unsealed(self, session: Session, pair: Pair, part: range) -> int | None:
        found = []
        for table in TABLES:
            rows = session.execute(
                select(table.c.seq, table.c.leaf_hash, table.c.seal)
                .where(
                    table.c.agent_id == pair[0], table.c.log == pair[1],
                    table.c.seq > part.start, table.c.seq <= part.stop,
                )
                .order_by(table.c.seq)
                .execution_options(yield_per=_BATCH)
            )  # fmt: skip
            for seq, leaf_hash, seal in rows:
                if not self._sealer.holds(seal, leaf_hash or b""):
                    found.append(seq)
                    break
            rows.close()
        return min(found, default=None)


def _others(since: int, until: int, own: Sequence[range]) -> list[range]:
    """What lies in (since, until] beside the ranges (start, stop] that are one's own."""
    parts = []
    for part in sorted(own, key=lambda part: part.start):
        if part.start > since:
            parts.append(range(since, min(part.start, until)))
        since = max(since, part.stop)
    if since < until:
        parts.append(range(since, until))
    return [part for part in parts if part.start < part.stop]
