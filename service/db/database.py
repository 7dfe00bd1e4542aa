import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from service.db.engines import open_engine
from service.db.refusals import translated
from service.trust.seals import Sealer

# Where a writing session keeps what seals its rows.
SEALER = "sealer"


class Database:
    """The two ways in: `write()` is one transaction, `read()` a snapshot."""

    def __init__(self, url: str, seal_key: bytes | None = None) -> None:
        """Without the key of the seals nothing can be added to the record."""
        self.url = url
        self._info = {SEALER: Sealer(seal_key)} if seal_key else {}
        self.writing = open_engine(url, read_only=False)
        self.reading = open_engine(url, read_only=True)
        # SQLite lets one connection write at a time and its waiters poll without order: within
        # this process they queue here instead.
        self._turnstile = threading.Lock() if self.writing.dialect.name in _ONE_WRITER else None

    @property
    def sealer(self) -> Sealer | None:
        """What seals rows that are written through here."""
        return self._info.get(SEALER)

    @contextmanager
    def write(self) -> Iterator[Session]:
        """One transaction: committed when the block ends, rolled back when it raises."""
        if self._turnstile is None:
            with translated(), self._session() as session, session.begin():
                yield session
            return
        with (
            self._turnstile,
            translated(),
            self._session() as session,
            session.begin(),
        ):
            yield session

    @contextmanager
    def alone(self) -> Iterator[Engine]:
        """The writing engine for what needs no transaction; nobody of this process writes then."""
        with translated(), self._turnstile or nullcontext():
            yield self.writing

    def _session(self) -> Session:
        return Session(self.writing, autoflush=False, info=self._info)

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A read-only snapshot; what others commit meanwhile is not seen in it."""
        with translated(), Session(self.reading, autoflush=False) as session, session.begin():
            yield session

    def close(self) -> None:
        """Gives all connections back."""
        # The last connection to a SQLite file folds its log into it, if it may write.
        self.reading.dispose()
        self.writing.dispose()


_ONE_WRITER = {"sqlite"}
