"""Positions in an agent's two logs, given inside the commit under the log's lock."""

from collections.abc import Iterable

from sqlalchemy import Table, bindparam, select, update
from sqlalchemy.orm import Session

from service.db.upserts import insert_or
from service.events.vocabulary import Log
from service.models import LogHead

# On the table, not the model: these run in every commit, and the ORM would double their cost.
_HEADS: Table = LogHead.__table__  # type: ignore[assignment]
_SIZE = (
    select(_HEADS.c.size)
    .where(_HEADS.c.agent_id == bindparam("agent"), _HEADS.c.log == bindparam("name"))
    .with_for_update()
)
_GROW = (
    update(_HEADS)
    .where(_HEADS.c.agent_id == bindparam("agent"), _HEADS.c.log == bindparam("name"))
    .values(size=bindparam("length"))
)


class LogPositions:
    """Takes positions for one transaction; `store` writes the new lengths before it commits.

    The rows of `log_heads` are locked in one order, so that two writers never wait for each other
    in a circle, and nobody sees a position before every smaller one is visible.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._sizes: dict[tuple[str, str], int] = {}
        self._stored: dict[tuple[str, str], int] = {}

    def lock(self, logs: Iterable[tuple[str, str]]) -> None:
        """Locks the heads of these (agent, log) pairs, making those that are missing."""
        wanted = sorted(set(logs) - self._sizes.keys())
        if not wanted:
            return
        found = self._read(wanted)
        missing = [pair for pair in wanted if pair not in found]
        if missing:
            rows = [{"agent_id": agent, "log": log, "size": 0} for agent, log in missing]
            self._session.execute(insert_or(self._session, LogHead).on_conflict_do_nothing(), rows)
            found |= self._read(missing)
        self._sizes.update(found)
        self._stored.update(found)

    def _read(self, pairs: list[tuple[str, str]]) -> dict[tuple[str, str], int]:
        connection = self._session.connection()
        found = {}
        for agent_id, log in pairs:
            size = connection.scalar(_SIZE, {"agent": agent_id, "name": log})
            if size is not None:
                found[agent_id, log] = size
        return found

    def take(self, agent_id: str, log: Log | str) -> int:
        """The next position of a log that was locked; dense from 1."""
        key = (agent_id, str(log))
        position = self._sizes[key] + 1
        self._sizes[key] = position
        return position

    def restart(self) -> None:
        """Forgets the positions taken since the last `store`: their rows were rolled back."""
        self._sizes = dict(self._stored)

    def store(self) -> None:
        """Writes the lengths of all logs that grew."""
        grown = [
            {"agent": agent, "name": log, "length": size}
            for (agent, log), size in self._sizes.items()
            if size != self._stored[agent, log]
        ]
        if grown:
            self._session.connection().execute(_GROW, grown)
            self._stored = dict(self._sizes)
