"""`Idempotency-Key`: a write without an id of the client's own is answered once, and then again.

A call claims its key in the transaction that does the work, after it has locked the logs it needs,
and settles it with the answer before the commit: both stand, or neither.
"""

import hashlib
from dataclasses import dataclass

import msgspec
from sqlalchemy import delete, select, tuple_, update
from sqlalchemy.orm import Session
from starlette.requests import Request
from starlette.responses import Response

from service import json_text
from service.api.problems import MEDIA_TYPE
from service.db.upserts import insert_or
from service.errors import Conflict, Fault, Malformed
from service.instants import DAY
from service.models import IdempotencyKey

HEADER = "Idempotency-Key"
MAX_CHARS = 256
REMEMBERED_FOR = 30 * DAY
# Of the old keys so many go with each call, so that none pays for all.
MAX_PURGED = 500
_POINTER = "/header/idempotency-key"
# For the OpenAPI document of a call that reads its body itself.
PARAMETER = {
    "name": HEADER,
    "in": "header",
    "schema": {"type": "string", "minLength": 1, "maxLength": MAX_CHARS},
    "description": "the same key with the same request has the same answer, for 30 days",
}


@dataclass(frozen=True, slots=True)
class RequestKey:
    """A key of the client's, and what tells a repetition of its request from another one."""

    agent_id: str
    key: str
    request_hash: bytes
    now: int


def key_of(request: Request) -> str | None:
    """The key that a request carries, if any; Malformed where it can be none."""
    key = request.headers.get(HEADER)
    if key is None:
        return None
    if not 0 < len(key) <= MAX_CHARS or not key.isprintable():
        reason = f"must have 1 to {MAX_CHARS} printable characters"
        raise Malformed(f"{HEADER} {reason}.", errors=(Fault(_POINTER, reason),))
    return key


def request_hash(request: Request, body: bytes) -> bytes:
    """What makes two requests the same: method, path, query and body, a JSON body by its values."""
    try:
        text = json_text.encode(msgspec.json.decode(body)).encode()
    except (msgspec.MsgspecError, UnicodeError, RecursionError, ValueError):
        text = body
    asked = [request.method, request.url.path, request.url.query]
    return hashlib.sha256(json_text.encode(asked).encode() + b"\n" + text).digest()


def claim(session: Session, wanted: RequestKey) -> Response | None:
    """None for whoever comes first; later the answer of then; Conflict for another request.

    Who comes second while the first is at work waits for its commit.
    """
    _purge(session, wanted)
    key = {"agent_id": wanted.agent_id, "idempotency_key": wanted.key}
    fresh = {"request_hash": wanted.request_hash, "status": 0, "body": "", "created_at": wanted.now}
    made = session.connection().execute(
        insert_or(session, IdempotencyKey)
        .values(**key, **fresh)
        .on_conflict_do_nothing()
        .returning(IdempotencyKey.agent_id)
    )
    if made.first() is not None:
        return None
    found = session.execute(
        select(IdempotencyKey.request_hash, IdempotencyKey.status, IdempotencyKey.body).filter_by(
            **key
        )
    ).one()
    if found.request_hash != wanted.request_hash:
        reason = "was used for another request: choose a new key"
        raise Conflict(f"{HEADER} {wanted.key!r} {reason}.", errors=(Fault(_POINTER, reason),))
    media_type = MEDIA_TYPE if found.status >= 400 else "application/json"
    return Response(found.body, found.status, media_type=media_type)


def settle(session: Session, wanted: RequestKey, answer: Response) -> None:
    """Keeps the answer of a claimed key, in the same transaction."""
    session.execute(
        update(IdempotencyKey)
        .where(
            IdempotencyKey.agent_id == wanted.agent_id,
            IdempotencyKey.idempotency_key == wanted.key,
        )
        .values(status=answer.status_code, body=bytes(answer.body).decode())
        .execution_options(synchronize_session=False)
    )


def _purge(session: Session, wanted: RequestKey) -> None:
    """Forgets this key if it is too old to be remembered, and some of the other old ones."""
    place = (IdempotencyKey.agent_id, IdempotencyKey.idempotency_key)
    is_old = IdempotencyKey.created_at <= wanted.now - REMEMBERED_FOR
    old = session.execute(
        # What another process is purging is left to it.
        select(*place).where(is_old).limit(MAX_PURGED).with_for_update(skip_locked=True)
    ).all()
    keys = {(wanted.agent_id, wanted.key), *((row[0], row[1]) for row in old)}
    session.execute(
        delete(IdempotencyKey)
        .where(tuple_(*place).in_(sorted(keys)), is_old)
        .execution_options(synchronize_session=False)
    )
