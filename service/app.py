"""The composition root: builds the service from its settings and wires the areas together."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version

from fastapi import Depends, FastAPI

from service.agents import endpoints as agents_endpoints
from service.agents.authentication import Keyring
from service.api import problems
from service.api.ingest_path import Doxa
from service.api.parameters import refuse_unknown_parameters
from service.api.state import State
from service.audits.endpoints import router as audits_router
from service.beliefs import projection as beliefs_projection
from service.beliefs.endpoints import router as beliefs_router
from service.changes.publishing import ChangePublisher
from service.contradictions import projection as contradictions_projection
from service.contradictions.endpoints import router as contradictions_router
from service.db import schema
from service.db.opening import open_database
from service.errors import ConfigurationError, LedgerError
from service.events import endpoints as events_endpoints
from service.events.fitting import check_key
from service.events.log import Grown
from service.events.operations import Projector
from service.events.parsing import BatchReader
from service.events.reading import ApartReader
from service.events.schemas import Event, EventIn
from service.events.writer import Writer
from service.hand_checks.endpoints import router as hand_checks_router
from service.health.endpoints import router as health_router
from service.inferences import projection as inferences_projection
from service.inferences.contexts import record_turn_contexts
from service.inferences.endpoints import router as inferences_router
from service.predictions import projection as predictions_projection
from service.predictions.endpoints import router as predictions_router
from service.ratios.endpoints import router as ratios_router
from service.redactions.endpoints import router as redactions_router
from service.reports.endpoints import router as reports_router
from service.settings import Settings
from service.trust.checkpoints import Checkpointer
from service.trust.keys import seal_key
from service.turns import endpoints as turns_endpoints
from service.turns.schemas import TurnIn, TurnRow
from service.verification.endpoints import router as verification_router
from service.verification.operations import make_checkpointer


def system_clock() -> int:
    """Microseconds since 1970 UTC by the machine's clock."""
    return time.time_ns() // 1_000


def projectors() -> dict[str, tuple[Projector, ...]]:
    """Which areas fold which event type, in the order in which they run."""
    areas = (
        beliefs_projection,
        contradictions_projection,
        predictions_projection,
        inferences_projection,
    )
    # No event is called so: this entry only says in which order all of them run.
    table: dict[str, tuple[Projector, ...]] = {"": tuple(area.project for area in areas)}
    for area in areas:
        for event_type in sorted(area.EVENT_TYPES):
            table[event_type] = (*table.get(event_type, ()), area.project)
    return table


ROUTERS = (
    health_router,
    agents_endpoints.router,
    events_endpoints.router,
    turns_endpoints.router,
    redactions_router,
    beliefs_router,
    contradictions_router,
    predictions_router,
    verification_router,  # before the shadow inference that could be called `verify`
    inferences_router,
    audits_router,
    hand_checks_router,
    ratios_router,
    reports_router,
)


class AfterCommit:
    """What follows each commit: what triggers caught is told, and grown logs are signed."""

    def __init__(self, publish: ChangePublisher, checkpointer: Checkpointer) -> None:
        self._publish, self._checkpointer = publish, checkpointer

    def __call__(self, grown: Sequence[Grown]) -> None:
        """Hears which logs have grown."""
        for one in (*grown, *self._publish()):
            fault = "its head was not as Doxa had left it" if one.is_remade else None
            self._checkpointer.offer(one.agent_id, one.log, one.size, began=one.began, fault=fault)


@dataclass(frozen=True, slots=True)
class Machinery:
    """What runs beside the requests."""

    state: State
    writer: Writer
    apart_reader: ApartReader | None
    checkpointer: Checkpointer

    def start(self) -> None:
        """Starts the threads."""
        self.checkpointer.start()
        self.writer.start()

    def stop(self) -> None:
        """Commits what was accepted, signs it, and gives everything back."""
        self.state.stopping.requested = True
        if self.apart_reader is not None:
            self.apart_reader.close()
        self.writer.close()
        self.checkpointer.close()
        self.state.database.close()


def _build(settings: Settings, clock: Callable[[], int]) -> Machinery:
    database = open_database(settings)
    try:
        schema.check(database.writing)
        check_key(database)
        checkpointer = make_checkpointer(settings, database)
    except (ConfigurationError, LedgerError):
        database.close()
        raise
    publisher = ChangePublisher(database, projectors(), clock)
    writer = Writer(
        database,
        projectors(),
        max_pending_items=settings.max_pending_items,
        clock=clock,
        after_commit=AfterCommit(publisher, checkpointer),
    )
    apart_reader = None
    if settings.reading_process:
        key = seal_key(settings.resolved_key_dir)
        apart_reader = ApartReader(settings, key, writer.projectors)
    return Machinery(State(settings, database, clock), writer, apart_reader, checkpointer)


def create_app(settings: Settings, *, clock: Callable[[], int] = system_clock) -> FastAPI:
    """The service over a database that is migrated; raises ConfigurationError when it is not."""
    machinery = _build(settings, clock)
    app = Doxa(
        title="Doxa",
        version=version("doxa"),
        summary="The instrument panel for an agent's beliefs.",
        lifespan=_lifespan(machinery),
        docs_url=None,
        redoc_url=None,
    )
    app.prefix = settings.root_path.rstrip("/")
    app.ingest = {
        "/v1/events": events_endpoints.post_events,
        "/v1/turns": turns_endpoints.post_turns,
    }
    app.state.doxa = machinery.state
    app.state.writer = machinery.writer
    app.state.checkpointer = machinery.checkpointer
    app.state.apart_reader = machinery.apart_reader
    app.state.keyring = Keyring(machinery.state.database)
    app.state.event_reader = BatchReader[EventIn, Event](EventIn, settings)
    app.state.turn_reader = BatchReader[TurnIn, TurnRow](TurnIn, settings)
    app.state.turn_followers = (record_turn_contexts,)
    problems.install(app)
    for router in ROUTERS:
        app.include_router(router, dependencies=[Depends(refuse_unknown_parameters)])
    return app


def _lifespan(machinery: Machinery) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        machinery.start()
        yield
        await asyncio.to_thread(machinery.stop)

    return lifespan
