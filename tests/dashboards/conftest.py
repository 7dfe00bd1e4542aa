from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import httpx
import pytest
from fastapi import FastAPI

from cli.server import serving_in_background
from dashboards import pages
from service.app import create_app
from service.settings import Settings
from tests.service.factories import NOW

Serve = Callable[[Settings], AbstractContextManager[httpx.Client]]


def compose(settings: Settings) -> FastAPI:
    """The service with its pages, whose clock stands still."""
    app = create_app(settings, clock=lambda: NOW)
    app.include_router(pages.router)
    return app


@pytest.fixture
def serve() -> Serve:
    """Serves API and pages on loopback, as a browser would find them."""

    @contextmanager
    def serving(settings: Settings) -> Iterator[httpx.Client]:
        with (
            serving_in_background(compose(settings), settings) as url,
            httpx.Client(
                base_url=url + settings.root_path,
                trust_env=False,
                timeout=30,
                headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"},
            ) as client,
        ):
            yield client

    return serving


@pytest.fixture
def client(serve: Serve, settings: Settings) -> Iterator[httpx.Client]:
    """A client of a server with pages, over a fresh database of each kind."""
    with serve(settings) as opened:
        yield opened
