"""With PostgreSQL's roles the service's own may remove payloads, and nothing more than those."""

import uuid
from contextlib import closing

from sqlalchemy import make_url

from service.app import projectors
from service.db import schema
from service.db.database import Database
from service.db.erasing import shrink
from service.db.opening import open_database
from service.instants import DAY
from service.models import Turn
from service.redactions.retention import Aged, remove_aged
from service.settings import Settings
from service.verification.rebuild import repair_projections
from tests.postgres import PostgresCluster
from tests.service.factories import AGENT, NOW, a_client, row_of


def test_the_writers_role_is_enough_to_redact_retain_and_repair(postgres: PostgresCluster) -> None:
    made = postgres.create(f"redacting_{uuid.uuid4().hex}", template="doxa_template")
    with closing(Database(made)) as database:
        schema.make_roles(database.writing)
    url = make_url(made).set(username="doxa_writer").render_as_string(hide_password=False)
    settings = Settings(database_url=url)
    with a_client(settings) as client:
        for turn_id in ("t1", "t2"):
            turn = {"agent_id": AGENT, "session_id": "s1", "turn_id": turn_id, "output": "secret"}
            client.post("/v1/turns", json=turn).raise_for_status()
        body = {"agent_id": AGENT, "target": {"turn_id": "t1"}, "reason": "x"}
        answer = client.post("/v1/redactions", json=body)
        assert (answer.status_code, answer.json()["erased"]) == (201, None)
    with closing(open_database(settings)) as database:
        aged = Aged(NOW + DAY, "1d", projectors())
        assert remove_aged(database, aged, NOW, lambda _: None).turns == 1
        assert row_of(database, Turn, AGENT, "t2")["payload"] is None
        # Not its owner: PostgreSQL passes the tables over, and says so.
        assert "permission denied" in (shrink(database).reason or "")
        assert repair_projections(database, lambda _: None).difference_count == 0
