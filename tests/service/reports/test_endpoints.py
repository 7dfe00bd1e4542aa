from typing import Any

import httpx
import pytest

from service.errors import NotAcceptable
from service.reports.negotiation import Form, choose_form
from tests.service.ratios.record_builder import AGENT, NEXT_MONDAY, RecordBuilder, at

RUN: dict[str, Any] = {
    "ran_at": "2026-10-01T00:00:00Z", "commit_sha": "abc", "just_loss": 0.2,
    "just_loss_bare": 0.3, "detail": {"tasks": 40},
}  # fmt: skip
WEEKLY = "/v1/reports/weekly"


def get(client: httpx.Client, path: str, accept: str | None = None) -> httpx.Response:
    return client.get(path, headers={} if accept is None else {"Accept": accept})


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        (None, Form.JSON),
        ("*/*", Form.JSON),
        ("text/*", Form.MARKDOWN),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", Form.HTML),
        ("text/markdown, text/html;q=0.5", Form.MARKDOWN),
        ("TEXT/HTML; charset=utf-8", Form.HTML),
        ("application/json;q=0, */*", Form.MARKDOWN),
        ("text/html;q=nan, application/json;q=0.1", Form.JSON),
    ],
)
def test_the_form_is_the_one_asked_for(accept: str | None, form: Form) -> None:
    assert choose_form(accept) is form


@pytest.mark.parametrize(
    "accept", ["application/pdf", "text/html;q=0", "nonsense", "text/html;q=x"]
)
def test_other_forms_are_not_acceptable(accept: str) -> None:
    with pytest.raises(NotAcceptable, match="text/markdown"):
        choose_form(accept)


def test_a_report_comes_in_three_forms(client: httpx.Client, week: RecordBuilder) -> None:
    for accept, start in (
        ("application/json", "{"),
        ("text/markdown", "# piper"),
        ("text/html", "<!doctype"),
    ):
        answer = get(client, f"{WEEKLY}/2026-W40", accept)
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith(accept)
        assert answer.headers["vary"] == "Accept"
        assert answer.text.startswith(start)
        assert get(client, f"{WEEKLY}/2026-W40", accept).content == answer.content
    assert (
        "default-src 'none'" in get(client, WEEKLY, "text/html").headers["content-security-policy"]
    )
    refused = get(client, WEEKLY, "image/png")
    assert refused.status_code == 406
    assert refused.headers["content-type"] == "application/problem+json"


def test_without_a_week_it_is_the_latest_with_data_and_none_of_the_future(
    client: httpx.Client, record: RecordBuilder
) -> None:
    assert get(client, WEEKLY).json()["week"] == "2026-W41"
    record.event("belief.challenged", at(-10), belief_id="b")
    assert get(client, WEEKLY).json()["week"] == "2026-W38"
    record.turn("t", at(2))
    assert get(client, WEEKLY).json()["week"] == "2026-W40"
    record.event("belief.challenged", NEXT_MONDAY + 10**12, belief_id="b")
    assert get(client, WEEKLY).json()["week"] == "2026-W40"


def test_a_page_links_to_no_week_of_the_future(client: httpx.Client, week: RecordBuilder) -> None:
    assert "2026-W41 " in get(client, f"{WEEKLY}/2026-W40", "text/html").text
    assert "2026-W42" not in get(client, f"{WEEKLY}/2026-W41", "text/html").text


@pytest.mark.parametrize("wrong", ["2026-W54", "2025-W53", "2026-40", "last"])
def test_a_week_that_does_not_exist_is_named(
    client: httpx.Client, record: RecordBuilder, wrong: str
) -> None:
    answer = get(client, f"{WEEKLY}/{wrong}")
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"].endswith("iso_week")


def test_as_of_gives_the_same_report_after_more_arrived(
    client: httpx.Client, week: RecordBuilder
) -> None:
    told = get(client, f"{WEEKLY}/2026-W40")
    week.event("belief.superseded", at(5), belief_id="k1")
    assert get(client, f"{WEEKLY}/2026-W40").content != told.content
    again = get(client, f"{WEEKLY}/2026-W40?as_of={told.json()['as_of']}")
    assert again.content == told.content


def test_the_rows_that_a_figure_names_are_there(client: httpx.Client, week: RecordBuilder) -> None:
    for figure in get(client, f"{WEEKLY}/2026-W40").json()["figures"]:
        for path in figure["rows"]:
            assert get(client, path).status_code == 200, path


def test_a_bench_run_is_recorded_once_and_shown(client: httpx.Client, week: RecordBuilder) -> None:
    first = client.post("/v1/bench-runs", json=RUN)
    assert first.status_code == 201, first.text
    assert first.json()["beats_bare"] is True
    again = client.post("/v1/bench-runs", json=RUN | {"agent_id": AGENT})
    assert (again.status_code, again.json()) == (200, first.json())
    named = RUN | {"bench_run_id": "r1"}
    assert client.post("/v1/bench-runs", json=named).status_code == 201
    assert client.post("/v1/bench-runs", json=named | {"just_loss": 0.9}).status_code == 409
    page = client.get("/v1/bench-runs", params={"limit": 1}).json()
    rest = client.get("/v1/bench-runs", params={"after": page["next"]}).json()
    shown = [*page["items"], *rest["items"]]
    assert [run["bench_run_id"] for run in shown] == ["r1", first.json()["bench_run_id"]]
    assert shown[0]["detail"] == {"tasks": 40}
    assert get(client, f"{WEEKLY}/2026-W40").json()["bench"]["run"]["bench_run_id"] == "r1"


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"just_loss": -0.1}, "/just_loss"),
        ({"just_loss": "low"}, "/just_loss"),
        ({"ran_at": "2026-10-01T00:00:00"}, "/ran_at"),
        ({"ran_at": "2026-09-31T00:00:00Z"}, "/ran_at"),
        ({"commit_sha": "a\u0000b"}, "/commit_sha"),
        ({"commit_sha": ""}, "/commit_sha"),
        ({"bench_run_id": "x" * 300}, "/bench_run_id"),
        ({"score": 1}, "/score"),
    ],
)
def test_what_is_wrong_with_a_run_is_named(
    client: httpx.Client, record: RecordBuilder, change: dict[str, Any], pointer: str
) -> None:
    answer = client.post("/v1/bench-runs", json=RUN | change)
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["pointer"] == pointer


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b'{"just_loss": NaN}', 400),
        (b'{"commit_sha": "\xff"}', 400),
        (b"[]", 422),
        (b'{"detail": ' + b"[" * 100 + b"]" * 100 + b"}", 422),
    ],
)
def test_a_body_that_is_no_run_is_no_surprise(
    client: httpx.Client, record: RecordBuilder, body: bytes, status: int
) -> None:
    headers = {"Content-Type": "application/json"}
    answer = client.post("/v1/bench-runs", content=body, headers=headers)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"


def test_detail_is_read_back_as_it_was_sent_on_both_databases(
    client: httpx.Client, record: RecordBuilder
) -> None:
    detail = {"nul": "a\u0000b", "big": 2**70, "small": 1e-300, "deep": [[{"x": None}]]}
    sent = client.post("/v1/bench-runs", json=RUN | {"detail": detail})
    assert sent.status_code == 201, sent.text
    assert client.get("/v1/bench-runs").json()["items"][0]["detail"] == detail


def test_an_agents_own_key_sees_neither_report_nor_runs(
    client: httpx.Client, week: RecordBuilder
) -> None:
    def key(scope: str, agent: str | None, **headers: str) -> dict[str, str]:
        wanted = {"scope": scope, "agent_id": agent}
        made = client.post("/v1/keys", json=wanted, headers=headers)
        return {"Authorization": f"Bearer {made.json()['key']}"}

    operate = key("operate", None)
    own, reads = key("write", AGENT, **operate), key("read", None, **operate)
    for path in (WEEKLY, f"{WEEKLY}/2026-W40", "/v1/bench-runs"):
        assert client.get(path, headers=own).status_code == 403
        assert client.get(path, headers=reads).status_code == 200
    assert client.post("/v1/bench-runs", json=RUN, headers=reads).status_code == 403
    assert client.post("/v1/bench-runs", json=RUN, headers=own).status_code == 403
    assert client.post("/v1/bench-runs", json=RUN, headers=operate).status_code == 201
