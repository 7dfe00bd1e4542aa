from service.db.database import Database
from service.models import Agent


def test_a_write_is_seen_by_a_later_read(database: Database) -> None:
    with database.write() as session:
        session.add(Agent(agent_id="a", created_at=1, time_zone="UTC"))
    with database.read() as session:
        assert session.get(Agent, "a") is not None
