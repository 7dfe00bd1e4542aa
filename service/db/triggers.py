"""The triggers that a database has beside those it must have; each kind is asked in its own way."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sqlalchemy import Connection

import triggers
from service.db import roles

# Not write-once, but their rows say what was committed and what was published.
_WATCHED = ("log_heads", "published_changes")
# Runs as its owner, with this configuration, in this language, beside its table.
_FUNCTION = (True, "search_path=pg_catalog, pg_temp", "plpgsql", True)


@dataclass(frozen=True, slots=True)
class Found:
    """A trigger as a database has it; `fault` is what else than its text is wrong with it."""

    name: str
    table: str
    text: str
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """A trigger that is not as it must be, and what is wrong with it."""

    name: str
    table: str
    reason: str
    is_foreign: bool = False

    def __str__(self) -> str:
        return f"{self.name} on {self.table} {self.reason}"


def differences(connection: Connection) -> list[Difference]:
    """What is missing, altered, switched off or foreign among the triggers of a database."""
    system = connection.dialect.name
    wanted = {made.name: made for made in triggers.definitions(system) if made.kind == "trigger"}
    found = {(trigger.table, trigger.name): trigger for trigger in _FINDERS[system](connection)}
    wrong = []
    for name, made in wanted.items():
        trigger = found.pop((made.table, name), None)
        if trigger is None:
            wrong.append(Difference(name, made.table, "is missing"))
        elif _squeezed(trigger.text) != _squeezed(made.text):
            wrong.append(Difference(name, made.table, "was altered"))
        elif trigger.fault:
            wrong.append(Difference(name, made.table, trigger.fault))
    guarded = {*triggers.tables(), *_WATCHED}
    wrong += [
        Difference(name, table, "is none of Doxa's", is_foreign=True)
        for table, name in sorted(found)
        if table in guarded
    ]
    return wrong + _GUARDS[system](connection)


def put_back(connection: Connection) -> None:
    """Drops what is foreign and makes all triggers anew, in the caller's transaction."""
    foreign = [wrong for wrong in differences(connection) if wrong.is_foreign]
    for wrong in foreign:
        for drop in _DROPS[connection.dialect.name]:
            connection.exec_driver_sql(
                drop.format(name=triggers.quoted(wrong.name), table=wrong.table)
            )
    for table in triggers.tables():
        triggers.reinstall(connection, table)


def counted_attempts(connection: Connection) -> int:
    """How many attempts were ever counted; PostgreSQL counts those that were rolled back, too.

    More than `ledger_changes` has rows: some were. A crash of the server can add a few of its own.
    """
    return int(connection.exec_driver_sql(_COUNTS[connection.dialect.name]).scalar() or 0)


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def _find_in_sqlite(connection: Connection) -> Iterator[Found]:
    rows = connection.exec_driver_sql(
        "SELECT name, tbl_name, sql FROM main.sqlite_master WHERE type = 'trigger'"
    )
    for name, table, text in rows:
        yield Found(name, table, text or "")


_POSTGRESQL_TRIGGERS = """
SELECT t.tgname, c.relname, pg_get_triggerdef(t.oid, true), t.tgenabled::text = 'A', p.proname,
  p.prosrc, p.prosecdef, array_to_string(p.proconfig, ';'), l.lanname,
  p.pronamespace = c.relnamespace
FROM pg_trigger t
JOIN pg_class c ON c.oid = t.tgrelid
JOIN pg_proc p ON p.oid = t.tgfoid
JOIN pg_language l ON l.oid = p.prolang
WHERE NOT t.tgisinternal
  AND t.tgrelid IN (SELECT to_regclass(quote_ident(n)) FROM unnest(%(tables)s::text[]) AS n)
"""
_POSTGRESQL_RULES = """
SELECT r.rulename, c.relname FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class
WHERE c.oid IN (SELECT to_regclass(quote_ident(n)) FROM unnest(%(tables)s::text[]) AS n)
"""


def _find_in_postgresql(connection: Connection) -> Iterator[Found]:
    bodies = triggers.bodies(made.text for made in triggers.definitions("postgresql"))
    names = {"tables": [*triggers.tables(), *_WATCHED]}
    rows = connection.exec_driver_sql(_POSTGRESQL_TRIGGERS, names).all()
    for name, table, text, always, function, body, definer, config, language, beside in rows:
        fault = None
        if not always:
            fault = "is not enabled always"
        elif body not in bodies or (definer, config, language, beside) != _FUNCTION:
            fault = f"runs a function {function} that was altered"
        yield Found(name, table, text, fault)
    for name, table in connection.exec_driver_sql(_POSTGRESQL_RULES, names):
        yield Found(name, table, "a rule")


def _guards_of_postgresql(connection: Connection) -> list[Difference]:
    return [
        Difference(name, "the database", "is missing, altered or off")
        for name in roles.missing_guards(connection)
    ]


_FINDERS: dict[str, Callable[[Connection], Iterator[Found]]] = {
    "sqlite": _find_in_sqlite,
    "postgresql": _find_in_postgresql,
}
_GUARDS: dict[str, Callable[[Connection], list[Difference]]] = {
    "sqlite": lambda _connection: [],
    "postgresql": _guards_of_postgresql,
}
_COUNTS = {
    "sqlite": "SELECT seq FROM sqlite_sequence WHERE name = 'ledger_changes'",
    "postgresql": (
        "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM ledger_changes_change_id_seq"
    ),
}
_DROPS = {
    "sqlite": ("DROP TRIGGER {name}",),
    "postgresql": (
        "DROP TRIGGER IF EXISTS {name} ON {table}",
        "DROP RULE IF EXISTS {name} ON {table}",
    ),
}
