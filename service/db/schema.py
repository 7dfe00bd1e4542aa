"""The schema's revision: what this code needs, what the database has, and the way between."""

from collections.abc import Callable
from importlib.resources import files

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError
from sqlalchemy import Connection, Engine

from service.db import roles
from service.db.refusals import translated
from service.db.triggers import differences, put_back
from service.errors import ConfigurationError

# Any constant: held while migrating, so that two starting processes do not race.
_MIGRATION_LOCK = 0x0D0CA

# The revision whose rows bear neither leaves nor seals.
BEFORE_LEAVES = "0001"


def _lock_postgresql(connection: Connection) -> None:
    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})")


def _lock_sqlite(_connection: Connection) -> None:
    """BEGIN IMMEDIATE holds SQLite's one write lock already."""


_LOCKS: dict[str, Callable[[Connection], None]] = {
    "postgresql": _lock_postgresql,
    "sqlite": _lock_sqlite,
}


def alembic_config() -> Config:
    """Alembic's configuration, found beside the installed `migrations` package."""
    config = Config()
    config.set_main_option("script_location", str(files("migrations")).replace("%", "%%"))
    return config


def expected_revision() -> str:
    """The newest revision that this code knows."""
    head = ScriptDirectory.from_config(alembic_config()).get_current_head()
    if head is None:
        raise ConfigurationError("No migrations are installed: install Doxa again.")
    return head


def installed_revision(engine: Engine) -> str | None:
    """The revision the database stands at, None for an empty one."""
    with translated(), engine.connect() as connection:
        return _revision(connection)


def _revision(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def migrate(
    engine: Engine, target: str = "head", adopt: Callable[[Connection], None] | None = None
) -> None:
    """Brings the schema to a revision in one transaction: killed half-way, nothing changed.

    `adopt` commits to the rows of a database that knew no leaves yet, in the same transaction.

    What the database must refuse is compared in the same transaction: a revision that lost a
    trigger, as SQLite does when it rebuilds a table, leaves nothing behind.
    """
    try:
        with translated(), engine.begin() as connection:
            _LOCKS[connection.dialect.name](connection)
            before = _revision(connection)
            if before != expected_revision():
                _upgrade(connection, target)
            if before == BEFORE_LEAVES and adopt is not None:
                adopt(connection)
            if _revision(connection) == expected_revision():
                _compare_triggers(connection)
    except CommandError as problem:
        raise _newer_schema(engine) from problem


def _upgrade(connection: Connection, target: str) -> None:
    config = alembic_config()
    config.attributes["connection"] = connection
    has_roles = roles.installed(connection)
    if has_roles:
        roles.require_superuser(connection)
        roles.lift(connection)
    command.upgrade(config, target)
    if has_roles:
        roles.apply(connection)


def put_triggers_back(engine: Engine) -> None:
    """Makes all triggers anew, and drops what is foreign among them."""
    with translated(), engine.begin() as connection:
        _LOCKS[connection.dialect.name](connection)
        if (revision := _revision(connection)) != expected_revision():
            raise _other_schema(revision)
        has_roles = roles.installed(connection)
        if has_roles:
            roles.require_superuser(connection)
            roles.lift(connection)
        put_back(connection)
        if has_roles:
            roles.apply(connection)
        _compare_triggers(connection)


def make_roles(engine: Engine) -> None:
    """Makes PostgreSQL's roles, or makes them again what they must be."""
    with translated(), engine.begin() as connection:
        roles.require_superuser(connection)
        _LOCKS[connection.dialect.name](connection)
        roles.apply(connection)


def _compare_triggers(connection: Connection) -> None:
    wrong = differences(connection)
    if wrong:
        raise ConfigurationError(
            f"What makes the record write-once was changed in the database: "
            f"{'; '.join(map(str, wrong))}. Find out who did it and what else was changed, with "
            "`doxa verify`. Then `doxa migrate --triggers` puts it back."
        )


def check(engine: Engine) -> None:
    """Raises ConfigurationError unless revision and triggers are exactly what this code needs."""
    expected = expected_revision()
    with translated(), engine.connect() as connection:
        installed = _revision(connection)
        if installed == expected:
            _compare_triggers(connection)
            return
    if installed is None or knows(installed):
        raise _other_schema(installed)
    raise _newer_schema(engine)


def _other_schema(installed: str | None) -> ConfigurationError:
    return ConfigurationError(
        f"The database is at revision {installed or 'none'}, this code needs "
        f"{expected_revision()}: run `doxa migrate`."
    )


def knows(revision: str | None) -> bool:
    """Whether this code can bring a database of a revision to its own."""
    scripts = ScriptDirectory.from_config(alembic_config())
    return any(script.revision == revision for script in scripts.walk_revisions())


def _newer_schema(engine: Engine) -> ConfigurationError:
    return ConfigurationError(
        f"The database is at revision {installed_revision(engine)}, which this code does not know "
        f"(its newest is {expected_revision()}): it was written by a newer Doxa. Install that "
        "version, or restore a backup made before the upgrade. Nothing was changed."
    )
