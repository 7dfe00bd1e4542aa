"""Drawing the queue of hand-checks, and recording what people say."""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from zoneinfo import ZoneInfo

from sqlalchemy import Table
from sqlalchemy.orm import Session
from starlette.responses import Response

from service import json_text
from service.agents.queries import all_agents, zone_of
from service.api.idempotency import RequestKey, claim, settle
from service.api.responses import as_json
from service.audits.days import day_of, day_start
from service.contradictions.refusing import Done
from service.db.upserts import insert_or
from service.errors import Conflict, Fault, NotFound
from service.events.log import LogPositions
from service.events.recording import record_rows
from service.events.vocabulary import Log
from service.hand_checks import queries
from service.hand_checks.drawing import WEEKLY, check_id_of, draw
from service.hand_checks.schemas import AnsweredOut, CheckKind, Verdict
from service.models import HandCheck, HandCheckVerdict

# So many complete weeks are drawn when nobody did so in time.
CATCH_UP_WEEKS = 8
_VERDICTS: Table = HandCheckVerdict.__table__  # type: ignore[assignment]


def complete_weeks(now: int, zone: ZoneInfo) -> list[tuple[str, int, int]]:
    """The latest ISO weeks that have ended in a zone, oldest first: name, start, end."""
    today = day_of(now, zone)
    monday = today - timedelta(days=today.weekday())
    found = []
    for weeks in range(CATCH_UP_WEEKS, 0, -1):
        if (monday - date.min).days < 7 * weeks:
            continue
        begins = monday - timedelta(days=7 * weeks)
        year, week, _ = begins.isocalendar()
        ends = day_start(begins + timedelta(days=7), zone)
        found.append((f"{year:04}-W{week:02}", day_start(begins, zone), ends))
    return found


def missing(session: Session, now: int, agent_id: str | None = None) -> list[tuple[str, str, str]]:
    """The (agent, week, contradiction) triples that are to be drawn and are not."""
    found: list[tuple[str, str, str]] = []
    for agent in all_agents(session):
        if agent_id not in (None, agent.agent_id):
            continue
        for week, since, until in complete_weeks(now, zone_of(agent)):
            there = queries.drawn(session, agent.agent_id, week)
            if len(there) >= WEEKLY:
                continue
            candidates = queries.resolutions(session, agent.agent_id, since, until)
            chosen = [c.contradiction_id for c in draw(agent.agent_id, week, candidates)]
            # What was recorded late fills up a week that had too little, and displaces nothing.
            fresh = [one for one in chosen if one not in there][: WEEKLY - len(there)]
            found.extend((agent.agent_id, week, one) for one in fresh)
    return found


def draw_missing(session: Session, wanted: Iterable[tuple[str, str, str]], now: int) -> None:
    """Puts them into the queue, with what the person will see; drawn twice is drawn once."""
    rows = [
        {
            "agent_id": agent_id,
            "check_id": check_id_of(agent_id, CheckKind.RESOLUTION, contradiction_id),
            "kind": str(CheckKind.RESOLUTION),
            "subject_id": contradiction_id,
            "iso_week": week,
            "drawn_at": now,
            "snapshot": queries.snapshot(session, agent_id, contradiction_id, now),
        }
        for agent_id, week, contradiction_id in wanted
    ]
    if rows:
        session.execute(insert_or(session, HandCheck).on_conflict_do_nothing(), rows)


@dataclass(slots=True)
class RecordVerdict:
    """A person's verdict: a write-once row of the audit log."""

    agent_id: str
    check_id: str
    verdict: Verdict
    note: str | None
    verdict_id: str | None
    decided_by: str | None
    now: int
    request_key: RequestKey | None

    @property
    def logs(self) -> Iterable[tuple[str, str]]:
        """The logs that must be locked."""
        return {(self.agent_id, str(Log.AUDIT))}

    @property
    def size(self) -> int:
        """How many items it holds."""
        return 1

    def run(self, session: Session, positions: LogPositions) -> Response:
        """Records it; the same one again changes nothing."""
        if self.request_key is not None:
            earlier = claim(session, self.request_key)
            if earlier is not None:
                return earlier
        done = self._record(session, positions)
        answer = as_json(done.body, done.status)
        if self.request_key is not None:
            settle(session, self.request_key, answer)
        return answer

    def _record(self, session: Session, positions: LogPositions) -> Done:
        check = queries.check_called(session, self.check_id)
        if check is None:
            raise NotFound(f"There is no hand-check {self.check_id!r}.")
        verdict_id = self.verdict_id or secrets.token_hex(16)
        earlier = session.get(HandCheckVerdict, (self.agent_id, verdict_id))
        if earlier is not None:
            told = (earlier.check_id, earlier.verdict, earlier.note)
            if told != (self.check_id, self.verdict, self._note):
                reason = f"{verdict_id!r} is recorded with another verdict: choose a new id"
                fault = Fault("/verdict_id", reason)
                raise Conflict(f"verdict_id {reason}.", errors=(fault,))
            return Done(200, AnsweredOut(verdict_id, check))
        row = (
            self.agent_id, verdict_id, str(Log.AUDIT), self.check_id, check.kind,
            check.subject_id, str(self.verdict), self._note, self.decided_by, self.now,
        )  # fmt: skip
        record_rows(session, positions, _VERDICTS, [row])
        found = queries.check_called(session, self.check_id)
        assert found is not None  # noqa: S101 - read above in this transaction
        return Done(201, AnsweredOut(verdict_id, found))

    @property
    def _note(self) -> str | None:
        return json_text.shown(self.note)
