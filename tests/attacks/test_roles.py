"""The service and its auditor at work in PostgreSQL's roles, which allow what these need."""

import subprocess
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import date

import pytest
from sqlalchemy import make_url, select

from auditor.method import builtin_method
from auditor.run import Auditor, RunOptions
from service.db import schema
from service.db.database import Database
from service.db.opening import open_database
from service.errors import ConfigurationError
from service.instants import DAY
from service.models import AuditedTurn, CogEvent, Turn
from service.settings import Settings
from tests.attacks.attacker import attacking
from tests.auditor.recording import AGENT, NOON
from tests.postgres import PostgresCluster
from tests.processes import ROOT, doxa, environment
from tests.service.factories import a_client, a_key

TURN = {
    "agent_id": AGENT, "session_id": "s1", "turn_id": "t1", "ts": "2026-10-05T12:00:00Z",
    "output": "The queue is stuck because the broker lost its lease.",
}  # fmt: skip
BELIEF = {
    "agent_id": AGENT, "event": "belief.created", "event_id": "e1", "belief_id": "b1",
    "turn_id": "t1", "label_to": "infer", "confidence": 0.9, "ts": "2026-10-05T12:00:00Z",
    "detail": {"content": "the broker lost its lease", "category": "system state"},
}  # fmt: skip


@pytest.fixture
def url(postgres: PostgresCluster) -> str:
    """A database with roles, as its superuser sees it."""
    made = postgres.create(f"roles_{uuid.uuid4().hex}", template="doxa_template")
    with closing(Database(made)) as database:
        schema.make_roles(database.writing)
        schema.make_roles(database.writing)  # to do it again changes nothing
    return made


def in_role(url: str, role: str) -> Settings:
    found = make_url(url).set(username=role).render_as_string(hide_password=False)
    return Settings(database_url=found)


@contextmanager
def opened(url: str, role: str) -> Iterator[Database]:
    with closing(open_database(in_role(url, role))) as database:
        yield database


def test_the_service_works_as_the_writer(url: str) -> None:
    with a_client(in_role(url, "doxa_writer"), now=NOON) as client:
        operate = a_key(client, "operate")
        write = a_key(client, "write", AGENT, **operate)
        for path, body in (("/v1/turns", TURN), ("/v1/events", BELIEF)):
            assert client.post(path, json=body, headers=write).json()["accepted"] == 1
            assert client.post(path, json=body, headers=write).json()["duplicates"] == 1
        relabelled = BELIEF | {"event": "belief.relabelled", "event_id": "e2", "label_to": "guess"}
        assert client.post("/v1/events", json=relabelled, headers=write).status_code == 200
        shown = client.get("/v1/beliefs/b1", headers=write)
        assert (shown.status_code, shown.json()["belief"]["label"]) == (200, "guess")
        assert (
            client.get(f"/v1/shadow-inferences?agent={AGENT}", headers=operate).status_code == 200
        )
        owned = {
            "agent_id": AGENT, "belief_id": "b2", "label": "infer", "confidence": 0.9,
            "content": "the clock jumped", "category": "system state", "justifications": [["b1"]],
        }  # fmt: skip
        for _ in range(2):
            answer = client.post(
                "/v1/beliefs", json=owned | {"label": "guess", "confidence": 0.2},
                headers=write | {"Idempotency-Key": "once"},
            )  # fmt: skip
            assert answer.status_code == 200, answer.text
        assert client.post("/v1/beliefs", json=owned, headers=write).status_code == 409
        successor = owned | {"belief_id": "b3", "justifications": []}
        answer = client.post("/v1/beliefs/b1/supersede", json=successor, headers=write)
        assert answer.status_code == 200, answer.text
        assert client.get("/readyz").status_code == 200
        for path in ("/v1/ratios?window=7d", "/v1/calibration?window=7d"):
            assert client.get(path, headers=operate).status_code == 200, path


def test_the_auditor_works_as_the_auditor_and_records_no_turns(url: str) -> None:
    with a_client(in_role(url, "doxa_writer"), now=NOON) as client:
        assert client.post("/v1/turns", json=TURN).status_code == 200
    with opened(url, "doxa_auditor") as database:
        schema.check(database.writing)
        auditor = Auditor(database, builtin_method(), lambda: NOON + DAY, 50)
        outcome = auditor.audit_day(AGENT, date(2026, 10, 5), RunOptions(50))
        assert outcome.audit.turns["done"] == 1
        with database.read() as session:
            assert len(list(session.scalars(select(AuditedTurn)))) == 1
            assert "opportunity.detected" in set(session.scalars(select(CogEvent.event)))
    with attacking(url, "doxa_auditor") as attacker:
        for name in (Turn.__tablename__, "redactions", "belief_versions", "api_keys"):
            refusal = attacker.attempt(f"INSERT INTO {name} DEFAULT VALUES")
            assert "permission denied" in (refusal or ""), name


def test_an_attempt_as_superuser_is_published_by_the_writer(url: str) -> None:
    with a_client(in_role(url, "doxa_writer"), now=NOON) as client:
        assert client.post("/v1/events", json=BELIEF).status_code == 200
    with attacking(url) as attacker:
        attacker.run("UPDATE cog_events SET label_to = 'know'")
    with a_client(in_role(url, "doxa_writer"), now=NOON) as client:
        again = BELIEF | {"event_id": "e2", "event": "belief.challenged"}
        assert client.post("/v1/events", json=again).status_code == 200
    with opened(url, "doxa_reader") as database, database.read() as session:
        told = session.scalars(select(CogEvent.event).where(CogEvent.log == "audit"))
        assert list(told) == ["belief.overwrite_refused"]


def run(url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        doxa(*arguments), cwd=ROOT, env=environment(database_url=url), capture_output=True,
        text=True, timeout=60, check=False,
    )  # fmt: skip


def test_doxa_migrate_makes_the_roles(postgres: PostgresCluster) -> None:
    fresh = postgres.create(f"roles_{uuid.uuid4().hex}")
    made = run(fresh, "migrate", "--roles")
    assert made.returncode == 0, made.stderr
    writer = in_role(fresh, "doxa_writer").database_url
    assert writer is not None
    refused = run(writer, "migrate", "--roles")
    assert refused.returncode == 2
    assert "superuser" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_migration_needs_a_superuser_and_keeps_the_roles(url: str) -> None:
    from alembic import command

    with closing(Database(url)) as database:
        with attacking(url) as attacker:
            for name in ("doxa_no_ddl", "doxa_no_drop"):
                attacker.run(f"ALTER EVENT TRIGGER {name} DISABLE")
        config = schema.alembic_config()
        with database.writing.begin() as connection:
            config.attributes["connection"] = connection
            command.downgrade(config, "0002")
        refused = pytest.raises(ConfigurationError, match="superuser")
        with opened(url, "doxa_writer") as writer, refused:
            schema.migrate(writer.writing)
        schema.migrate(database.writing)
        schema.check(database.writing)
    with attacking(url) as attacker:
        assert attacker.run(
            "SELECT DISTINCT pg_get_userbyid(relowner) FROM pg_class "
            "WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'"
        ) == [("doxa_owner",)]
