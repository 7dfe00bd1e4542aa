"""Ids in queries and paths, and the place where a page of rows ends."""

from typing import Annotated

import msgspec
from fastapi import Path, Query

IdQuery = Annotated[str | None, Query(max_length=1024)]
# `:path` in the routes, as an id may hold a slash.
IdPath = Annotated[str, Path(max_length=1024)]
Instant = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
# An instant, the agent, and the row's own id.
Place = tuple[Instant, str, str]
