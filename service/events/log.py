"""Positions in an agent's two logs, given inside the commit under the log's lock."""

from collections.abc import Iterable

from sqlalchemy import select, tuple_
from sqlalchemy.orm import Session

from service.db.upserts import insert_or
from service.events.vocabulary import Log
from service.models import LogHead


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
            self._session.execute(
                insert_or(self._session, LogHead).on_conflict_do_nothing(), rows
            )
            found = self._read(wanted)
        self._sizes.update(found)
        self._stored.update(found)

    def _read(self, pairs: list[tuple[str, str]]) -> dict[tuple[str, str], int]:
        heads = self._session.execute(
            select(LogHead.agent_id, LogHead.log, LogHead.size)
            .where(tuple_(LogHead.agent_id, LogHead.log).in_(pairs))
            .order_by(LogHead.agent_id, LogHead.log)
            .with_for_update()
        )
        return {(agent, log): size for agent, log, size in heads}

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
            {"agent_id": agent, "log": log, "size": size}
            for (agent, log), size in self._sizes.items()
            if size != self._stored[agent, log]
        ]
        if grown:
            statement = insert_or(self._session, LogHead)
            self._session.execute(
                statement.on_conflict_do_update(
                    index_elements=[LogHead.agent_id, LogHead.log],
                    set_={"size": statement.excluded.size},
                ),
                grown,
            )
            self._stored = dict(self._sizes)
