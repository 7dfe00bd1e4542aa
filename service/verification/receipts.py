"""Whether the log still holds what it gave receipts for."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, Table, select

from service.errors import ConfigurationError
from service.models import ShadowInference
from service.trust.receipts import Receipt
from service.verification.faults import Fault, Findings, Kind

_SHADOWS: Table = ShadowInference.__table__  # type: ignore[assignment]


class _Line(msgspec.Struct):
    """A receipt of a batch, with `index` from 0, or of an assertion, with `seq` from 1."""

    log: str
    leaf_hash: str
    shadow_id: str
    index: int | None = None
    seq: int | None = None
    agent_id: str | None = None


def read_receipts(lines: Iterable[bytes]) -> Iterable[Receipt]:
    """The receipts of a file, one JSON object a line: as they were given, or the whole answer."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield from _receipts_in(msgspec.json.decode(line))
        except (
            msgspec.DecodeError,
            msgspec.ValidationError,
            RecursionError,
            TypeError,
        ) as problem:
            raise ConfigurationError(f"Line {number} of the receipts: {problem}") from None


def _receipts_in(told: Any) -> Iterable[Receipt]:
    if "receipts" in told:
        for one in told["receipts"]:
            yield from _receipts_in({"agent_id": told.get("agent_id")} | one)
        return
    if "events" in told:  # the answer of a ledger call: a receipt beside each event that left one
        for event in told["events"]:
            if event["receipt"] is not None:
                yield from _receipts_in({"agent_id": told.get("agent_id")} | event["receipt"])
        return
    if "receipt" in told:
        told = told | told["receipt"]
    line = msgspec.convert(told, _Line)
    if line.index is None and line.seq is None:
        raise msgspec.ValidationError("it names neither `index` nor `seq`")
    index = line.index if line.index is not None else (line.seq or 0) - 1
    yield Receipt(line.log, index, line.leaf_hash, line.shadow_id, line.agent_id)


def check_receipts(
    connection: Connection, receipts: Iterable[Receipt], agents: Sequence[str], findings: Findings
) -> int:
    """How many receipts there are; those that are not kept are added to the findings."""
    count = 0
    for receipt in receipts:
        count += 1
        asked = agents if receipt.agent_id is None else [receipt.agent_id]
        rows = [row for agent in asked if (row := _row(connection, agent, receipt.shadow_id))]
        told = (receipt.log, receipt.index + 1, receipt.leaf_hash.lower())
        if told not in rows:
            reason = "is not there" if not rows else "stands elsewhere or says something else now"
            findings.add(
                Fault(
                    Kind.RECEIPT,
                    reason,
                    receipt.agent_id,
                    receipt.log,
                    str(_SHADOWS.name),
                    receipt.index + 1,
                    key={"shadow_id": receipt.shadow_id},
                )
            )
    if not count:
        raise ConfigurationError("The file of receipts holds none: nothing was checked.")
    return count


def _row(connection: Connection, agent_id: str, shadow_id: str) -> tuple[str, int, str] | None:
    row = connection.execute(
        select(_SHADOWS.c.log, _SHADOWS.c.seq, _SHADOWS.c.leaf_hash).where(
            _SHADOWS.c.agent_id == agent_id, _SHADOWS.c.shadow_id == shadow_id
        )
    ).first()
    return None if row is None else (row[0], row[1], (row[2] or b"").hex())
