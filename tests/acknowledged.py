"""What must hold of a database after whatever happened to it under load."""

import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

from sqlalchemy import select

from service.db.database import Database
from service.models import Belief, CogEvent, LogHead, ShadowInference
from tests.processes import ROOT, doxa, environment


def check_record(database_url: str, acknowledged: set[str]) -> None:
    """Every acknowledged event once, positions dense, projections beside their events."""
    database = Database(database_url)
    with database.read() as session:
        ids = Counter(session.scalars(select(CogEvent.event_id)))
        events = session.scalars(select(CogEvent.seq)).all()
        shadows = session.scalars(select(ShadowInference.seq)).all()
        beliefs = session.scalars(select(Belief.belief_id)).all()
        size = session.scalar(select(LogHead.size))
    database.close()
    assert acknowledged <= set(ids)
    assert set(ids.values()) == {1}
    assert sorted([*events, *shadows]) == list(range(1, (size or 0) + 1))
    assert len(events) == len(shadows) == len(beliefs)


def check_verified(database_url: str, data_dir: Path, checkpoints: Path) -> None:
    """`doxa verify` finds nothing wrong with record or projections, anchored outside."""
    verified = subprocess.run(
        doxa("verify", "--projections", "--checkpoints", str(checkpoints)),
        cwd=ROOT,
        env=environment(database_url=database_url, data_dir=str(data_dir)),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert verified.returncode == 0, verified.stdout + verified.stderr


def numbered_belief(number: int, client: int) -> dict[str, Any]:
    """An event of a load: an inferred belief, which leaves a shadow inference beside it."""
    return {
        "agent_id": "a",
        "event": "belief.created",
        "event_id": f"e{number:08d}",
        "ts": f"2026-10-03T12:{number // 60 % 60:02d}:{number % 60:02d}Z",
        "belief_id": f"b{number}",
        "label_to": "infer",
        "confidence": 0.9,
        "worker": f"w{client}",
        "detail": {"content": f"claim {number}", "category": "system state"},
    }
