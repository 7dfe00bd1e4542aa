from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from cli.server import serving_in_background
from service.app import create_app
from service.db.database import Database
from service.ratios.definitions import DEFINITIONS, Dimension
from service.ratios.figures import Kind, RatioName
from service.settings import Settings
from tests.service.ratios.record_builder import AGENT, NEXT_MONDAY, RecordBuilder, at

WEEK: dict[str, Any] = {"week": "2026-W40"}
SAMPLED = [name for name, one in DEFINITIONS.items() if one.kind is Kind.SAMPLED]
CENSUS = [name for name, one in DEFINITIONS.items() if one.kind is Kind.CENSUS]


@pytest.fixture
def client(settings: Settings, database: Database) -> Iterator[httpx.Client]:
    """A client of a real server whose clock stands at the end of the week."""
    app = create_app(settings, clock=lambda: NEXT_MONDAY)
    with (
        serving_in_background(app, settings) as url,
        httpx.Client(base_url=url, trust_env=False, timeout=30) as opened,
    ):
        yield opened


def get(client: httpx.Client, path: str, status: int = 200, /, **query: Any) -> dict[str, Any]:
    headers = query.pop("headers", {})
    answer = client.get(path, params=query, headers=headers)
    assert answer.status_code == status, answer.text
    body: dict[str, Any] = answer.json()
    return body


def test_all_ten_are_answered_with_window_and_state(
    client: httpx.Client, week: RecordBuilder
) -> None:
    body = get(client, "/v1/ratios", agent=AGENT, window="7d")
    assert body["window"] == {
        "from": "2026-09-28T00:00:00.000000Z", "until": "2026-10-05T00:00:00.000000Z",
    }  # fmt: skip
    assert body["agent"] == AGENT
    assert set(body["ratios"]) == set(RatioName)
    assert body["ratios"]["laundering"]["value"] == 0.5
    assert body["ratios"]["laundering"]["target"] == {"op": "<", "value": 0.01}
    assert body["bypass_signature"]["holds"] is False
    assert get(client, "/v1/ratios", **WEEK)["ratios"] == body["ratios"]


def test_as_of_given_back_answers_the_same_after_more_arrived(
    client: httpx.Client, week: RecordBuilder
) -> None:
    for path in ("/v1/ratios", "/v1/ratios/laundering", "/v1/calibration"):
        told = get(client, path, **WEEK)
        week.event("belief.created", at(1), belief_id=path, label_to="infer")
        again = get(client, path, as_of=told["as_of"], **WEEK)
        assert again == told
        assert get(client, path, **WEEK)["as_of"] != told["as_of"]


def test_a_state_that_was_not_reached_is_refused(client: httpx.Client, week: RecordBuilder) -> None:
    body = get(client, "/v1/ratios", 422, as_of="999999.0")
    assert body["errors"][0]["pointer"] == "/query/as_of"


@pytest.mark.parametrize("name", list(RatioName))
def test_items_are_the_rows_that_the_counts_count(
    client: httpx.Client, week: RecordBuilder, name: RatioName
) -> None:
    figure = get(client, f"/v1/ratios/{name}", **WEEK)
    rows: list[dict[str, Any]] = []
    after: dict[str, Any] = {}
    while True:
        page = get(client, f"/v1/ratios/{name}/items", limit=2, **WEEK, **after)
        rows += page["items"]
        if page["next"] is None:
            break
        assert len(page["items"]) == 2
        after = {"after": page["next"]}
    assert len(rows) == figure["denominator"]
    if name is RatioName.CONTRADICTION_AGE:
        assert [row["age_days"] for row in rows] == [17.0, 3.0]
    else:
        assert sum(row["counts"] for row in rows) == (figure["numerator"] or 0)
    assert rows == sorted(rows, key=lambda row: row["ts"])


def test_pages_of_items_do_not_shift_when_rows_arrive(
    client: httpx.Client, week: RecordBuilder
) -> None:
    path = "/v1/ratios/infer_without_abduction/items"
    first = get(client, path, limit=2, window="7d")
    week.event("belief.created", at(1, 1.5), belief_id="new", label_to="infer")
    second = get(client, path, limit=2, window="3d", after=first["next"])
    assert [row["subject"] for row in first["items"] + second["items"]] == ["b1", "b2", "b3", "b4"]
    assert second["as_of"] == first["as_of"]
    assert second["window"] == first["window"]
    assert second["items"][0]["detail"] == {"content": "content of b3", "category": "forecast"}


def test_items_of_a_sampled_ratio_show_the_words(client: httpx.Client, week: RecordBuilder) -> None:
    items = get(client, "/v1/ratios/unrecorded_assertions/items", **WEEK)["items"]
    assert items[0]["statement"] == "claim 0 of t1"
    assert [row["counts"] for row in items] == [False, True, True, False]


def test_in_path_comes_first_where_it_is_asked(client: httpx.Client, week: RecordBuilder) -> None:
    body = get(client, "/v1/ratios/abduction_engagement", source="in_path", **WEEK)
    assert (body["kind"], body["numerator"], body["denominator"]) == ("census", 1, 2)
    assert (body["auditor"]["numerator"], body["auditor"]["denominator"]) == (1, 4)
    items = get(client, "/v1/ratios/abduction_engagement/items", source="in_path", **WEEK)
    assert len(items["items"]) == 2
    get(client, "/v1/ratios/laundering", 422, source="in_path")


def test_groups_are_answered_and_a_missing_dimension_named(
    client: httpx.Client, week: RecordBuilder
) -> None:
    body = get(client, "/v1/ratios/infer_without_abduction", group_by="worker", **WEEK)
    assert [(one["group"], one["denominator"]) for one in body["groups"]] == [
        ("day", 3), ("night", 1),
    ]  # fmt: skip
    refusal = get(client, "/v1/ratios/contradiction_age", 422, group_by="category")
    assert "worker, day, week, model, commit_sha" in refusal["errors"][0]["reason"]
    every = get(client, "/v1/ratios", group_by="category", **WEEK)["ratios"]
    assert "groups" in every["laundering"]
    assert "groups" not in every["contradiction_age"]
    get(client, "/v1/ratios", 422, group_by="colour")


def test_an_agent_s_own_key_sees_its_census_and_nothing_of_the_audit(
    client: httpx.Client, week: RecordBuilder
) -> None:
    def key(scope: str, agent: str | None, **headers: str) -> dict[str, str]:
        wanted = {"scope": scope, "agent_id": agent}
        made = client.post("/v1/keys", json=wanted, headers=headers)
        return {"Authorization": f"Bearer {made.json()['key']}"}

    operate = key("operate", None)
    own, other = key("write", AGENT, **operate), key("write", "other", **operate)
    body = get(client, "/v1/ratios", headers=own, **WEEK)
    assert set(body["ratios"]) == set(CENSUS)
    assert "bypass_signature" not in body
    assert body["as_of"].endswith(".0")
    # What a trigger refused stands in the audit log.
    assert body["ratios"]["silent_overwrites"]["refused"] == 0
    for name in CENSUS:
        get(client, f"/v1/ratios/{name}", headers=own, **WEEK)
        get(client, f"/v1/ratios/{name}/items", headers=own, **WEEK)
    for name in SAMPLED:
        get(client, f"/v1/ratios/{name}", 403, headers=own)
        get(client, f"/v1/ratios/{name}/items", 403, headers=own)
    in_path = get(client, "/v1/ratios/abduction_engagement", headers=own, source="in_path", **WEEK)
    assert (in_path["denominator"], "auditor" in in_path) == (2, False)
    get(client, "/v1/ratios", 403, headers=other, agent=AGENT)
    get(client, "/v1/calibration", 403, headers=own)
    assert get(client, "/v1/ratios", headers=operate, agent=AGENT, **WEEK)["bypass_signature"]


def test_no_data_in_the_window_is_an_answer_with_nulls(
    client: httpx.Client, record: RecordBuilder
) -> None:
    ratios = get(client, "/v1/ratios")["ratios"]
    assert all(one["value"] is None and one["reason"] for one in ratios.values())
    grouped = get(client, "/v1/ratios", group_by=Dimension.WORKER)["ratios"]
    assert all(one["groups"] == [] for one in grouped.values())
    assert get(client, "/v1/ratios/revision/items")["items"] == []
    get(client, "/v1/ratios/no_such_ratio", 422)


def test_a_cursor_made_up_is_refused_or_harmless(client: httpx.Client, week: RecordBuilder) -> None:
    get(client, "/v1/ratios/revision/items", 422, after="AAAA")
