"""The description of the API says what the OpenAPI document says, in words."""

from typing import Any

import httpx
import pytest

from dashboards.api_description import describe, type_of
from service.settings import Settings
from tests.dashboards.conftest import compose
from tests.dashboards.reading import Page, read


@pytest.fixture
def page(client: httpx.Client) -> Page:
    answer = client.get("/docs")
    assert answer.status_code == 200
    return read(answer.text)


@pytest.fixture
def document(client: httpx.Client) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/openapi.json").json()
    return found


def test_every_call_stands_in_it_with_an_anchor_in_the_contents(
    page: Page, document: dict[str, Any]
) -> None:
    assert page.problems == []
    calls = [call for group in describe(document).groups for call in group.calls]
    known = {(m.upper(), path) for path, item in document["paths"].items() for m in item}
    assert {(call.method, call.path) for call in calls} == known
    assert {call.anchor for call in calls} <= set(page.ids)
    assert {f"#{call.anchor}" for call in calls} <= set(page.addresses)


def test_every_parameter_and_field_and_shape_is_named(page: Page, document: dict[str, Any]) -> None:
    codes = set(page.codes)
    for item in document["paths"].values():
        for operation in item.values():
            assert {p["name"] for p in operation.get("parameters", ())} <= codes
    for name, schema in document["components"]["schemas"].items():
        assert {name, *schema.get("properties", {})} <= codes


def test_what_a_call_does_and_takes_stands_beside_it(page: Page) -> None:
    text = " ".join(page.text.split())
    assert (
        "POST /v1/events Stores one event, an array, or NDJSON; answers after the commit." in text
    )
    assert "on_error query skip store the good items of a batch" in text
    assert "limit query integer , 1 to 1,000, default 100 rows on a page" in text


def test_the_pages_themselves_are_not_in_the_document(document: dict[str, Any]) -> None:
    assert {"/", "/docs", "/static/{name}"}.isdisjoint(document["paths"])


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "string"}, "string"),
        ({"type": "string", "format": "date"}, "string (date)"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "integer or null"),
        ({"type": "array", "items": {"$ref": "#/components/schemas/Key"}}, "array of Key"),
        ({"type": "object", "additionalProperties": {"type": "number"}}, "object of number"),
        ({"type": "object", "additionalProperties": False}, "object"),
        ({"enum": ["a", "b"], "type": "string"}, "a | b"),
        ({"const": "a"}, "a"),
        ({"type": "array"}, "array of any"),
        ({}, "any"),
    ],
)
def test_a_schema_reads_as_words(schema: dict[str, Any], words: str) -> None:
    assert "".join(part.text for part in type_of(schema)) == words


def test_calls_without_a_tag_or_a_description_are_shown_all_the_same(settings: Settings) -> None:
    app = compose(settings)

    @app.get("/v1/bare")
    def bare_call() -> None: ...

    found = describe(app.openapi()).groups[-1]
    assert found.name == "other"
    assert [(call.path, call.description) for call in found.calls] == [("/v1/bare", "Bare Call")]
    app.state.doxa.database.close()
    app.state.keyring._database.close()
