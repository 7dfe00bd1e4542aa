"""The ledger reads back byte for byte the same from SQLite and from PostgreSQL."""

from pathlib import Path

import pytest

from service.db import schema
from service.db.database import Database
from service.db.opening import open_database
from service.events.schemas import Event
from service.events.vocabulary import Log
from service.settings import Settings
from tests.postgres import PostgresCluster
from tests.service.factories import NOW, a_belief, a_client, an_event, post

TEXTS = ["plain", "a\x00b", "é😀\u202e", "\u2028", "'\"\\%_", "x" * 5_000]
PATHS = [
    "/v1/beliefs?limit=5",
    "/v1/beliefs?label=infer&q=a",
    "/v1/beliefs?q=%27",
    "/v1/beliefs/b0?agent=piper",
    "/v1/beliefs/b1?agent=piper",
    "/v1/beliefs/none?agent=piper",
    "/v1/contradictions",
    "/v1/contradictions/c1?agent=piper",
    "/v1/predictions",
    "/v1/predictions?state=overdue",
    "/v1/shadow-inferences",
    "/v1/shadow-inferences?state=resolved",
    "/v1/shadow-inferences?state=disputed",
    "/v1/shadow-inferences?state=open&category=system%20state",
    "/v1/shadow-inferences/agent:made-0?agent=piper",
    "/v1/shadow-inferences/agent:made-1?agent=piper",
    "/v1/events?limit=7",
]


def story() -> list[Event]:
    """A little of everything, its odd texts, numbers and equal instants included."""
    beliefs = [
        a_belief(
            f"b{n}",
            event_id=f"made-{n}",
            ts=NOW + n // 2,
            confidence=[0.1 + 0.2, 1 / 3, 1e-7, 1.0, 0.0, 0.85][n],
            detail={"content": text, "z": 2**70, "a": 5e-324, "justifications": [["b0"], [text]]},
        )
        for n, text in enumerate(TEXTS)
    ]
    others = [
        an_event("belief.overwritten", belief_id="b0", detail={"content": "new"}),
        an_event("belief.superseded", belief_id="b1", detail={"superseded_by": "b2"}),
        an_event("belief.challenged", belief_id="b1", detail={"by": "audit"}, log=Log.AUDIT),
        an_event("contradiction.created", contradiction_id="c1", detail={"beliefs": TEXTS}),
        an_event("contradiction.resolved", contradiction_id="c1", cost_usd=0.1, latency_ms=1e18),
        an_event("prediction.made", detail={"prediction_id": "p\u00e9", "due_at": "1999-01-01"}),
        an_event(
            "prediction.made",
            confidence=0.7,
            detail={"prediction_id": "p2", "due_at": "1999-01-01T00:00:00+14:00"},
        ),
        an_event("assertion.made", turn_id="t", agent_id="other", detail={"statement": "\x00"}),
        an_event(
            "inference.outcome",
            detail={"shadow_id": "agent:made-0", "outcome": True, "source": "tool_result"},
        ),
        *(
            an_event(
                "inference.outcome",
                detail={"shadow_id": "agent:made-1", "outcome": outcome, "source": "self_belief"},
            )
            for outcome in (True, False)
        ),
        a_belief("late", event_id="late", detail={"evidence": ["b2", "b0", "nothing"]}),
    ]
    return beliefs + others


@pytest.fixture
def both(postgres: PostgresCluster, tmp_path: Path) -> dict[str, Settings]:
    """Settings over a fresh database of each kind."""
    urls = {
        "sqlite": f"sqlite:///{tmp_path / 'doxa.db'}",
        "postgresql": postgres.create(f"doxa_both_{tmp_path.name}", template="doxa_template"),
    }
    for url in urls.values():
        database = Database(url)
        schema.migrate(database.writing)
        database.close()
    return {
        name: Settings.model_validate({"database_url": url, "data_dir": tmp_path})
        for name, url in urls.items()
    }


def test_every_answer_has_the_same_bytes_on_both_databases(both: dict[str, Settings]) -> None:
    events = story()
    answers: dict[str, list[tuple[int, bytes]]] = {}
    for name, settings in both.items():
        database = open_database(settings)
        # Three batches, the middle of the story last.
        for batch in (events[:4], events[9:], events[4:9]):
            post(database, batch)
        database.close()
        with a_client(settings) as client:
            found = [client.get(path) for path in PATHS]
        answers[name] = [(answer.status_code, answer.content) for answer in found]
    assert [status for status, _ in answers["sqlite"]] == [
        404 if "none" in path else 200 for path in PATHS
    ]
    for path, left, right in zip(PATHS, answers["sqlite"], answers["postgresql"], strict=True):
        assert left == right, path
