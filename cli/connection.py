"""How a command reaches the service: the one that runs, or one of its own over the same data."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import typer

from cli.options import EXIT_UNREACHABLE, EXIT_USAGE, fail, settings_from

TIMEOUT = httpx.Timeout(60.0, connect=5.0)


@contextmanager
def connect() -> Iterator[httpx.Client]:
    """A client of the service named by DOXA_URL, else of the one on this machine's port.

    Where none runs and none was named, the service is started inside this command, over the same
    database, for as long as the command lasts: every command works with and without `doxa serve`.
    """
    url = os.environ.get("DOXA_URL")
    if url:
        with _client(url) as client:
            yield client
        return
    settings = settings_from()
    local = f"http://127.0.0.1:{settings.port or 8000}"
    if _answers(local):
        with _client(local) as client:
            yield client
        return
    from cli.composition import compose
    from cli.server import prepare_database, serving_in_background, tune_interpreter
    from service.errors import ConfigurationError, LedgerError

    try:
        prepare_database(settings)
        app = compose(settings)
    except (ConfigurationError, LedgerError) as problem:
        fail(str(problem), EXIT_UNREACHABLE)
    if sys.stderr.isatty():
        typer.echo(f"No service at {local}: working on {settings.data_dir} directly.", err=True)
    tune_interpreter()
    with serving_in_background(app, settings) as base_url, _client(base_url) as client:
        yield client


def _client(url: str) -> httpx.Client:
    key = os.environ.get("DOXA_API_KEY", "").strip()
    if not (key.isascii() and (key.isprintable())):
        fail("DOXA_API_KEY holds a character that stands in no key: set it anew.", EXIT_USAGE)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return httpx.Client(base_url=url, headers=headers, timeout=TIMEOUT, trust_env=False)


def _answers(url: str) -> bool:
    try:
        with httpx.Client(trust_env=False, timeout=2.0) as client:
            return bool(client.get(f"{url}/healthz").json() == {"status": "ok"})
    except (httpx.HTTPError, ValueError):
        return False
