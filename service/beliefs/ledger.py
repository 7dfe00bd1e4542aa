"""The ledger as it stands under the lock, and as it will once what is planned is appended."""

from collections.abc import Collection, Iterable, Sequence

import msgspec
from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from service.beliefs.grounds import all_ids, content_key, stored_sets, supporters
from service.beliefs.projection import BELIEFS, EVENT_TYPES, SUPERSEDED, BeliefState, apply
from service.beliefs.queries import has_fallen, version_of
from service.db.bulk import rows_by_key
from service.events.queries import events_of
from service.events.schemas import Event
from service.events.vocabulary import EventType, Log
from service.models import BeliefSupport, BeliefVersion, CogEvent

Key = tuple[str, str]
# Dependents of one belief that are looked at.
MAX_DEPENDENTS = 1_000
# Beliefs looked at on the way from a justification down to what it rests on.
MAX_WALK = 10_000
# Ids in one question.
_CHUNK = 1_000
_NOT_AN_ID = "\x00"


class Ledger:
    """Beliefs by agent and id, read once; `plan` folds an event in before it is appended.

    `log` is the one that the caller writes and sees, None for both.
    """

    def __init__(self, session: Session, log: Log | None) -> None:
        self._session = session
        self._log = log
        self._states: dict[Key, BeliefState | None] = {}
        self._versions: dict[Key, str] = {}
        self._contents: dict[Key, str | None] = {}
        self._supports: dict[Key, set[str]] = {}
        # What `prepare` found not to be there, so that nobody asks again.
        self._absent_events: set[tuple[str, str, str]] = set()
        self._absent_supporters: set[Key] = set()
        self._by_id: dict[tuple[str, str, str], Event] = {}
        self.events: list[Event] = []

    def prepare(self, agent_id: str, events: Sequence[Event]) -> None:
        """Reads at once what the planning of many calls will ask for; none depends on it."""
        named = {event.belief_id or "" for event in events}
        members = (all_ids(event.detail.get("justifications") or []) for event in events)
        self.states(agent_id, named.union(*members))
        keys = {content_key(e.detail["content"]) for e in events if "content" in e.detail}
        wanted = sorted(named | keys)
        known = self._present(BeliefSupport.agent_id, agent_id, BeliefSupport.supporter_id, wanted)
        self._absent_supporters |= {(agent_id, one) for one in wanted if one not in known}
        for log in sorted({event.log for event in events}):
            ids = sorted({event.event_id for event in events if event.log == log})
            known = self._present(
                CogEvent.agent_id, agent_id, CogEvent.event_id, ids, CogEvent.log == log
            )
            self._absent_events |= {(agent_id, log, one) for one in ids if one not in known}

    def _present(
        self,
        agent_column: InstrumentedAttribute[str],
        agent_id: str,
        column: InstrumentedAttribute[str],
        ids: Sequence[str],
        *conditions: ColumnElement[bool],
    ) -> set[str]:
        found: set[str] = set()
        for start in range(0, len(ids), _CHUNK):
            among = column.in_(ids[start : start + _CHUNK])
            statement = select(column).where(agent_column == agent_id, among, *conditions)
            found.update(self._session.scalars(statement.distinct()))
        return found

    def states(self, agent_id: str, ids: Iterable[str]) -> dict[str, BeliefState]:
        """The beliefs among some ids that were created and that the caller may see."""
        asked = {one for one in ids if _NOT_AN_ID not in one}
        missing = sorted(one for one in asked if (agent_id, one) not in self._states)
        for row in rows_by_key(
            self._session, BELIEFS, "belief_id", [(agent_id, one) for one in missing]
        ):
            self._states[agent_id, row[1]] = BeliefState(*row)
            self._versions[agent_id, row[1]] = version_of(row)
        for one in missing:
            self._states.setdefault((agent_id, one), None)
        found = {}
        for one in asked:
            state = self._states[agent_id, one]
            if state is not None and state.created_at is not None and self._is_visible(state):
                found[one] = state
        return found

    def _is_visible(self, state: BeliefState) -> bool:
        return self._log is None or state.content_log in (None, self._log)

    def state(self, agent_id: str, belief_id: str) -> BeliefState | None:
        """One of them."""
        return self.states(agent_id, [belief_id]).get(belief_id)

    def is_hidden(self, agent_id: str, belief_id: str) -> bool:
        """Whether an id is a belief's that the caller may not see."""
        state = self.state(agent_id, belief_id) or self._states[agent_id, belief_id]
        return state is not None and not self._is_visible(state)

    def version(self, agent_id: str, belief_id: str) -> str | None:
        """The version of a belief as it was before anything was planned."""
        self.states(agent_id, [belief_id])
        return self._versions.get((agent_id, belief_id))

    def last_place(self, agent_id: str, belief_id: str) -> tuple[int, str]:
        """The instant and the log of the last event of a belief, also of one never created."""
        self.states(agent_id, [belief_id])
        state = self._states.get((agent_id, belief_id))
        return (0, "") if state is None else (state.last_ts, state.last_log)

    def content(self, agent_id: str, belief_id: str) -> str | None:
        """What a belief says now."""
        key = (agent_id, belief_id)
        state = self.state(*key)
        if key not in self._contents and state is not None:
            self._contents[key] = self._session.scalar(
                select(BeliefVersion.content).where(
                    BeliefVersion.agent_id == agent_id,
                    BeliefVersion.belief_id == belief_id,
                    BeliefVersion.log == state.content_log,
                    BeliefVersion.seq == state.content_seq,
                )
            )
        return self._contents.get(key)

    def head(self, agent_id: str, belief_id: str) -> str | None:
        """The belief that stands at the end of a chain of supersessions; None where it is a circle.

        Reported ledgers may close a circle; a belief that is met again ends the walk.
        """
        seen: set[str] = set()
        current = belief_id
        while current not in seen:
            seen.add(current)
            state = self.state(agent_id, current)
            if state is None or state.status != SUPERSEDED:
                return current
            if state.superseded_by is None:
                return None
            current = state.superseded_by
        return None

    def dependents(self, agent_id: str, supporter: str) -> tuple[list[BeliefState], int]:
        """The beliefs that can be found by a supporter, by id; and how many were not looked at."""
        ids, unread = self._dependent_ids(agent_id, supporter)
        found = {*ids, *self._supports.get((agent_id, supporter), ())}
        states = self.states(agent_id, found)
        return [states[one] for one in sorted(states)], unread

    def _dependent_ids(self, agent_id: str, supporter: str) -> tuple[list[str], int]:
        if _NOT_AN_ID in supporter or (agent_id, supporter) in self._absent_supporters:
            return [], 0
        where = (BeliefSupport.agent_id == agent_id, BeliefSupport.supporter_id == supporter)
        ids = list(
            self._session.scalars(
                select(BeliefSupport.belief_id)
                .where(*where)
                .order_by(BeliefSupport.belief_id)
                .limit(MAX_DEPENDENTS + 1)
            )
        )
        unread = 0
        if len(ids) > MAX_DEPENDENTS:
            count = select(func.count()).select_from(BeliefSupport).where(*where)
            unread = (self._session.scalar(count) or 0) - MAX_DEPENDENTS
        return ids[:MAX_DEPENDENTS], unread

    def fallen(self, agent_id: str, ids: Collection[str]) -> set[str]:
        """Those of some ids that are beliefs which no longer bear anything."""
        return {one for one, state in self.states(agent_id, ids).items() if has_fallen(state)}

    def leads_back(self, agent_id: str, sets: list[list[str]], target: str) -> bool:
        """Whether a justification rests in the end on `target`; one too deep to tell counts as if.

        Told of what nothing rests on, which is the rule, it costs one look-up.
        """
        level = {name for names in sets for name in names}
        if target in level:
            return True
        if not self.dependents(agent_id, target)[0]:
            return False
        seen: set[str] = set()
        while level:
            seen |= level
            below: set[str] = set()
            for state in self.states(agent_id, level).values():
                below.update(*stored_sets(state.justifications))
            if target in below or len(seen) > MAX_WALK:
                return True
            level = below - seen
        return False

    def recorded(self, event: Event) -> Event | None:
        """The event that stands under this id, recorded or planned."""
        key = (event.agent_id, event.log, event.event_id)
        if key in self._by_id or key in self._absent_events:
            return self._by_id.get(key)
        same = (CogEvent.event_id == event.event_id) & (CogEvent.log == event.log)
        kind = self._session.scalar(
            select(CogEvent.event).where(CogEvent.agent_id == event.agent_id, same)
        )
        return None if kind is None else events_of(self._session, event.agent_id, same, [kind])[0]

    def plan(self, event: Event) -> None:
        """Takes an event among those to be appended, and folds it in."""
        self.events.append(event)
        self._by_id[event.agent_id, event.log, event.event_id] = event
        if event.event not in EVENT_TYPES or event.belief_id is None:
            return
        key = (event.agent_id, event.belief_id)
        self.states(event.agent_id, [event.belief_id])
        state = self._states[key] or BeliefState(*key)
        apply(state, event)
        state.last_ts, state.last_log = event.ts, event.log
        self._states[key] = state
        if event.detail.get("justifications") is not None:
            for supporter in supporters(event.detail):
                self._supports.setdefault((event.agent_id, supporter), set()).add(event.belief_id)
        if event.event == EventType.BELIEF_CREATED:
            self._contents.setdefault(key, event.detail.get("content"))


def planned_event(template: Event, **changes: object) -> Event:
    """A fresh copy of an event: a plan that is made twice must not see the first one's marks."""
    found = msgspec.structs.replace(template, **changes)
    found.flags, found.noted, found.leaf_hash = list(found.flags), [], None
    return found
