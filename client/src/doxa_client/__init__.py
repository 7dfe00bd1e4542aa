"""Send what your agent did to Doxa: events and turns, in batches, each of them once."""

from __future__ import annotations

from doxa_client.client import Doxa
from doxa_client.errors import DoxaError
from doxa_client.results import FlushResult, Rejection

__all__ = ["Doxa", "DoxaError", "FlushResult", "Rejection"]
