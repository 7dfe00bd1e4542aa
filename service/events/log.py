"""Positions in an agent's two logs, given inside the commit under the log's lock.

With each position goes a leaf: a log's Merkle tree commits to all its rows, in their order.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from sqlalchemy import Connection, Table, bindparam, select, update
from sqlalchemy.orm import Session

from service.db.database import SEALER
from service.db.upserts import insert_or
from service.errors import ConfigurationError
from service.events import adopting
from service.events.vocabulary import Log
from service.models import LogHead
from service.trust.seals import Sealer
from service.trust.tree import Frontier

# On the table, not the model: these run in every commit, and the ORM would double their cost.
_HEADS: Table = LogHead.__table__  # type: ignore[assignment]
_HEAD = (
    select(_HEADS.c.size, _HEADS.c.frontier, _HEADS.c.unsealed_until, _HEADS.c.seal)
    .where(_HEADS.c.agent_id == bindparam("agent"), _HEADS.c.log == bindparam("name"))
    .with_for_update()
)
_GROW = (
    update(_HEADS)
    .where(_HEADS.c.agent_id == bindparam("agent"), _HEADS.c.log == bindparam("name"))
    .values(
        size=bindparam("length"),
        frontier=bindparam("peaks"),
        unsealed_until=bindparam("unsealed"),
        seal=bindparam("sealed"),
    )
)
_Pair = tuple[str, str]


@dataclass(slots=True)
class _Head:
    """A locked log: what is stored of it, and the leaves taken since."""

    size: int
    packed: bytes
    unsealed_until: int
    began: int
    is_remade: bool = False
    leaves: list[bytes | None] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Grown:
    """A log as a commit left it; the commit's own rows stand behind position `began`."""

    agent_id: str
    log: str
    began: int
    size: int
    frontier: bytes
    # Its head was not as Doxa had left it, and was made again from the rows.
    is_remade: bool = False


class LogPositions:
    """Takes positions for one transaction; `store` writes the new heads before it commits.

    The rows of `log_heads` are locked in one order, so that two writers never wait for each other
    in a circle, and nobody sees a position before every smaller one is visible.
    """

    def __init__(self, session: Session) -> None:
        """Raises ConfigurationError for a database that was opened without its key."""
        found = session.info.get(SEALER)
        if not isinstance(found, Sealer):
            raise ConfigurationError("The database was opened without the key of its seals.")
        self.sealer = found
        self._session = session
        self._heads: dict[_Pair, _Head] = {}
        self._grown: dict[_Pair, Grown] = {}

    def lock(self, logs: Iterable[_Pair], *, carefully: bool = False) -> None:
        """Locks the heads of these (agent, log) pairs, making those that are missing.

        A head that Doxa did not seal, and `carefully` every one, is compared with the rows: what
        somebody else put behind the end is stepped over, in the tree and without a seal.
        """
        wanted = sorted(set(logs) - self._heads.keys())
        missing = [pair for pair in wanted if not self._read(pair, carefully=carefully)]
        if missing:
            rows = [
                {"agent_id": agent, "log": log, "size": 0, "frontier": b"", "unsealed_until": 0,
                 "seal": self.sealer.seal_head(agent, log, 0, b"", 0)}
                for agent, log in missing
            ]  # fmt: skip
            self._session.execute(insert_or(self._session, LogHead).on_conflict_do_nothing(), rows)
            for pair in missing:
                # A head that is missing above rows was removed: it is made from them.
                self._read(pair, carefully=True)

    def _read(self, pair: _Pair, *, carefully: bool) -> bool:
        agent_id, log = pair
        row = self._session.connection().execute(_HEAD, {"agent": agent_id, "name": log}).first()
        if row is None:
            return False
        size, packed, unsealed_until, seal = row
        unsealed_until = unsealed_until or 0
        is_ours = packed is not None and seal == self.sealer.seal_head(
            agent_id, log, size, packed, unsealed_until
        )
        found = _frontier(size, packed) if is_ours else None
        frontier = found or Frontier()
        if found is None:
            # Never taken for a log of before there were leaves: the migration adopted those.
            frontier = adopting.frontier_of(self._session, agent_id, log)
            unsealed_until = 0
        elif carefully:
            adopting.step_over(self._session, agent_id, log, frontier)
        head = _Head(
            frontier.size, frontier.packed(), unsealed_until, frontier.size, is_remade=found is None
        )
        self._heads[pair] = head
        if (head.size, head.packed) != (size, packed):
            self._write([(pair, head)])
        return True

    def adopt(self, agent_id: str, log: str) -> None:
        """Writes a head over all rows of a log, none of which bears a seal."""
        frontier = adopting.frontier_of(self._session, agent_id, log)
        size = frontier.size
        self._write([((agent_id, log), _Head(size, frontier.packed(), size, size))])

    def take(self, agent_id: str, log: Log | str, leaf_hash: bytes) -> int:
        """The next position of a log that was locked, dense from 1."""
        head = self._heads[agent_id, str(log)]
        head.leaves.append(leaf_hash)
        return head.size + len(head.leaves)

    def reserve(self, agent_id: str, log: str, count: int) -> int:
        """Takes so many positions, whose leaves are given later; the first of them."""
        head = self._heads[agent_id, log]
        first = head.size + len(head.leaves) + 1
        head.leaves.extend([None] * count)
        return first

    def give_leaves(self, agent_id: str, log: str, first: int, leaves: list[bytes]) -> None:
        """The leaves of positions that were reserved, from the first on."""
        head = self._heads[agent_id, log]
        start = first - head.size - 1
        head.leaves[start : start + len(leaves)] = leaves

    def restart(self) -> None:
        """Forgets the positions taken since the last `store`: their rows were rolled back."""
        for head in self._heads.values():
            head.leaves.clear()

    def store(self) -> None:
        """Writes the heads of all logs that grew; every position must have its leaf."""
        grown = [(pair, head) for pair, head in self._heads.items() if head.leaves]
        for _, head in grown:
            frontier = Frontier(head.size, head.packed)
            frontier.extend(_all_given(head.leaves))
            head.size, head.packed = frontier.size, frontier.packed()
            head.leaves = []
        if grown:
            self._write(grown)

    @property
    def grown(self) -> list[Grown]:
        """The logs whose heads this transaction has written."""
        return list(self._grown.values())

    def _write(self, heads: list[tuple[_Pair, _Head]]) -> None:
        rows = [
            {
                "agent": agent, "name": log, "length": head.size, "peaks": head.packed,
                "unsealed": head.unsealed_until,
                "sealed": self.sealer.seal_head(
                    agent, log, head.size, head.packed, head.unsealed_until
                ),
            }
            for (agent, log), head in heads
        ]  # fmt: skip
        self._session.connection().execute(_GROW, rows)
        for (agent, log), head in heads:
            self._grown[agent, log] = Grown(
                agent, log, head.began, head.size, head.packed, head.is_remade
            )


def _all_given(leaves: list[bytes | None]) -> list[bytes]:
    given = [leaf for leaf in leaves if leaf is not None]
    if len(given) != len(leaves):
        raise RuntimeError("a row was placed without its leaf")
    return given


def _frontier(size: int, packed: bytes) -> Frontier | None:
    try:
        return Frontier(size, packed)
    except ValueError:
        return None


def adopt_logs(connection: Connection, sealer: Sealer | None) -> None:
    """Takes the rows of before there were leaves into their trees: all of them, without a seal.

    Only for the transaction that brings a database of that time to this schema.
    """
    with Session(connection, info={SEALER: sealer}) as session:
        positions = LogPositions(session)
        heads = session.execute(select(_HEADS.c.agent_id, _HEADS.c.log)).all()
        for agent_id, log in heads:
            positions.adopt(agent_id, log)
        session.flush()
