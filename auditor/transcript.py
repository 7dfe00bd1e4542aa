"""A session read once, from its first turn on, stopping at the turns that were drawn."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import select, tuple_
from sqlalchemy.orm import Session

from auditor.context import TurnText, read_payload
from auditor.method import SessionReader
from auditor.text.overlap import ContextPiece
from service.audits.records import DrawnTurn, TurnFacts
from service.models import AuditedTurn, AuditSample, Finding, Turn

_CHUNK = 200


@dataclass(frozen=True, slots=True)
class WantedTurn:
    """A drawn turn that has no state yet, with its place in its session."""

    drawn: DrawnTurn
    session_id: str
    ts: int
    seq: int


@dataclass(frozen=True, slots=True)
class Stop:
    """A drawn turn that was reached; `text` is None where it cannot be judged, for the `reason`.

    The reader has been given all evidence up to and with this turn's.
    """

    wanted: WantedTurn
    turn: TurnFacts
    text: TurnText | None
    reason: str | None
    tool_before: bool


def wanted_turns(session: Session, run_id: str) -> list[list[WantedTurn]]:
    """What is left of a run's sample, grouped by session, in the order of reading."""
    rows = session.execute(
        select(AuditSample, Turn.session_id, Turn.ts, Turn.seq)
        .join(
            Turn,
            (Turn.agent_id == AuditSample.agent_id) & (Turn.turn_id == AuditSample.turn_id),
        )
        .outerjoin(
            AuditedTurn,
            (AuditedTurn.agent_id == AuditSample.agent_id)
            & (AuditedTurn.turn_id == AuditSample.turn_id),
        )
        .where(AuditSample.run_id == run_id, AuditedTurn.turn_id.is_(None))
        .order_by(AuditSample.position)
    )
    groups: dict[str, list[WantedTurn]] = {}
    for sample, session_id, ts, seq in rows:
        drawn = DrawnTurn(
            sample.turn_id, sample.position, sample.stratum, sample.stratum_population,
            sample.stratum_sample,
        )  # fmt: skip
        groups.setdefault(session_id, []).append(WantedTurn(drawn, session_id, ts, seq))
    return list(groups.values())


class Transcript:
    """One session of an agent, on its way through a reader."""

    def __init__(
        self, session: Session, agent_id: str, wanted: Sequence[WantedTurn], reader: SessionReader
    ) -> None:
        self._session = session
        self._agent_id = agent_id
        self._wanted = {one.drawn.turn_id: one for one in wanted}
        self._session_id = wanted[0].session_id
        self.reader = reader
        self._looked = False
        self._is_whole = True
        self._texts: dict[str, str] = {}
        self.context: defaultdict[tuple[str, str], set[str]] = defaultdict(set)

    def stops(self) -> Iterator[Stop | None]:
        """Each wanted turn in the session's order; None for each turn passed on the way."""
        found_later = self._later_findings()
        for row in self._rows():
            text = None if row.payload is None else read_payload(row.turn_id, row.payload)
            if text is not None:
                self._read(text.evidence)
                if text.opens_exchange:
                    self._looked = False
                self._looked = self._looked or text.has_tool_call
            wanted = self._wanted.get(row.turn_id)
            if wanted is None:
                if text is not None:
                    self.reader.add_earlier(text.output)
                self._is_whole = self._is_whole and text is not None
                yield None
                continue
            for ts, seq, statement in found_later:
                if (ts, seq) > (row.ts, row.seq):
                    self.reader.add_earlier(statement)
            yield self._stop(wanted, row, text)
            self._is_whole = self._is_whole and text is not None

    def _stop(self, wanted: WantedTurn, row: "_Row", text: TurnText | None) -> Stop:
        reason = None
        if text is None:
            reason = "its payload was removed"
        elif not self._is_whole:
            text, reason = None, "the payload of an earlier turn of its session was removed"
        facts = TurnFacts(
            row.turn_id, row.ts, self._session_id, row.worker, row.model, row.commit_sha
        )
        return Stop(wanted, facts, text, reason, self._looked)

    def _read(self, evidence: Sequence[ContextPiece]) -> None:
        for piece in evidence:
            if piece.text not in self._texts:
                # Said again (a system message, the same memory in each turn) it adds nothing.
                self._texts[piece.text] = piece.text
                self.reader.add_context((piece,))
            self.context[piece.kind, piece.id].add(self._texts[piece.text])

    def _rows(self) -> Iterator["_Row"]:
        last = max((one.ts, one.seq) for one in self._wanted.values())
        rows = self._session.execute(
            select(
                Turn.turn_id, Turn.ts, Turn.seq, Turn.worker, Turn.model, Turn.commit_sha,
                Turn.payload,
            )
            .where(
                Turn.agent_id == self._agent_id,
                Turn.session_id == self._session_id,
                Turn.ts <= last[0],
                tuple_(Turn.ts, Turn.seq) <= last,
            )
            .order_by(Turn.ts, Turn.seq)
            .execution_options(yield_per=_CHUNK)
        )  # fmt: skip
        for row in rows:
            yield _Row(*row)

    def _later_findings(self) -> list[tuple[int, int, str]]:
        """Findings that stand in the session already, with the place of their turn.

        A turn that came late may say first what was counted in a later turn; it is counted there.
        """
        first = min(one.ts for one in self._wanted.values())
        rows = self._session.execute(
            select(Turn.ts, Turn.seq, Finding.statement)
            .join(
                Finding,
                (Finding.agent_id == Turn.agent_id) & (Finding.turn_id == Turn.turn_id),
            )
            .where(
                Turn.agent_id == self._agent_id,
                Turn.session_id == self._session_id,
                Turn.ts >= first,
            )
            .order_by(Turn.ts, Turn.seq, Finding.seq)
        )
        return [(ts, seq, statement) for ts, seq, statement in rows]


@dataclass(frozen=True, slots=True)
class _Row:
    turn_id: str
    ts: int
    seq: int
    worker: str | None
    model: str | None
    commit_sha: str | None
    payload: str | None
