from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from service.instants import parse_duration


def _aware(instant: datetime) -> datetime:
    if instant.tzinfo is None:
        raise ValueError("needs an offset, for example 2020-01-01T00:00:00Z")
    return instant


def _duration(text: str) -> str:
    parse_duration(text)
    return text


class Settings(BaseSettings):
    """Everything that can be set, read from the environment with the prefix `DOXA_`."""

    model_config = SettingsConfigDict(env_prefix="DOXA_", frozen=True, extra="ignore")

    data_dir: Path = Field(Path("doxa-data"), description="folder of the SQLite file")
    database_url: str | None = Field(None, description="default: a SQLite file in the data folder")
    host: str = Field("127.0.0.1", description="address to listen on")
    port: int = Field(8000, ge=0, le=65535, description="port to listen on; 0 takes a free one")
    root_path: str = Field("", description="path prefix under which a proxy serves Doxa")

    key_dir: Path | None = Field(
        None,
        description="folder of the sealing and signing keys; default: keys beside the SQLite file, "
        "else in the data folder",
    )
    checkpoint_dir: Path | None = Field(
        None,
        description="folder of the signed checkpoints, best where the agent cannot write; default: "
        "checkpoints beside the SQLite file, else in the data folder",
    )

    max_body_bytes: int = Field(
        16 * 2**20, ge=1024, description="request body, as sent and unpacked"
    )
    max_batch: int = Field(10_000, ge=1, description="items in one array or NDJSON body")
    max_nesting: int = Field(64, ge=4, le=200, description="depth of arrays and objects in JSON")
    max_string_chars: int = Field(2**20, ge=256, description="characters in one string")
    max_id_chars: int = Field(256, ge=16, le=256, description="characters in an id or a name")
    max_pending_items: int = Field(
        200_000, ge=1, description="items waiting for a commit before new ones get 503"
    )
    reading_process: bool = Field(
        True, description="read large batches of events in a process of their own"
    )
    retention_floor: Annotated[datetime, AfterValidator(_aware)] = Field(
        datetime.fromisoformat("1970-01-01T00:00:00Z"),
        description="events and turns older than this instant are refused",
    )
    retain_payloads: Annotated[str, AfterValidator(_duration)] | None = Field(
        None,
        description="age from which payloads are removed every night, like 180d; default: never",
    )
    shutdown_seconds: float = Field(
        5.0, gt=0, description="how long SIGTERM waits for open requests"
    )

    audit_hour: int = Field(3, ge=0, le=23, description="hour of the nightly audit, agent's zone")
    audit_sample: int = Field(
        50, ge=1, description="turns an audit draws a day, unless the agent says"
    )
    auditor_poll_seconds: float = Field(5.0, gt=0, description="how often requests are looked for")

    @property
    def _folder(self) -> Path:
        scheme, _, path = self.resolved_database_url.partition(":///")
        return Path(path).parent if scheme.startswith("sqlite") and path else self.data_dir

    @property
    def resolved_key_dir(self) -> Path:
        """Where the keys are."""
        return self.key_dir or self._folder / "keys"

    @property
    def resolved_checkpoint_dir(self) -> Path:
        """Where the checkpoints go."""
        return self.checkpoint_dir or self._folder / "checkpoints"

    @cached_property
    def resolved_database_url(self) -> str:
        """SQLAlchemy URL of the database; PostgreSQL URLs are given the psycopg driver."""
        if not self.database_url:
            return f"sqlite:///{self.data_dir / 'doxa.db'}"
        url = self.database_url
        for prefix in ("postgresql://", "postgres://"):
            if url.startswith(prefix):
                return "postgresql+psycopg://" + url.removeprefix(prefix)
        return url
