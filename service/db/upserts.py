from collections.abc import Callable
from typing import Any

from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import DeclarativeBase, Session

_INSERTS: dict[str, Callable[[Any], Any]] = {
    "sqlite": sqlite.insert,
    "postgresql": postgresql.insert,
}


def insert_or(session: Session, model: type[DeclarativeBase]) -> Any:
    """An INSERT that knows `on_conflict_do_nothing()` and `on_conflict_do_update(…)`."""
    return _INSERTS[session.connection().dialect.name](model)
