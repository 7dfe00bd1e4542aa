"""Generated requests against the OpenAPI document: no answer is outside what it describes."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as hypothesis_settings
from hypothesis.errors import Unsatisfiable
from schemathesis import APIOperation, Case, GenerationMode
from schemathesis.checks import CheckFunction, not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from service.settings import Settings
from tests.service.factories import a_client, a_key

CHECKS: list[CheckFunction] = [
    not_a_server_error,
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
]
LEFT_OUT = {
    # It never ends: what it answers is proved where streams are read to a given event.
    "GET /v1/events/stream",
    # The first key ends the keyless mode, and a key that is taken back would be the caller's own.
    "POST /v1/keys",
    "DELETE /v1/keys/{key_id}",
}
SCOPES = ("", "operate", "write", "read", "audit")


@contextmanager
def _described(app_settings: Settings, scope: str) -> Iterator[tuple[Any, dict[str, str]]]:
    """The operations of a running service, and the headers of a caller with that scope."""
    with a_client(app_settings) as client:
        assert client.post("/v1/agents", json={"agent_id": "piper"}).is_success
        headers: dict[str, str] = {}
        if scope:
            headers = operator = a_key(client, "operate")
            if scope != "operate":
                agent = "piper" if scope == "write" else None
                headers = a_key(client, scope, agent, **operator)
        yield schemathesis.openapi.from_url(f"{client.base_url}/openapi.json"), headers


def _call(
    operation: APIOperation[Any, Any, Any, Any],
    mode: GenerationMode,
    headers: dict[str, str],
    n: int,
) -> int:
    """How many generated requests were made; the first answer outside the document raises."""
    called = 0

    @hypothesis_settings(
        max_examples=n,
        database=None,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def run(case: Case[Any]) -> None:
        nonlocal called
        called += 1
        case.call_and_validate(headers=headers, checks=CHECKS, timeout=20)

    # What takes no parameter cannot be called wrongly.
    with suppress(Unsatisfiable):
        run()
    return called


def _check_everything(app_settings: Settings, scope: str, n: int) -> None:
    called = {}
    with _described(app_settings, scope) as (schema, headers):
        for found in schema.get_all_operations():
            operation = found.ok()
            if operation.label not in LEFT_OUT:
                called[operation.label] = sum(
                    _call(operation, mode, headers, n) for mode in GenerationMode
                )
    assert len(called) > 40
    assert all(called.values()), called


def _examples(database_url: str) -> int:
    return 4 if database_url.startswith("sqlite") else 1


@pytest.mark.parametrize("scope", SCOPES, ids=[scope or "no keys" for scope in SCOPES])
def test_no_answer_is_outside_the_document(
    settings: Settings, database_url: str, scope: str
) -> None:
    _check_everything(settings, scope, _examples(database_url))


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("scope", SCOPES, ids=[scope or "no keys" for scope in SCOPES])
def test_no_answer_is_outside_the_document_however_often_one_asks(
    settings: Settings, database_url: str, scope: str
) -> None:
    _check_everything(settings, scope, 40 * _examples(database_url))
