"""Puts the service and its pages together: the one place that knows them all."""

from fastapi import FastAPI

from service.app import create_app
from service.settings import Settings


def compose(settings: Settings) -> FastAPI:
    """The API and the pages over a migrated database."""
    return create_app(settings)
