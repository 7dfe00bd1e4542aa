"""Wire shapes of benchmark runs."""

from datetime import datetime
from typing import Any

import msgspec
from pydantic import BaseModel


class BenchRunIn(msgspec.Struct, forbid_unknown_fields=True):
    """A run as it is sent; msgspec, because its JSON is strict: no NaN and no half characters.

    JustLoss is in nats, 0 being perfect, and so is that of the bare model on the same tasks.
    """

    ran_at: datetime
    commit_sha: str
    just_loss: float
    just_loss_bare: float
    agent_id: str | None = None
    bench_run_id: str | None = None
    detail: dict[str, Any] | None = None


class BenchRunOut(BaseModel):
    """A run as it is recorded."""

    agent_id: str
    bench_run_id: str
    ran_at: str
    commit_sha: str
    just_loss: float
    just_loss_bare: float
    beats_bare: bool
    detail: dict[str, Any] | None
    seq: int


class BenchRunsOut(BaseModel):
    """A page of runs, newest first."""

    items: list[BenchRunOut]
    next: str | None
