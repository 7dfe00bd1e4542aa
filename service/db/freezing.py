"""One state of the database for a long transaction that also writes."""

from collections.abc import Callable

from sqlalchemy.orm import Session


def freeze(session: Session) -> None:
    """Called first in a writing transaction: what others commit from now on is not seen in it.

    Where another commit gets between this and a lock, the lock is refused and nothing is done.
    """
    _FREEZES[session.connection().dialect.name](session)


def _freeze_postgresql(session: Session) -> None:
    session.connection().exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")


def _freeze_sqlite(_session: Session) -> None:
    """BEGIN IMMEDIATE holds the one write lock."""


_FREEZES: dict[str, Callable[[Session], None]] = {
    "postgresql": _freeze_postgresql,
    "sqlite": _freeze_sqlite,
}
