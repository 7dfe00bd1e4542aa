"""The answer of a write under `Idempotency-Key` is given again, for thirty days."""

import threading

import pytest
from sqlalchemy import func, select
from starlette.requests import Request
from starlette.responses import Response

from service.api import idempotency
from service.api.idempotency import RequestKey, claim, key_of, request_hash, settle
from service.db.database import Database
from service.errors import Conflict, Malformed
from service.instants import DAY
from service.models import IdempotencyKey
from tests.service.factories import NOW

A = RequestKey("piper", "k1", b"a", NOW)


def a_request(key: str | None = None, path: str = "/v1/x", query: bytes = b"") -> Request:
    headers = [] if key is None else [(b"idempotency-key", key.encode("latin-1"))]
    return Request(
        {"type": "http", "method": "POST", "path": path, "query_string": query, "headers": headers}
    )


def answered(database: Database, wanted: RequestKey, body: str, status: int = 200) -> Response:
    """The answer of a call that says `body` when it is the first."""
    with database.write() as session:
        if (answer := claim(session, wanted)) is not None:
            return answer
        answer = Response(body, status)
        settle(session, wanted, answer)
        return answer


def kept(database: Database) -> int:
    with database.read() as session:
        return session.scalar(select(func.count()).select_from(IdempotencyKey)) or 0


def test_the_same_request_has_the_same_answer(database: Database) -> None:
    assert answered(database, A, '{"n":1}').body == b'{"n":1}'
    again = answered(database, A, '{"n":2}')
    assert (again.status_code, again.body, again.media_type) == (
        200,
        b'{"n":1}',
        "application/json",
    )


def test_another_request_under_the_same_key_is_a_conflict(database: Database) -> None:
    answered(database, A, "1")
    other = RequestKey("piper", "k1", b"b", NOW)
    with pytest.raises(Conflict, match="another request"):
        answered(database, other, "2")


def test_each_agent_has_keys_of_its_own(database: Database) -> None:
    answered(database, A, "1")
    other = RequestKey("other", "k1", b"b", NOW)
    assert answered(database, other, "2").body == b"2"


def test_a_refusal_is_remembered_as_the_problem_it_was(database: Database) -> None:
    answered(database, A, "{}", 409)
    again = answered(database, A, "{}")
    assert (again.status_code, again.media_type) == (409, "application/problem+json")


def test_what_was_rolled_back_is_not_remembered(database: Database) -> None:
    with database.write() as session:
        assert claim(session, A) is None
        session.rollback()
    assert answered(database, A, "2").body == b"2"


def test_a_key_is_forgotten_after_thirty_days(database: Database) -> None:
    answered(database, A, "1")
    almost = RequestKey("piper", "k1", b"a", NOW + 30 * DAY - 1)
    assert answered(database, almost, "2").body == b"1"
    after = RequestKey("piper", "k1", b"b", NOW + 30 * DAY)
    assert answered(database, after, "3").body == b"3"


def test_old_keys_go_with_later_calls(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idempotency, "MAX_PURGED", 3)
    for n in range(5):
        answered(database, RequestKey("piper", f"old{n}", b"a", NOW), "1")
    answered(database, RequestKey("piper", "young", b"a", NOW + 20 * DAY), "1")
    answered(database, RequestKey("piper", "n1", b"a", NOW + 30 * DAY), "1")
    assert kept(database) == 4
    answered(database, RequestKey("piper", "n2", b"a", NOW + 30 * DAY), "1")
    assert kept(database) == 3


def test_of_many_at_once_one_does_the_work(database: Database) -> None:
    done: list[int] = []
    bodies: set[bytes] = set()
    gate = threading.Barrier(6)

    def call(number: int) -> None:
        gate.wait()
        with database.write() as session:
            answer = claim(session, A)
            if answer is None:
                done.append(number)
                answer = Response(str(number))
                settle(session, A, answer)
        bodies.add(bytes(answer.body))

    threads = [threading.Thread(target=call, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 1
    assert bodies == {str(done[0]).encode()}


def test_a_body_is_the_same_by_its_values() -> None:
    def hashed(body: bytes, path: str = "/v1/x", query: bytes = b"") -> bytes:
        return request_hash(a_request(path=path, query=query), body)

    assert hashed(b'{"a": 1, "b": [2]}') == hashed(b'{"b":[2],"a":1}')
    different = {
        hashed(b'{"a":1}'),
        hashed(b'{"a":2}'),
        hashed(b'{"a":1}', path="/v1/y"),
        hashed(b'{"a":1}', query=b"x=1"),
        hashed(b"\xff"),
        hashed(b""),
    }
    assert len(different) == 6


@pytest.mark.parametrize("key", ["", "a\x07", "x" * 257, "\xa0"])
def test_a_key_that_can_be_none_is_malformed(key: str) -> None:
    with pytest.raises(Malformed):
        key_of(a_request(key))


def test_a_key_is_read_from_its_header() -> None:
    assert key_of(a_request()) is None
    assert key_of(a_request("x" * 256)) == "x" * 256
