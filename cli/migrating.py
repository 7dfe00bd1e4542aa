"""`doxa migrate`."""

from typing import Annotated

import typer

from cli.options import EXIT_PROBLEM, EXIT_USAGE, DatabaseUrl, DataDir, fail, settings_from
from cli.server import prepare_database
from service.db import schema
from service.db.opening import open_database
from service.errors import ConfigurationError, LedgerError


def migrate(
    check: Annotated[bool, typer.Option("--check", help="Only say whether it is needed.")] = False,
    triggers: Annotated[
        bool, typer.Option("--triggers", help="Put back what somebody changed in the triggers.")
    ] = False,
    roles: Annotated[
        bool, typer.Option("--roles", help="Make PostgreSQL's roles; needs a superuser's URL.")
    ] = False,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Create the database, or bring it to this version's schema. Safe to run again at any time.

    Exit code: 0 the schema fits, 1 with --check when it does not, 2 when it cannot be done.

    With --roles the tables belong to a role that cannot log in, and the service, the auditor and
    readers get roles of their own; docs/operations.md says how to use them.

    Example: doxa migrate --database-url postgresql://localhost/doxa
    """
    settings = settings_from(data_dir=data_dir, database_url=database_url)
    try:
        if not check and not triggers:
            prepare_database(settings)
        database = open_database(settings)
        try:
            if triggers:
                schema.put_triggers_back(database.writing)
            if roles:
                schema.make_roles(database.writing)
            schema.check(database.writing)
        finally:
            database.close()
    except (ConfigurationError, LedgerError) as problem:
        fail(str(problem), EXIT_PROBLEM if check else EXIT_USAGE)
    typer.echo(f"The database is at revision {schema.expected_revision()}.")
