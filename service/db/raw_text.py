"""Text that another hand wrote into the database: SQLite keeps bytes there that are no UTF-8."""

from typing import Any

from sqlalchemy import ColumnElement, LargeBinary
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.expression import FunctionElement


class raw_text(FunctionElement[bytes]):  # noqa: N801 - named as what it is in a statement
    """A text column as bytes, which a driver does not try to decode."""

    inherit_cache = True
    name = "raw_text"
    type = LargeBinary()

    def __init__(self, column: ColumnElement[Any] | Any) -> None:
        super().__init__(column)


@compiles(raw_text, "sqlite")
def _cast(element: raw_text, compiler: SQLCompiler, **options: Any) -> str:
    return f"CAST({compiler.process(element.clauses, **options)} AS BLOB)"


@compiles(raw_text, "postgresql")
def _convert(element: raw_text, compiler: SQLCompiler, **options: Any) -> str:
    return f"convert_to({compiler.process(element.clauses, **options)}, 'UTF8')"


def readable(raw: bytes | None) -> str | None:
    """The text again, U+FFFD for what is none."""
    return None if raw is None else bytes(raw).decode("utf-8", "replace")
