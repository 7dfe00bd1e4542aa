"""The composition root: builds the service from its settings and wires the areas together."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
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
from service.errors import ConfigurationError
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
from service.reports.endpoints import router as reports_router
from service.settings import Settings
from service.trust.keys import seal_key
from service.turns import endpoints as turns_endpoints
from service.turns.schemas import TurnIn, TurnRow


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
    beliefs_router,
    contradictions_router,
    predictions_router,
    inferences_router,
    audits_router,
    hand_checks_router,
    ratios_router,
    reports_router,
)


class AfterCommit:
    """What follows each commit: what triggers caught is told."""

    def __init__(self, publish: ChangePublisher) -> None:
        self._publish = publish

    def __call__(self, _grown: Sequence[Grown]) -> None:
        """Hears which logs have grown."""
        self._publish()


def create_app(settings: Settings, *, clock: Callable[[], int] = system_clock) -> FastAPI:
    """The service over a database that is migrated; raises ConfigurationError when it is not."""
    database = open_database(settings)
    try:
        schema.check(database.writing)
        check_key(database)
    except ConfigurationError:
        database.close()
        raise
    state = State(settings, database, clock)
    after_commit = AfterCommit(ChangePublisher(database, projectors(), clock))
    writer = Writer(
        database,
        projectors(),
        max_pending_items=settings.max_pending_items,
        clock=clock,
        after_commit=after_commit,
    )
    apart_reader = (
        ApartReader(settings, seal_key(settings.resolved_key_dir), writer.projectors)
        if settings.reading_process
        else None
    )
    app = Doxa(
        title="Doxa",
        version=version("doxa"),
        summary="The instrument panel for an agent's beliefs.",
        lifespan=_lifespan(state, writer, apart_reader),
        docs_url=None,
        redoc_url=None,
    )
    app.prefix = settings.root_path.rstrip("/")
    app.ingest = {
        "/v1/events": events_endpoints.post_events,
        "/v1/turns": turns_endpoints.post_turns,
    }
    app.state.doxa = state
    app.state.writer = writer
    app.state.keyring = Keyring(database)
    app.state.apart_reader = apart_reader
    app.state.event_reader = BatchReader[EventIn, Event](EventIn, settings)
    app.state.turn_reader = BatchReader[TurnIn, TurnRow](TurnIn, settings)
    app.state.turn_followers = (record_turn_contexts,)
    problems.install(app)
    for router in ROUTERS:
        app.include_router(router, dependencies=[Depends(refuse_unknown_parameters)])
    return app


def _lifespan(
    state: State, writer: Writer, apart_reader: ApartReader | None
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        writer.start()
        yield
        state.stopping.requested = True
        if apart_reader is not None:
            await asyncio.to_thread(apart_reader.close)
        writer.close()
        state.database.close()

    return lifespan
