"""The audit over a real server on loopback, on both databases."""

from collections.abc import Iterator
from datetime import date

import httpx
import pytest

from auditor.method import builtin_method
from auditor.run import Auditor, RunOptions
from service.db.database import Database
from service.instants import DAY
from service.settings import Settings
from tests.auditor.recording import AGENT, NOON, a_turn, findings, record_turns, runs
from tests.service.factories import a_client, a_key


@pytest.fixture
def client(settings: Settings) -> Iterator[httpx.Client]:
    with a_client(settings) as client:
        yield client


def audit_monday(database: Database, turns: int = 3) -> str:
    record_turns(database, [a_turn(worker="day") for _ in range(turns)])
    auditor = Auditor(database, builtin_method(), lambda: NOON + DAY, 50)
    return auditor.audit_day(AGENT, date(2026, 10, 5), RunOptions(2)).audit.audit_id


def test_a_run_is_listed_shown_with_strata_and_never_with_its_seed(
    database: Database, client: httpx.Client
) -> None:
    audit_id = audit_monday(database)
    listed = client.get("/v1/audits").json()
    assert listed["next"] is None
    (item,) = listed["items"]
    assert item["window"] == {
        "from": "2026-10-05T00:00:00.000000Z",
        "until": "2026-10-06T00:00:00.000000Z",
    }
    assert item["turns"] == {"done": 2, "failed": 0, "unjudged": 0}
    answer = client.get(f"/v1/audits/{audit_id}")
    shown = answer.json()
    assert shown == item | {
        "strata": [{"stratum": "2026-10-05|day", "population": 3, "drawn": 2, "finished": 2}]
    }
    assert runs(database)[0].seed.hex() not in answer.text
    assert "seed" not in answer.text


def test_findings_come_in_pages(database: Database, client: httpx.Client) -> None:
    audit_id = audit_monday(database)
    stored = [finding.finding_id for finding in findings(database)]
    assert len(stored) == 2
    first = client.get(f"/v1/audits/{audit_id}/findings", params={"limit": 1}).json()
    second = client.get(
        f"/v1/audits/{audit_id}/findings", params={"limit": 1, "after": first["next"]}
    ).json()
    assert [f["finding_id"] for f in first["items"] + second["items"]] == stored
    assert second["next"] is None
    assert first["items"][0]["support"] is None
    assert first["items"][0]["decisive_source"] is None


def test_runs_come_in_pages_the_latest_window_first(
    database: Database, client: httpx.Client
) -> None:
    record_turns(database, [a_turn(ts=NOON + n * DAY) for n in range(3)])
    auditor = Auditor(database, builtin_method(), lambda: NOON + 9 * DAY, 50)
    for day in (5, 6, 7):
        auditor.audit_day(AGENT, date(2026, 10, day))
    seen, after = [], None
    while True:
        query: dict[str, str | int] = {"agent": AGENT, "limit": 2}
        if after:
            query["after"] = after
        page = client.get("/v1/audits", params=query).json()
        seen += [item["window"]["from"][:10] for item in page["items"]]
        after = page["next"]
        if after is None:
            break
    assert seen == ["2026-10-07", "2026-10-06", "2026-10-05"]


def test_a_request_is_queued_once_and_found_by_its_id(
    database: Database, client: httpx.Client
) -> None:
    record_turns(database, [a_turn()])
    answer = client.post("/v1/audits", json={"agent": AGENT, "day": "2026-10-05"})
    assert answer.status_code == 202
    same = {"from": "2026-10-05", "until": "2026-10-06"}
    again = client.post("/v1/audits", json=same)
    assert again.json() == answer.json()
    shown = client.get(answer.headers["location"]).json()
    assert (shown["state"], shown["outcome"], shown["audits"]) == ("queued", None, [])
    assert runs(database) == []


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"day": "2026-10-05", "from": "2026-10-05", "until": "2026-10-06"},
        {"from": "2026-10-05"},
        {"from": "2026-10-05", "until": "2026-10-05"},
        {"day": "2026-09-31"},
        {"day": "9999-12-31"},
        {"day": "2026-10-05", "seed": "00"},
        {"day": 5e300},
    ],
)
def test_a_request_that_names_no_days_is_malformed(
    database: Database, client: httpx.Client, body: dict[str, object]
) -> None:
    record_turns(database, [a_turn()])
    answer = client.post("/v1/audits", json=body)
    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/problem+json"


def test_what_is_not_there_is_not_found(database: Database, client: httpx.Client) -> None:
    record_turns(database, [a_turn()])
    for path in ("/v1/audits/none", "/v1/audits/none/findings", "/v1/audits?agent=nobody"):
        assert client.get(path).status_code == 404, path
    assert client.post("/v1/audits", json={"agent": "x", "day": "2026-10-05"}).status_code == 404


def test_the_agents_key_sees_nothing_of_its_audit(database: Database, client: httpx.Client) -> None:
    audit_id = audit_monday(database)
    operate = a_key(client, "operate")
    write = a_key(client, "write", AGENT, **operate)
    read, audit = a_key(client, "read", **operate), a_key(client, "audit", **operate)
    paths = ("/v1/audits", f"/v1/audits/{audit_id}", f"/v1/audits/{audit_id}/findings")
    for path in paths:
        assert client.get(path).status_code == 401
        assert client.get(path, headers=write).status_code == 403, path
        for headers in (read, audit, operate):
            assert client.get(path, headers=headers).status_code == 200, path
    codes = [
        client.post("/v1/audits", json={"day": "2026-10-05"}, headers=headers).status_code
        for headers in (write, read, audit, operate)
    ]
    assert codes == [403, 403, 202, 202]
