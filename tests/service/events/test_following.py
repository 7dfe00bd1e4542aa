"""A stream's place names all that came before it, whatever the clock said of it."""

from service.db.database import Database
from service.events.queries import following_events
from service.events.vocabulary import Log
from tests.service.factories import an_event, post


def test_what_was_committed_later_but_received_earlier_is_not_passed_over(
    database: Database,
) -> None:
    events = [an_event("x.n", event_id=str(n)) for n in range(6)]
    agent_id = events[0].agent_id
    for late, event in enumerate(events):
        event.received_at = 1_000_000 - late  # each one's clock is behind the one before
    post(database, events)
    seen: list[str] = []
    place: dict[str, int] = {}
    with database.read() as session:
        while page := following_events(session, agent_id, place, tuple(Log), limit=2):
            for following in page:
                place[following.log] = following.seq
                seen.append(following.event_id)
    assert seen == [str(n) for n in range(6)]
