"""The start page: how to begin while there is nothing, one row an agent after that."""

import shutil
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import httpx
import pytest

from dashboards.overview import MAX_AGENTS
from service.audits.vocabulary import RunState
from service.db.database import Database
from service.instants import DAY, HOUR, MINUTE, SECOND, parse_instant
from service.settings import Settings
from tests.dashboards.conftest import Serve
from tests.dashboards.reading import Page, read
from tests.dashboards.record import DAY_START, send_events, send_turns, store_run
from tests.service.factories import NOW

CLIENT_SOURCE = Path(__file__).parents[2] / "client" / "src"


def start_page(client: httpx.Client, query: str = "") -> Page:
    answer = client.get(f"/{query}")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    page = read(answer.text)
    assert page.problems == []
    return page


def row_of(page: Page, agent: str) -> str:
    return next(row for row in page.rows() if row.startswith(f"{agent} "))


def command(page: Page, beginning: str) -> str:
    return next(code for code in page.codes if code.startswith(beginning))


def test_an_empty_service_says_how_to_begin_and_looks_again_by_itself(client: httpx.Client) -> None:
    page = start_page(client)
    assert ("http-equiv", "refresh") in page.attributes
    ways = ("curl ", "from doxa_client import Doxa", "doxa demo", "DOXA_URL=")
    assert all(command(page, way) for way in ways)
    still = start_page(client, "?refresh=off")
    assert ("http-equiv", "refresh") not in still.attributes


def test_the_import_command_names_a_service_that_is_not_where_commands_look(
    client: httpx.Client,
) -> None:
    base = str(client.base_url).rstrip("/")
    assert f"DOXA_URL={base} doxa import FILE" in start_page(client).codes
    usual = client.get("/", headers={"Host": "127.0.0.1:8000"})
    assert "doxa import FILE" in read(usual.text).codes


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl here to paste the command for")
def test_the_curl_command_of_the_first_page_works_as_it_stands(client: httpx.Client) -> None:
    told = command(start_page(client), "curl ")
    done = subprocess.run(["bash", "-c", told], capture_output=True, text=True, check=True)
    assert '"accepted":1' in done.stdout
    assert row_of(start_page(client), "my-agent")


def test_the_python_of_the_first_page_works_as_it_stands(client: httpx.Client) -> None:
    told = command(start_page(client), "from doxa_client")
    subprocess.run([sys.executable, "-c", told], check=True, env={"PYTHONPATH": str(CLIENT_SOURCE)})
    stored = client.get("/v1/events").json()["items"]
    assert [event["belief_id"] for event in stored] == ["b2"]
    assert client.get(f"/v1/turns/{stored[0]['turn_id']}").status_code == 200


def test_the_page_turns_into_data_with_the_first_event(client: httpx.Client) -> None:
    client.post("/v1/agents", json={"agent_id": "piper"}).raise_for_status()
    assert start_page(client).title.startswith("Waiting")
    send_events(client, "piper")
    page = start_page(client)
    assert page.title.startswith("Agents")
    assert ("http-equiv", "refresh") not in page.attributes


def test_a_row_counts_the_last_seven_days(client: httpx.Client) -> None:
    for number, at in enumerate((NOW, NOW - 7 * DAY, NOW - 7 * DAY - 1)):
        send_events(client, "piper", at=at, event_id=f"e{number}")
    send_turns(client, "piper", "t1", "t2", "t3", at=NOW - 2 * HOUR)
    row = row_of(start_page(client), "piper")
    assert "just now 2 3 100 % of 3 known turns" in row


def test_transcripts_are_the_share_of_known_turns_whose_text_was_sent(client: httpx.Client) -> None:
    for number, turn in enumerate(("t1", "t1", "t2", "t3")):
        send_events(client, "piper", turn_id=turn, event_id=f"e{number}")
    send_turns(client, "piper", "t1", "t4")
    # t1 and t4 were sent; t2 and t3 are known by name alone.
    assert "50 % of 4 known turns" in row_of(start_page(client), "piper")


def test_a_turn_sent_long_before_its_event_counts_as_sent(client: httpx.Client) -> None:
    send_turns(client, "piper", "t1", at=NOW - 30 * DAY)
    send_events(client, "piper", turn_id="t1")
    assert "100 % of 1 known turn " in row_of(start_page(client), "piper")


def test_a_share_without_known_turns_is_not_a_number(client: httpx.Client) -> None:
    send_events(client, "piper")
    row = row_of(start_page(client), "piper")
    assert "no turn known no turns to audit" in row
    assert "%" not in row


def test_imported_history_shows_its_own_last_week(client: httpx.Client) -> None:
    send_turns(client, "airline", "t1", at=NOW - 100 * DAY)
    send_turns(client, "airline", "t0", at=NOW - 108 * DAY)
    row = row_of(start_page(client), "airline")
    assert "100 days ago 0 to 25 Jun 2026 1 to 25 Jun 2026 100 % of 1 known turn" in row


def test_a_clock_that_runs_ahead_is_named_and_hides_nothing(client: httpx.Client) -> None:
    send_events(client, "piper", at=NOW + 2 * DAY, event_id="e1")
    send_events(client, "piper", at=NOW - HOUR, event_id="e2")
    row = row_of(start_page(client), "piper")
    assert "in 2 days: its clock runs ahead 1 0" in row


def test_times_are_the_agents_and_utc_is_beside_them(client: httpx.Client) -> None:
    client.post("/v1/agents", json={"agent_id": "piper", "time_zone": "Asia/Kathmandu"})
    send_events(client, "piper", at=parse_instant("2026-10-02T23:30:00Z"))
    page = start_page(client)
    assert "3 Oct 2026, 05:15" in row_of(page, "piper")
    assert page.times == [("2026-10-02T23:30:00Z", "2026-10-02 23:30:00 UTC")]


@pytest.mark.parametrize(
    ("instant", "shown"),
    [
        ("0001-01-01T00:00:00Z", "0001-01-01 00:00:00 UTC"),
        ("9999-12-31T23:59:59.999999Z", "9999-12-31 23:59:59 UTC"),
    ],
)
@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "America/Los_Angeles"])
def test_the_ends_of_the_calendar_can_be_shown(
    serve: Serve, settings: Settings, zone: str, instant: str, shown: str
) -> None:
    floor = datetime.fromisoformat("0001-01-01T00:00:00Z")
    with serve(Settings(**settings.model_dump() | {"retention_floor": floor})) as client:
        client.post("/v1/agents", json={"agent_id": "far", "time_zone": zone}).raise_for_status()
        send_events(client, "far", at=parse_instant(instant))
        assert [title for _, title in start_page(client).times] == [shown]


def test_the_last_run_says_what_became_of_it(client: httpx.Client, database: Database) -> None:
    send_turns(client, "piper", "turn-0", "turn-1", "turn-2", at=DAY_START)
    store_run(database, "piper", start=DAY_START - DAY, started_at=NOW - 2 * HOUR)
    row = row_of(start_page(client), "piper")
    assert "done 1 Oct 2026: 2 findings in 2 of 3 drawn turns, 1 not judged" in row


@pytest.mark.parametrize(
    ("heartbeat_age", "shown"), [(MINUTE, "running"), (2 * MINUTE, "interrupted")]
)
def test_a_run_without_a_heartbeat_is_not_shown_as_running(
    client: httpx.Client, database: Database, heartbeat_age: int, shown: str
) -> None:
    send_turns(client, "piper", "turn-0", at=DAY_START)
    store_run(database, "piper", state=RunState.RUNNING, heartbeat_at=NOW - heartbeat_age)
    assert f" {shown} 2 Oct 2026" in row_of(start_page(client), "piper")


def test_the_run_started_last_is_the_one_shown(client: httpx.Client, database: Database) -> None:
    send_turns(client, "piper", "turn-0", at=DAY_START)
    store_run(database, "piper", started_at=NOW - 3 * HOUR)
    store_run(
        database,
        "piper",
        state=RunState.PARTIAL,
        start=DAY_START - 5 * DAY,
        started_at=NOW - SECOND,
        drawn=0,
        read=0,
        failed=0,
    )
    assert " partial 27 Sep 2026" in row_of(start_page(client), "piper")


def test_what_was_never_audited_comes_with_the_command_that_does_it(
    client: httpx.Client, database: Database
) -> None:
    send_turns(client, "piper", "turn-0", at=DAY_START)
    send_turns(client, "other one", "turn-0", at=DAY_START)
    assert {"doxa audit --agent piper --all", "doxa audit --agent 'other one' --all"} <= {
        *start_page(client).codes
    }
    store_run(database, "piper")
    assert not [code for code in start_page(client).codes if "piper" in code]


def test_rows_lead_to_the_report_and_the_ratios(client: httpx.Client) -> None:
    send_events(client, "piper")
    addresses = start_page(client).addresses
    report = next(address for address in addresses if "/v1/reports/weekly" in address)
    answer = client.get(report)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/html")
    assert "piper" in answer.text
    ratios = next(address for address in addresses if "/v1/ratios" in address)
    assert client.get(ratios).json()["agent"] == "piper"


def test_of_very_many_agents_the_most_recent_are_shown_and_the_rest_counted(
    client: httpx.Client,
) -> None:
    events = [
        {"agent_id": f"agent-{n:03}", "event": "x.note", "ts": "2026-10-03T11:00:00Z"}
        for n in range(MAX_AGENTS + 3)
    ]
    client.post("/v1/events", json=events).raise_for_status()
    send_events(client, "latest", at=NOW - MINUTE)
    rows = start_page(client).rows()
    assert rows[1].startswith("latest ")
    assert len(rows) == 1 + MAX_AGENTS
    assert "4 more agents were heard from longer ago" in rows[-1]
