"""Scratch tables beside the live ones, in a file that is gone afterwards."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Table
from sqlalchemy.orm import Session

from service.db.database import SEALER
from service.db.engines import open_engine
from service.db.refusals import translated
from service.models import Record
from service.trust.seals import Sealer


@contextmanager
def scratch_tables(tables: Sequence[Table]) -> Iterator[Session]:
    """Empty tables like these in a file of their own, whatever the live database is.

    They lie in the system's folder for such files (TMPDIR), and hold as much as the live ones do.
    """
    with tempfile.TemporaryDirectory(prefix="doxa-rebuild-") as folder:
        engine = open_engine(f"sqlite:///{Path(folder) / 'scratch.db'}", read_only=False)
        try:
            # Folds that ask for positions get some; nothing here is sealed for anybody.
            info = {SEALER: Sealer(os.urandom(32))}
            with translated(), Session(engine, autoflush=False, info=info) as session:
                Record.metadata.create_all(session.connection(), tables=list(tables))
                yield session
        finally:
            engine.dispose()
