from collections.abc import Iterator

import httpx
import pytest

from cli.server import serving_in_background
from service.app import create_app
from service.settings import Settings


@pytest.fixture
def base_url(settings: Settings) -> Iterator[str]:
    """A real server on loopback, over a fresh database of each kind."""
    with serving_in_background(create_app(settings), settings) as url:
        yield url


@pytest.fixture
def client(base_url: str) -> Iterator[httpx.Client]:
    """A client of that server."""
    with httpx.Client(base_url=base_url, trust_env=False, timeout=30) as opened:
        yield opened
