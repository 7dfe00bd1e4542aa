"""What the running service holds, handed to endpoints by dependency and nothing else."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends
from starlette.requests import Request

from service.db.database import Database
from service.settings import Settings

Clock = Callable[[], int]  # microseconds since 1970 UTC


@dataclass(slots=True)
class Stopping:
    """Set when the service is told to stop, so that streams end by themselves."""

    requested: bool = False


@dataclass(slots=True)
class State:
    """Built once by `create_app`."""

    settings: Settings
    database: Database
    clock: Clock
    stopping: Stopping = field(default_factory=Stopping)


def state_of(request: Request) -> State:
    """The state of the app that serves this request."""
    state: State = request.app.state.doxa
    return state


# async, so that FastAPI does not send them to a thread.
async def _database_dependency(request: Request) -> Database:
    return state_of(request).database


async def _settings_dependency(request: Request) -> Settings:
    return state_of(request).settings


async def _clock_dependency(request: Request) -> Clock:
    return state_of(request).clock


DatabaseDep = Annotated[Database, Depends(_database_dependency)]
SettingsDep = Annotated[Settings, Depends(_settings_dependency)]
ClockDep = Annotated[Clock, Depends(_clock_dependency)]
