"""Policy `record`: triggers for a ledger that is not Doxa's own; changes happen and are noted."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from string import Template

from triggers import quoted, split, statements

_PARTS = ("stash_insert", "replace", "stash_update", "eaten", "update", "delete")


@dataclass(frozen=True, slots=True)
class Ledger:
    """A table whose rows hold beliefs, and which of its columns are content.

    A change of any other column is bookkeeping and not noted. `unique` are further unique keys: on
    SQLite a REPLACE can remove a row by each. `agent_id` names the agent in what is noted.
    """

    table: str
    key: str
    content: tuple[str, ...]
    unique: tuple[tuple[str, ...], ...] = ()
    agent_id: str | None = None
    has_rowid: bool = True


def change_table_statements(system: str) -> list[str]:
    """Makes the change table and keeps it append-only, in a database that is not Doxa's."""
    return [*split(_template("change_table_v1.sql", system)), *statements(system, "ledger_changes")]


def record_statements(system: str, ledger: Ledger) -> list[str]:
    """Makes the triggers that note what happens to a ledger; the change table must be there."""
    values = {part: quoted(f"{ledger.table}_record_{part}") for part in _PARTS}
    values |= {"table": quoted(ledger.table), "table_text": _literal(ledger.table)}
    values |= _FILLERS[system](ledger)
    return [
        Template(text).substitute(values)
        for text in split(_template("change_record_v1.sql", system))
    ]


def _template(name: str, system: str) -> str:
    return (files("triggers") / system / "templates" / name).read_text()


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _of_sqlite(ledger: Ledger) -> dict[str, str]:
    uniques = [(ledger.key,), *ledger.unique]
    collides = [_all(f"{quoted(c)} = NEW.{quoted(c)}" for c in key) for key in uniques]
    moved = [_differs(column) for column in dict.fromkeys(c for key in uniques for c in key)]
    is_old = f"{quoted(ledger.key)} COLLATE BINARY IS OLD.{quoted(ledger.key)}"
    if ledger.has_rowid:
        collides.append("rowid = NEW.rowid")
        moved.append("OLD.rowid IS NOT NEW.rowid")
        is_old = "rowid = OLD.rowid"
    return {
        "row_key": _key(ledger, ""),
        "old_key": _key(ledger, "OLD."),
        "new_key": _key(ledger, "NEW."),
        "row_content": _content(ledger, ""),
        "old_content": _content(ledger, "OLD."),
        "new_content": _content(ledger, "NEW."),
        "collides": " OR ".join(collides),
        "moved": " OR ".join(moved),
        "is_old": is_old,
        "renamed": _differs(ledger.key),
        "changed": " OR ".join(_differs(column) for column in ledger.content),
    }


def _all(conditions: Iterable[str]) -> str:
    return f"({' AND '.join(conditions)})"


def _differs(column: str) -> str:
    """NULL, another type and another case are differences, whatever the column's collation."""
    old, new = f"OLD.{quoted(column)}", f"NEW.{quoted(column)}"
    return (
        f"({old} COLLATE BINARY IS NOT {new} COLLATE BINARY OR typeof({old}) IS NOT typeof({new}))"
    )


def _json_of(column: str, row: str) -> str:
    value = f"{row}{quoted(column)}"
    # JSON holds no bytes, and json_object() would end the statement over some.
    text = f"CASE typeof({value}) WHEN 'blob' THEN 'x:' || hex({value}) ELSE {value} END"
    return f"{_literal(column)}, {text}"


def _key(ledger: Ledger, row: str) -> str:
    named = [] if ledger.agent_id is None else [f"'agent_id', {_literal(ledger.agent_id)}"]
    return f"json_object({', '.join([*named, _json_of(ledger.key, row)])})"


def _content(ledger: Ledger, row: str) -> str:
    return f"json_object({', '.join(_json_of(column, row) for column in ledger.content)})"


def _of_postgresql(ledger: Ledger) -> dict[str, str]:
    named = {} if ledger.agent_id is None else {"agent_id": ledger.agent_id}
    columns = ",".join(_array_item(column) for column in ledger.content)
    arguments = (ledger.key, json.dumps(named), f"{{{columns}}}")
    return {"arguments": ", ".join(map(_literal, arguments))}


def _array_item(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


_FILLERS = {"sqlite": _of_sqlite, "postgresql": _of_postgresql}
