import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from cli.importing.formats import read_records, recognise
from cli.importing.identity import Reading
from cli.importing.records import BadRecord, Record
from cli.importing.source import find_source
from tests.cli.importing.write_once_service import Item, ReadFile, WriteLines, WriteOnceService


@pytest.fixture
def service() -> WriteOnceService:
    return WriteOnceService()


@pytest.fixture
def client(service: WriteOnceService) -> Iterator[httpx.Client]:
    with httpx.Client(transport=httpx.MockTransport(service), base_url="http://doxa") as client:
        yield client


@pytest.fixture
def write_lines(tmp_path: Path) -> WriteLines:
    """Writes values as JSONL (a text as it is) and gives the path."""

    def write(name: str, *values: object) -> str:
        path = tmp_path / name
        lines = [one if isinstance(one, str) else json.dumps(one) for one in values]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return str(path)

    return write


@pytest.fixture
def read_file() -> ReadFile:
    """Reads a file to the bodies of its records and what was bad in it."""

    def read(name: str, *, at: int = 0, **options: object) -> tuple[list[Item], list[BadRecord]]:
        recognised = recognise(find_source(name))
        reading = Reading(source=name, at=at, agent="ada", **options)  # type: ignore[arg-type]
        found = [one for _, records in read_records(recognised, reading) for one in records]
        return (
            [one.body for one in found if isinstance(one, Record)],
            [one for one in found if isinstance(one, BadRecord)],
        )

    return read
