from functools import cache

from sqlalchemy import Double, Table

from service.trust.leaves import UNHASHED, LeafEncoder


@cache
def told_columns(table: Table) -> tuple[str, ...]:
    """A write-once table's columns but for those that are given when a row is placed."""
    return tuple(str(column.name) for column in table.columns if column.name not in UNHASHED)


@cache
def leaf_encoder(table: Table) -> LeafEncoder:
    """Hashes rows whose values stand in the order of `told_columns`."""
    reals = {str(column.name) for column in table.columns if isinstance(column.type, Double)}
    payloads: dict[str, str] = table.info.get("payloads", {})
    return LeafEncoder(str(table.name), told_columns(table), payloads, reals)
