"""Tells of what the triggers caught with the next commit, and at the start of what they caught
while nobody was there."""

from collections.abc import Callable

from service.changes.operations import CHANGES_A_COMMIT, publish_changes
from service.changes.queries import last_change
from service.db.database import Database
from service.events.log import Grown, LogPositions
from service.events.operations import Projectors


class ChangePublisher:
    """Publishes in a transaction of its own, so that audit logs are locked in one order."""

    def __init__(
        self, database: Database, projectors: Projectors, clock: Callable[[], int]
    ) -> None:
        self._database, self._projectors, self._clock = database, projectors, clock
        self._seen = 0

    def __call__(self) -> list[Grown]:
        """The logs that grew; one cheap question where nothing was caught since the last call."""
        with self._database.read() as session:
            last = last_change(session)
        grown: list[Grown] = []
        while last != self._seen:
            with self._database.write() as session:
                positions = LogPositions(session)
                told = publish_changes(session, positions, self._projectors, self._clock())
                positions.store()
            grown += positions.grown
            if told < CHANGES_A_COMMIT:
                self._seen = last
        return grown
