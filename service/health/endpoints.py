"""Is it alive, is it ready, what is it doing."""

import os
import tempfile
from pathlib import Path
from typing import Any

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from service.agents.authentication import PrincipalDep
from service.api.problems import RESPONSES
from service.api.responses import as_json
from service.api.state import state_of
from service.db import schema
from service.db.erasing import stored_bytes
from service.errors import ConfigurationError, LedgerError
from service.events.endpoints import writer_of
from service.events.writer import Writer
from service.health.disk import DiskCollector, disk_of
from service.principals import Scope
from service.trust.checkpoints import Checkpointer

router = APIRouter(tags=["health"])


@router.get("/healthz", response_model=None)
async def healthz() -> Response:
    """The process answers."""
    return as_json({"status": "ok"})


@router.get(
    "/readyz", response_model=None, responses={503: {"description": "Not ready; `checks` says why"}}
)
def readyz(request: Request) -> Response:
    """Whether events can be taken: the writer lives, the schema fits, the disk can be written."""
    state = state_of(request)
    checks: dict[str, str] = {"writer": "ok" if writer_of(request).is_alive else "not running"}
    try:
        schema.check(state.database.writing)
        checks["schema"] = "ok"
    except (ConfigurationError, LedgerError) as problem:
        checks["schema"] = str(problem)
    checks["disk"] = _disk(state.settings.data_dir)
    alarms = len(checkpointer_of(request).alarms())
    is_ready = set(checks.values()) == {"ok"} and not state.stopping.requested
    body: dict[str, Any] = {"status": "ready" if is_ready else "not ready", "checks": checks}
    # Events are taken all the same; GET /v1/shadow-inferences/verify says which logs and why.
    body["alarms"] = alarms
    body |= disk_of(state.settings.data_dir)
    return as_json(body, 200 if is_ready else 503, None if is_ready else {"Retry-After": "1"})


def _disk(folder: Path) -> str:
    if not folder.exists():
        return "ok"  # the database stands elsewhere; nothing is written here
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"doxa")
            probe.flush()
            os.fsync(probe.fileno())
    except OSError as problem:
        return f"{folder} cannot be written: {problem.strerror}"
    return "ok"


def checkpointer_of(request: Request) -> Checkpointer:
    """What signs the logs of the service."""
    found: Checkpointer = request.app.state.checkpointer
    return found


class _CheckpointCollector(Collector):
    def __init__(self, checkpointer: Checkpointer) -> None:
        self._checkpointer = checkpointer

    def collect(self) -> list[Metric]:
        """What the checkpointer has done, and what it refuses to sign."""
        found = self._checkpointer
        return [
            CounterMetricFamily("doxa_checkpoints", "Checkpoints signed.", found.notes),
            CounterMetricFamily(
                "doxa_checkpoint_failures", "Checkpoints not written.", found.failures
            ),
            CounterMetricFamily(
                "doxa_checkpoint_cpu_seconds", "CPU spent on checkpoints.", found.cpu_seconds
            ),
            GaugeMetricFamily(
                "doxa_alarms", "Logs that are not signed any more.", len(found.alarms())
            ),
        ]


class _WriterCollector(Collector):
    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def collect(self) -> list[Metric]:
        """The writer's counts at this moment."""
        counts = self._writer.counts
        return [
            CounterMetricFamily("doxa_commits", "Transactions of the writer.", counts.commits),
            CounterMetricFamily("doxa_items", "Events and turns taken in.", counts.items),
            CounterMetricFamily("doxa_commit_failures", "Commits that failed.", counts.failures),
            GaugeMetricFamily(
                "doxa_pending_items", "Items waiting for a commit.", self._writer.pending_items
            ),
            GaugeMetricFamily("doxa_writer_up", "1 while it runs.", int(self._writer.is_alive)),
        ]


@router.get(
    "/metrics",
    response_class=PlainTextResponse,
    responses={status: RESPONSES[status] for status in (401, 403, 422, 503)},
)
def metrics(request: Request, principal: PrincipalDep) -> Response:
    """Counts for Prometheus."""
    principal.require(Scope.READ, Scope.AUDIT, Scope.OPERATE)
    registry = CollectorRegistry()
    registry.register(_WriterCollector(writer_of(request)))
    registry.register(_CheckpointCollector(checkpointer_of(request)))
    state = state_of(request)
    registry.register(
        DiskCollector(state.settings.data_dir, lambda: stored_bytes(state.database.reading))
    )
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)
