"""`doxa migrate`."""

from typing import Annotated

import typer

from cli.options import EXIT_PROBLEM, EXIT_USAGE, DatabaseUrl, DataDir, fail, settings_from
from cli.server import prepare_database
from service.db import schema
from service.db.database import Database
from service.errors import ConfigurationError, LedgerError


def migrate(
    check: Annotated[bool, typer.Option("--check", help="Only say whether it is needed.")] = False,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Create the database, or bring it to this version's schema. Safe to run again at any time.

    Exit code: 0 the schema fits, 1 with --check when it does not, 2 when it cannot be done.

    Example: doxa migrate --database-url postgresql://localhost/doxa
    """
    settings = settings_from(data_dir=data_dir, database_url=database_url)
    try:
        if not check:
            prepare_database(settings)
        database = Database(settings.resolved_database_url)
        try:
            schema.check(database.writing)
        finally:
            database.close()
    except (ConfigurationError, LedgerError) as problem:
        fail(str(problem), EXIT_PROBLEM if check else EXIT_USAGE)
    typer.echo(f"The database is at revision {schema.expected_revision()}.")
