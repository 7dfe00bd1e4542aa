"""The walk recomputes what others would, and holds no more of a long log than of a short one."""

import hashlib
import json
import os
import time
import tracemalloc
from typing import Any

import pytest
from pymerkle import InmemoryTree, InvalidProof, verify_inclusion
from sqlalchemy import Table, select

from service.db.database import Database
from service.db.engines import open_engine
from service.events.adopting import committed_tables
from service.models import LogHead
from service.trust.tree import Frontier
from service.verification.operations import Means, Verdict, verify_record
from service.verification.references import Notes, peaks_of
from tests.service.factories import an_event, post
from tests.service.verification.recording import write_rows


def walk(database: Database) -> Verdict:
    engine = open_engine(database.url, read_only=True)
    try:
        return verify_record(engine, Means(database.sealer, Notes(None, [])), lambda _rows: None)
    finally:
        engine.dispose()


def as_documented(table: Table, row: dict[str, Any]) -> bytes:
    """What a stranger hashes behind a zero byte, by docs/verify.md and nothing of ours."""
    for payload, salt in {"detail": "detail_salt", "payload": "payload_salt"}.items():
        if payload in row:
            text, salted = row.pop(payload), row.pop(salt)
            if text is not None:
                row[f"{payload}_hash"] = hashlib.sha256(salted + text.encode()).hexdigest()
    for name in ("seq", "leaf_hash", "seal"):
        del row[name]
    fields = {name: value for name, value in row.items() if value is not None}
    fields["table"] = table.name
    return json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def test_root_and_proofs_are_those_of_the_reference_tree(database: Database) -> None:
    write_rows(database, 0, 7)
    texts: dict[int, bytes] = {}
    with database.read() as session:
        for table in committed_tables():
            for row in session.execute(select(*table.columns)):
                texts[row.seq] = as_documented(table, dict(row._mapping))
    reference = InmemoryTree(algorithm="sha256")
    for seq in sorted(texts):
        reference.append_entry(texts[seq])
    (walked,) = walk(database).logs
    assert walked.rows == len(texts) == 21
    assert walked.root == reference.get_root()
    leaf = hashlib.sha256(b"\0" + texts[4]).digest()
    verify_inclusion(leaf, walked.root, reference.prove_inclusion(4))
    with pytest.raises(InvalidProof):
        verify_inclusion(leaf, walked.root, reference.prove_inclusion(5))


@pytest.mark.parametrize("size", [0, 1, 2, 3, 7, 8, 1000])
def test_the_peaks_of_a_head_are_roots_of_its_parts(size: int) -> None:
    leaves = [os.urandom(32) for _ in range(size)]
    tree = Frontier()
    tree.extend(leaves)
    peaks = peaks_of(size, tree.packed())
    assert [peak.start for peak in peaks[1:]] == [peak.end for peak in peaks[:-1]]
    assert (peaks[-1].end if peaks else 0) == size
    for peak in peaks:
        part = Frontier()
        part.extend(leaves[peak.start : peak.end])
        assert part.root() == peak.root


def grow(database: Database, rows: int) -> None:
    with database.read() as session:
        size = session.scalar(select(LogHead.size)) or 0
    for start in range(size, rows, 2000):
        post(
            database,
            [
                an_event("x.fill", event_id=f"e{n}", detail={"text": "as long as most of them"})
                for n in range(start, min(rows, start + 2000))
            ],
        )


def peak_of_walk(database: Database) -> tuple[int, int]:
    walk(database)  # what is loaded once is not counted
    tracemalloc.start()
    try:
        verdict = walk(database)
        assert not verdict.findings
        return verdict.rows, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_log(database: Database) -> None:
    grow(database, 1_500)
    small, least = peak_of_walk(database)
    grow(database, 12_000)
    large, most = peak_of_walk(database)
    assert (small, large) == (1_500, 12_000)
    assert most < least * 1.5


@pytest.mark.long
def test_a_million_rows_take_no_longer_than_their_ingest_and_no_memory(
    database: Database,
) -> None:
    began = time.process_time()
    grow(database, 1_000_000)
    ingest = time.process_time() - began
    began = time.process_time()
    verdict = walk(database)
    assert time.process_time() - began < ingest
    assert (verdict.rows, bool(verdict.findings)) == (1_000_000, False)
    tracemalloc.start()
    walk(database)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 * 2**20
