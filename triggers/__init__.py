"""Trigger files, `{sqlite,postgresql}/<table>_<rule>_v<n>.sql`: revisions execute them by name.

They stand in both folders under the same names and are never edited once released: a change is a
file of the next version, which a new revision installs. A blank line ends each statement.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from sqlalchemy import Connection

# Its file also makes the function that all others run on PostgreSQL.
FIRST = "ledger_changes"
GUARD = "doxa_guard_v1.sql"
_FILE = re.compile(r"(?P<table>[a-z_]+)_(?P<rule>write_once)_v(?P<version>\d+)\.sql")
_MADE = re.compile(r"CREATE (?P<kind>TRIGGER|FUNCTION) (?P<name>\w+)")
_BODY = re.compile(r"AS \$doxa\$(?P<body>.*)\$doxa\$", re.DOTALL)
# psycopg reads % as a placeholder wherever parameters are given, even none.
_PLAIN = {"no_parameters": True}
_DROPS = {
    "sqlite": "DROP TRIGGER IF EXISTS {trigger}",
    "postgresql": "DROP TRIGGER IF EXISTS {trigger} ON {table}",
}


@dataclass(frozen=True, slots=True)
class Definition:
    """A trigger or function as its file makes it."""

    table: str
    kind: str
    name: str
    text: str


def tables() -> list[str]:
    """The write-once tables, the one first that the others' triggers need."""
    names = {found["table"] for name in _names("sqlite") if (found := _FILE.fullmatch(name))}
    return sorted(names, key=lambda name: (name != FIRST, name))


def definitions(system: str) -> list[Definition]:
    """What a database of this system (`sqlite` or `postgresql`) must have, no more and no less."""
    return [
        Definition(table, found["kind"].lower(), found["name"], statement)
        for table in tables()
        for statement in statements(system, table)
        if (found := _MADE.match(statement))
    ]


def statements(system: str, table: str) -> list[str]:
    """The statements of a table's newest file, in their order."""
    versions = {
        int(found["version"]): name
        for name in _names(system)
        if (found := _FILE.fullmatch(name)) and found["table"] == table
    }
    return list(split((files(__name__) / system / versions[max(versions)]).read_text()))


def split(text: str) -> Iterator[str]:
    """The statements of a file, without the comments before each and the semicolon behind it."""
    for part in text.split("\n\n"):
        lines = part.strip().split("\n")
        while lines and lines[0].startswith("--"):
            del lines[0]
        if lines:
            yield "\n".join(lines).removesuffix(";")


def guard_statements() -> list[str]:
    """PostgreSQL's event triggers, which stand once the roles are made."""
    return list(split((files(__name__) / "postgresql" / "roles" / GUARD).read_text()))


def execute(connection: Connection, texts: Iterable[str]) -> None:
    """Runs statements without parameters, in the caller's transaction."""
    for text in texts:
        connection.exec_driver_sql(text, execution_options=_PLAIN)


def bodies(texts: Iterable[str]) -> list[str]:
    """What stands between the quotes of the functions among some statements."""
    return [found["body"] for text in texts if (found := _BODY.search(text))]


def functions(system: str) -> list[str]:
    """The functions that triggers run, by name."""
    return [made.name for made in definitions(system) if made.kind == "function"]


def quoted(name: str) -> str:
    """A name as SQL takes it, whatever stands in it."""
    return '"' + name.replace('"', '""') + '"'


def install(connection: Connection, table: str) -> None:
    """Runs the statements of a table's newest file."""
    execute(connection, statements(connection.engine.name, table))


def remove(connection: Connection, table: str) -> None:
    """Drops a table's triggers, those that are there, whatever their text."""
    system = connection.engine.name
    for made in definitions(system):
        if made.table == table and made.kind == "trigger":
            connection.exec_driver_sql(_DROPS[system].format(trigger=made.name, table=table))


def remove_functions(connection: Connection) -> None:
    """Drops what triggers ran, once they are gone."""
    for name in functions(connection.engine.name):
        connection.exec_driver_sql(f"DROP FUNCTION IF EXISTS {name}()")


def reinstall(connection: Connection, table: str) -> None:
    """What a revision calls after it rebuilt a table: SQLite has dropped its triggers with it."""
    remove(connection, table)
    execute(
        connection,
        (
            re.sub("^CREATE FUNCTION", "CREATE OR REPLACE FUNCTION", text)
            for text in statements(connection.engine.name, table)
        ),
    )


@cache
def _names(system: str) -> list[str]:
    return sorted(entry.name for entry in (files(__name__) / system).iterdir())
