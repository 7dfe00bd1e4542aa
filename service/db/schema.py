"""The schema's revision: what this code needs, what the database has, and the way between."""

from collections.abc import Callable
from importlib.resources import files

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError
from sqlalchemy import Connection, Engine

from service.db.refusals import translated
from service.errors import ConfigurationError

# Any constant: held while migrating, so that two starting processes do not race.
_MIGRATION_LOCK = 0x0D0CA


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
        return MigrationContext.configure(connection).get_current_revision()


def migrate(engine: Engine, target: str = "head") -> None:
    """Brings the schema to a revision in one transaction: killed half-way, nothing changed."""
    config = alembic_config()
    try:
        with translated(), engine.begin() as connection:
            _LOCKS[connection.dialect.name](connection)
            config.attributes["connection"] = connection
            command.upgrade(config, target)
    except CommandError as problem:
        raise _newer_schema(engine) from problem


def check(engine: Engine) -> None:
    """Raises ConfigurationError unless the database stands exactly at this code's revision."""
    installed, expected = installed_revision(engine), expected_revision()
    if installed == expected:
        return
    if installed is None or _is_known(installed):
        raise ConfigurationError(
            f"The database is at revision {installed or 'none'}, this code needs {expected}: "
            "run `doxa migrate`."
        )
    raise _newer_schema(engine)


def _is_known(revision: str) -> bool:
    scripts = ScriptDirectory.from_config(alembic_config())
    return any(script.revision == revision for script in scripts.walk_revisions())


def _newer_schema(engine: Engine) -> ConfigurationError:
    return ConfigurationError(
        f"The database is at revision {installed_revision(engine)}, which this code does not know "
        f"(its newest is {expected_revision()}): it was written by a newer Doxa. Install that "
        "version, or restore a backup made before the upgrade. Nothing was changed."
    )
