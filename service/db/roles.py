"""PostgreSQL's roles: who owns the tables, and what each of those who do not may do with them."""

from collections.abc import Callable
from enum import StrEnum

from sqlalchemy import Connection

import triggers
from service.db.grants import GRANTS, PROTECTED
from service.errors import ConfigurationError


class Role(StrEnum):
    """The four roles. The owner cannot log in; the others have no password until they get one."""

    OWNER = "doxa_owner"
    WRITER = "doxa_writer"
    AUDITOR = "doxa_auditor"
    READER = "doxa_reader"


_GUARDS = ("doxa_no_ddl", "doxa_no_drop")
_PLAIN = "NOSUPERUSER NOCREATEDB NOCREATEROLE NOINHERIT NOREPLICATION NOBYPASSRLS"
_LOGIN = (Role.WRITER, Role.AUDITOR, Role.READER)
_SEQUENCE = "ledger_changes_change_id_seq"
_GUARDED = "SELECT evtname FROM pg_event_trigger WHERE evtname = ANY(%(names)s::text[])"


def installed(connection: Connection) -> bool:
    """Whether the tables of this database belong to the owner's role."""
    return _INSTALLED[connection.dialect.name](connection)


def _installed_in_postgresql(connection: Connection) -> bool:
    owner = connection.exec_driver_sql(
        "SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = to_regclass('cog_events')"
    ).scalar()
    return bool(owner == Role.OWNER)


_INSTALLED: dict[str, Callable[[Connection], bool]] = {
    "sqlite": lambda _connection: False,
    "postgresql": _installed_in_postgresql,
}


def is_superuser(connection: Connection) -> bool:
    """Whether this connection may do anything."""
    return bool(
        connection.exec_driver_sql(
            "SELECT rolsuper FROM pg_roles WHERE rolname = current_user"
        ).scalar()
    )


def require_superuser(connection: Connection) -> None:
    """ConfigurationError unless this connection may make roles and event triggers."""
    if connection.dialect.name not in _HAVE_ROLES:
        raise ConfigurationError(
            "Roles are PostgreSQL's: a SQLite file has none. Keep the file where only the service "
            "can write it."
        )
    if not is_superuser(connection):
        raise ConfigurationError(
            "The tables belong to doxa_owner, which cannot log in: run this with the URL of a "
            "PostgreSQL superuser. Only one can make roles and event triggers, or lift them."
        )


_HAVE_ROLES = {"postgresql"}


def lift(connection: Connection) -> None:
    """Takes the event triggers away, so that a migration can alter the tables; a superuser may."""
    for name in _GUARDS:
        connection.exec_driver_sql(f"DROP EVENT TRIGGER IF EXISTS {name}")
    connection.exec_driver_sql("DROP SCHEMA IF EXISTS doxa_guard CASCADE")


def apply(connection: Connection) -> None:
    """Makes roles, ownership, grants and event triggers what they must be; safe to repeat."""
    require_superuser(connection)
    lift(connection)
    _make_roles(connection)
    _close_database(connection)
    for table, grant in GRANTS.items():
        connection.exec_driver_sql(f"ALTER TABLE {table} OWNER TO {Role.OWNER}")
        connection.exec_driver_sql(f"REVOKE ALL ON TABLE {table} FROM PUBLIC, {', '.join(_LOGIN)}")
        for role, privileges in zip(
            _LOGIN, (grant.writer, grant.auditor, grant.reader), strict=True
        ):
            if privileges:
                connection.exec_driver_sql(f"GRANT {privileges} ON TABLE {table} TO {role}")
    for name in triggers.functions(connection.dialect.name):
        connection.exec_driver_sql(f"ALTER FUNCTION {name}() OWNER TO {Role.OWNER}")
        connection.exec_driver_sql(f"REVOKE ALL ON FUNCTION {name}() FROM PUBLIC")
    connection.exec_driver_sql(f"REVOKE ALL ON SEQUENCE {_SEQUENCE} FROM {', '.join(_LOGIN)}")
    connection.exec_driver_sql(f"GRANT SELECT ON SEQUENCE {_SEQUENCE} TO {', '.join(_LOGIN)}")
    _guard(connection)


def _make_roles(connection: Connection) -> None:
    known = set(connection.exec_driver_sql("SELECT rolname FROM pg_roles").scalars())
    for role in Role:
        verb = "ALTER" if role in known else "CREATE"
        login = "LOGIN" if role in _LOGIN else "NOLOGIN"
        connection.exec_driver_sql(f"{verb} ROLE {role} {login} {_PLAIN}")


def _close_database(connection: Connection) -> None:
    """No temporary tables, which could shadow ours, and nothing new in our schema."""
    quote = connection.dialect.identifier_preparer.quote
    database, schema = connection.exec_driver_sql(
        "SELECT current_database(), n.nspname FROM pg_class c "
        "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass('cog_events')"
    ).one()
    everybody = ", ".join(("PUBLIC", *Role))
    for statement in (
        f"REVOKE CREATE, TEMPORARY ON DATABASE {quote(database)} FROM {everybody}",
        f"GRANT CONNECT ON DATABASE {quote(database)} TO {', '.join(_LOGIN)}",
        f"REVOKE CREATE ON SCHEMA {quote(schema)} FROM {everybody}",
        f"GRANT USAGE ON SCHEMA {quote(schema)} TO {', '.join(Role)}",
    ):
        connection.exec_driver_sql(statement)


_PROTECT = """
INSERT INTO doxa_guard.protected (classid, objid)
SELECT 'pg_class'::regclass, to_regclass(quote_ident(n))::oid FROM unnest(%(tables)s::text[]) AS n
UNION ALL
SELECT 'pg_proc'::regclass, to_regproc(quote_ident(n))::oid FROM unnest(%(functions)s::text[]) AS n
UNION ALL
SELECT 'pg_namespace'::regclass, relnamespace FROM pg_class WHERE oid = to_regclass('cog_events')
UNION ALL
SELECT 'pg_namespace'::regclass, to_regnamespace('doxa_guard')::oid
UNION ALL
SELECT 'pg_class'::regclass, to_regclass('doxa_guard.protected')::oid
UNION ALL
SELECT 'pg_proc'::regclass, to_regproc('doxa_guard.refuse_ddl')::oid
"""


def _guard(connection: Connection) -> None:
    functions = triggers.functions(connection.dialect.name)
    making, watching = _guard_statements()
    triggers.execute(connection, making)
    connection.exec_driver_sql(
        _PROTECT, {"tables": [*PROTECTED, _SEQUENCE], "functions": functions}
    )
    # Last, as from here on nothing protected can be altered.
    triggers.execute(connection, watching)


def _guard_statements() -> tuple[list[str], list[str]]:
    statements = triggers.guard_statements()
    first = next(i for i, text in enumerate(statements) if text.startswith("CREATE EVENT TRIGGER"))
    return statements[:first], statements[first:]


_STANDING = """
SELECT e.evtname, p.prosrc FROM pg_event_trigger e JOIN pg_proc p ON p.oid = e.evtfoid
WHERE e.evtenabled::text = 'A'
"""


def missing_guards(connection: Connection) -> list[str]:
    """The event triggers that should stand and do not, where the roles were made."""
    if not installed(connection):
        return []
    bodies = triggers.bodies(triggers.guard_statements())
    standing = {name for name, body in connection.exec_driver_sql(_STANDING) if body in bodies}
    return [name for name in _GUARDS if name not in standing]
