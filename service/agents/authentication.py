"""Who is asking: keys are looked up by their hash, in a copy that is never older than a second."""

import asyncio
import hmac
import ipaddress
import threading
import time
from functools import lru_cache
from typing import Annotated

from fastapi import Depends
from starlette.requests import HTTPConnection

from service.agents.operations import hash_key
from service.agents.queries import StoredKey, active_keys, all_keys
from service.db.database import Database
from service.errors import Forbidden, Unauthenticated
from service.principals import LOCAL, Principal, Scope

# A key that was revoked by another process stops working after this long at the latest.
STALE_AFTER_SECONDS = 1.0


class Keyring:
    """The active keys, read again when the copy is stale or was changed here."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._keys: dict[bytes, StoredKey] = {}
        self._had_keys = True
        self._read_at = float("-inf")
        self._generation = 0
        self._lock = threading.Lock()

    def forget(self) -> None:
        """Reads the keys anew at the next request."""
        # A refresh that is under way may have read what was there before.
        self._generation += 1
        self._read_at = float("-inf")

    async def principal(self, connection: HTTPConnection) -> Principal:
        """The principal of a request; Unauthenticated or Forbidden when there is none."""
        while time.monotonic() - self._read_at > STALE_AFTER_SECONDS:
            await asyncio.to_thread(self._refresh)
        if not self._had_keys:
            _require_this_machine(connection)
            return LOCAL
        scheme, _, key = connection.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not key:
            raise Unauthenticated(
                "Send the key as `Authorization: Bearer <key>` (commands read DOXA_API_KEY)."
            )
        digest = hash_key(key.strip())
        found = self._keys.get(digest)
        if found is None or not hmac.compare_digest(found.key_hash, digest):
            raise Unauthenticated("This key is not known, or was revoked.")
        return Principal(frozenset({Scope(found.scope)}), found.agent_id, found.key_id)

    def _refresh(self) -> None:
        with self._lock:
            if time.monotonic() - self._read_at <= STALE_AFTER_SECONDS:
                return
            generation, began = self._generation, time.monotonic()
            with self._database.read() as session:
                self._keys = {bytes(key.key_hash): key for key in active_keys(session)}
                # Once there was a key, revoking it never opens the door again.
                self._had_keys = bool(self._keys) or bool(all_keys(session))
            if generation == self._generation:
                self._read_at = began


def is_loopback(host: str) -> bool:
    """Whether a host name or address means this machine alone."""
    if host.lower() in ("localhost", "localhost."):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _require_this_machine(connection: HTTPConnection) -> None:
    """Refuses a foreign peer or Host header while there are no keys.

    A web page that rebinds its own name to 127.0.0.1 would otherwise read the record through the
    browser of somebody on this machine.
    """
    if connection.client is not None and not is_loopback(connection.client.host):
        raise Forbidden("Without keys Doxa answers this machine only: `doxa keys create`.")
    host = connection.headers.get("host", "localhost")
    if not _names_this_machine(host):
        raise Forbidden(
            f"Without keys Doxa answers to loopback names only, not to {host!r}. Make a key with "
            "`doxa keys create`."
        )


@lru_cache(maxsize=64)
def _names_this_machine(host: str) -> bool:
    name = host[: host.rfind("]") + 1] if host.startswith("[") else host.partition(":")[0]
    return is_loopback(name)


async def principal_of(connection: HTTPConnection) -> Principal:
    """Who is asking, for this request."""
    keyring: Keyring = connection.app.state.keyring
    return await keyring.principal(connection)


PrincipalDep = Annotated[Principal, Depends(principal_of)]
