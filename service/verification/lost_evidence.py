"""Evidence whose text stood in a turn or an event that was redacted since: it is nowhere else."""

import json
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from service.events.vocabulary import Log
from service.inferences.evidence import items_of
from service.models import CogEvent, Redaction, Turn
from service.verification.comparing import Difference

# What a snapshot writes beside an item whose text it found (service.inferences.evidence).
_ADDED = ("text", "from", "truncated")
_PREFIX = "turns/"
_EVENTS = "events/"


class LostEvidence:
    """Knows which shadow inferences hold more than can be rebuilt, and why."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def explains(self, found: Difference) -> bool:
        """Whether all that differs is text that stood in a payload which a tombstone removed."""
        if set(found.columns) != {"evidence"}:
            return False
        stored, rebuilt = (_items(text) for text in found.columns["evidence"])
        if len(stored) != len(rebuilt):
            return False
        return all(
            one == other or self._is_lost(found.agent_id, one, other)
            for one, other in zip(stored, rebuilt, strict=True)
        )

    def _is_lost(self, agent_id: str, stored: Any, rebuilt: Any) -> bool:
        if not isinstance(stored, dict) or not isinstance(stored.get("from"), str):
            return False
        as_sent = rebuilt if isinstance(rebuilt, dict) else {"id": rebuilt}
        without = {name: value for name, value in stored.items() if name not in _ADDED}
        place = stored["from"]
        if without != as_sent:
            return False
        if place.startswith(_EVENTS):
            return self._event_was_redacted(agent_id, place.removeprefix(_EVENTS))
        turn_id = place.removeprefix(_PREFIX).rsplit("/", 2)[0]
        return place.startswith(_PREFIX) and self._was_redacted(agent_id, turn_id)

    def _event_was_redacted(self, agent_id: str, event_id: str) -> bool:
        statement = (
            select(Redaction.seq)
            .join(
                CogEvent,
                (CogEvent.agent_id == Redaction.agent_id)
                & (CogEvent.log == Redaction.target_log)
                & (CogEvent.seq == Redaction.target_seq),
            )
            .where(
                Redaction.target_table == CogEvent.__tablename__,
                CogEvent.agent_id == agent_id,
                CogEvent.log == str(Log.AGENT),
                CogEvent.event_id == event_id,
                CogEvent.detail.is_(None),
            )
        )
        return self._session.execute(statement).first() is not None

    def _was_redacted(self, agent_id: str, turn_id: str) -> bool:
        statement = (
            select(Redaction.seq)
            .join(
                Turn,
                (Turn.agent_id == Redaction.agent_id)
                & (Turn.log == Redaction.target_log)
                & (Turn.seq == Redaction.target_seq),
            )
            .where(
                Redaction.target_table == Turn.__tablename__,
                Turn.agent_id == agent_id,
                Turn.turn_id == turn_id,
                Turn.payload.is_(None),
            )
        )
        return self._session.execute(statement).first() is not None


def _items(text: str | None) -> list[Any]:
    try:
        return list(items_of(json.loads(text or "null")))
    except ValueError:
        return []
