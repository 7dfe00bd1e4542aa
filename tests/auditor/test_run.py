import json
from collections.abc import Iterable, Sequence
from datetime import date

import pytest
from sqlalchemy import text

from auditor.method import JudgementFailedError, Method, builtin_method
from auditor.run import (
    Auditor,
    DayOutcome,
    NothingToAuditError,
    RunBusyError,
    RunOptions,
    StoppedError,
)
from auditor.text.judge import JudgedClaim, SessionJudge
from auditor.text.overlap import ContextPiece
from service.db.database import Database
from service.errors import NotFound
from service.instants import DAY, HOUR, MINUTE, SECOND
from service.models import CogEvent, LogHead, ShadowInference
from tests.auditor.recording import (
    AGENT,
    NOON,
    a_turn,
    audited,
    findings,
    record_turns,
    rows_of,
    runs,
    samples,
)
from tests.service.factories import a_belief, an_event, post

MONDAY, TUESDAY = date(2026, 10, 5), date(2026, 10, 6)
CLAIM = "The broker lost its lease because the clock jumped."
USER = {"role": "user", "content": "Why is the queue stuck?"}
# What lets a payload go; its own place in the log is of no matter here.
TOMBSTONE = (
    "INSERT INTO redactions (agent_id, target_log, target_seq, log, seq, target_table, "
    "payload_hash, payload_bytes, reason, removed_at) "
    "SELECT agent_id, log, seq, 'audit', 1000, 'turns', payload_salt, 1, 'secret', ts "
    "FROM turns WHERE turn_id = 't2'"
)


def audit(
    database: Database, day: date = MONDAY, *, method: Method | None = None, sample: int = 50
) -> DayOutcome:
    auditor = Auditor(database, method or builtin_method(), lambda: NOON + 10 * DAY, 50)
    return auditor.audit_day(AGENT, day, RunOptions(sample))


class Witness(SessionJudge):
    """Judges as the built-in method does, and keeps what was read and seen meanwhile."""

    database: Database
    samples_seen: list[int]

    def add_context(self, pieces: Iterable[ContextPiece]) -> None:
        self.samples_seen.append(len(samples(self.database)))
        super().add_context(pieces)


def test_the_sample_is_stored_before_any_text_is_read(database: Database) -> None:
    record_turns(database, [a_turn(inputs=[USER]) for _ in range(9)])
    Witness.database, Witness.samples_seen = database, []
    audit(database, method=Method("witness", "1", Witness), sample=4)
    assert set(Witness.samples_seen) == {4}
    (run,) = runs(database)
    assert (run.population, run.sample_size, len(run.seed)) == (9, 4, 32)
    assert {(s.stratum_population, s.stratum_sample) for s in samples(database)} == {(9, 4)}


def test_what_the_context_says_is_no_finding_and_what_it_lacks_is(database: Database) -> None:
    output = f"Good morning! The queue holds 412 messages. {CLAIM} Shall I restart it?"
    result = {"queue": "orders", "messages": 412, "holds": "queue"}
    record_turns(
        database,
        [
            a_turn(
                "t1",
                session_id="s1",
                inputs=[USER],
                tool_calls=[{"name": "queue", "arguments": {}, "result": result}],
                output=output,
            )
        ],
    )
    outcome = audit(database)
    (finding,) = findings(database)
    assert finding.quote == CLAIM == output[finding.quote_start : finding.quote_end]
    assert (finding.support, finding.decisive_source) == (None, None)
    assert finding.support_score is not None
    assert (finding.tool_before, finding.abducted, finding.gated, finding.written) == (1, 0, 0, 0)
    (turn,) = audited(database)
    counts = json.loads(turn.counts)
    assert (turn.state, turn.sentences, turn.claims) == ("done", 4, 2)
    assert counts["in_context"] == counts["inferred"] == 1
    assert counts["invalid"] == counts["repeated"] == 0
    assert sum(counts["not_a_claim"].values()) == 2
    assert outcome.audit.findings == 1
    assert outcome.audit.state == "done"


def test_a_finding_leaves_an_event_and_a_shadow_in_a_dense_audit_log(database: Database) -> None:
    turn = a_turn("t1", session_id="s1", worker="day", commit_sha="abc", output=CLAIM)
    record_turns(database, [turn])
    audit(database)
    (finding,) = findings(database)
    (event,) = [e for e in rows_of(database, CogEvent, CogEvent.seq) if e.log == "audit"]
    assert event.event == "opportunity.detected"
    assert (event.ts, event.turn_id, event.session_id, event.worker) == (turn.ts, "t1", "s1", "day")
    detail = json.loads(event.detail)
    assert (detail["source"], detail["finding_id"]) == ("auditor", finding.finding_id)
    (shadow,) = rows_of(database, ShadowInference)
    assert (shadow.log, shadow.source, shadow.statement) == ("audit", "audit", CLAIM)
    assert (shadow.confidence, shadow.label, shadow.commit_sha) == (None, None, "abc")
    assert shadow.event_id == event.event_id
    (state,) = audited(database)
    taken = sorted([state.seq, finding.seq, event.seq, shadow.seq])
    heads = {head.log: head.size for head in rows_of(database, LogHead)}
    assert taken == list(range(1, heads["audit"] + 1))


def test_what_the_agent_recorded_itself_is_linked_and_gets_no_second_shadow(
    database: Database,
) -> None:
    record_turns(
        database,
        [a_turn("t1", output=CLAIM), a_turn("t2", output=CLAIM), a_turn("t3", output=CLAIM)],
    )
    post(
        database,
        [
            a_belief("b1", "suspect", turn_id="t1", detail={"content": CLAIM}),
            an_event("abduction.invoked", turn_id="t1"),
            an_event("gate.decided", turn_id="t1", detail={"decision": "INFER"}),
            an_event("assertion.made", turn_id="t2", detail={"statement": CLAIM}),
        ],
    )
    audit(database)
    found = {f.turn_id: f for f in findings(database)}
    first = found["t1"]
    assert (first.written, first.belief_id, first.belief_label) == (1, "b1", "suspect")
    assert (first.link_score, first.abducted, first.gated) == (1.0, 1, 1)
    assert (found["t2"].written, found["t2"].belief_id) == (0, None)
    shadows = rows_of(database, ShadowInference)
    assert sorted(s.turn_id for s in shadows if s.log == "audit") == ["t3"]


def test_a_claim_counts_once_a_session_also_when_it_was_first_made_in_a_turn_not_drawn(
    database: Database,
) -> None:
    turns = [a_turn(f"t{i}", session_id="s1", output=CLAIM) for i in range(6)]
    record_turns(database, turns)
    audit(database, sample=3)
    drawn = [row.turn_id for row in samples(database)]
    found = [f.turn_id for f in findings(database)]
    assert found == [turn_id for turn_id in drawn if turn_id == "t0"]
    repeated = sum(json.loads(row.counts)["repeated"] for row in audited(database))
    assert repeated == 3 - len(found)


def test_a_late_turn_does_not_count_again_what_a_later_turn_was_counted_for(
    database: Database,
) -> None:
    record_turns(database, [a_turn("t2", session_id="s1", output=CLAIM)])
    audit(database)
    early = a_turn("t1", session_id="s1", ts=NOON - HOUR, output=CLAIM)
    record_turns(database, [early])
    audit(database, TUESDAY)
    assert [row.turn_id for row in audited(database)] == ["t2", "t1"]
    assert [f.turn_id for f in findings(database)] == ["t2"]


def test_the_agents_earlier_words_and_its_arguments_do_not_support_a_claim(
    database: Database,
) -> None:
    said = {"role": "assistant", "content": CLAIM}
    call = {"name": "note", "arguments": {"text": CLAIM}, "result": "ok"}
    record_turns(
        database,
        [a_turn("t1", session_id="s1", inputs=[USER, said], tool_calls=[call], output=CLAIM)],
    )
    audit(database)
    assert [f.turn_id for f in findings(database)] == ["t1"]


def test_the_context_is_that_of_the_session_so_far_and_not_of_its_future(
    database: Database,
) -> None:
    told = {"role": "user", "content": CLAIM}
    record_turns(
        database,
        [
            a_turn("t1", session_id="s1", output="Shard nine lost its replica overnight."),
            a_turn("t2", session_id="s1", inputs=[told], output="Thank you!"),
            a_turn("t3", session_id="s1", output=CLAIM),
            a_turn("t4", session_id="s2", output=CLAIM),
        ],
    )
    audit(database)
    assert sorted(f.turn_id for f in findings(database)) == ["t1", "t4"]


def test_a_tool_read_for_an_earlier_question_was_not_read_for_this_one(
    database: Database,
) -> None:
    call = {"name": "df", "arguments": {}, "result": "ok"}
    record_turns(
        database,
        [
            a_turn("t1", session_id="s1", inputs=[USER], tool_calls=[call], output=""),
            a_turn("t2", session_id="s1", output="Shard nine lost its replica overnight."),
            a_turn("t3", session_id="s1", inputs=[USER], output="Customers were charged twice."),
        ],
    )
    audit(database)
    assert {f.turn_id: f.tool_before for f in findings(database)} == {"t2": 1, "t3": 0}


def test_a_removed_payload_leaves_the_turn_and_those_after_it_unjudged(
    database: Database,
) -> None:
    record_turns(database, [a_turn(t, session_id="s1", output=CLAIM) for t in ("t1", "t2", "t3")])
    with database.write() as session:
        removal = "UPDATE turns SET payload = NULL, payload_salt = NULL WHERE turn_id = 't2'"
        session.execute(text(TOMBSTONE))
        session.execute(text(removal))
    outcome = audit(database)
    states = {row.turn_id: (row.state, row.reason) for row in audited(database)}
    assert states["t1"] == ("done", None)
    assert states["t2"] == ("unjudged", "its payload was removed")
    assert states["t3"][0] == "unjudged"
    assert outcome.audit.turns == {"done": 1, "failed": 0, "unjudged": 2}


def test_offsets_hold_in_any_script_and_beside_a_nul(database: Database) -> None:
    output = (
        "Größe 😀\u0000 stimmt. Der Broker verlor die Lease wegen der\u0000 Uhr 😀 gestern. "
        "Ende \U0001f469\u200d\U0001f680."
    )
    record_turns(database, [a_turn("t1", output=output), a_turn("t2", output="日本語。" * 50)])
    audit(database)
    shown = output.replace("\u0000", "\ufffd")
    quoted = [f for f in findings(database) if f.turn_id == "t1"]
    assert quoted
    for finding in quoted:
        assert finding.quote == shown[finding.quote_start : finding.quote_end]


class Stubborn(SessionJudge):
    def judge(self, output: str) -> list[JudgedClaim]:
        if "stubborn" in output:
            raise JudgementFailedError("no JSON came back, twice")
        return super().judge(output)


def test_a_turn_that_cannot_be_judged_is_failed_counted_and_stops_nothing(
    database: Database,
) -> None:
    record_turns(
        database,
        [a_turn("t1", output=f"A stubborn matter. {CLAIM}"), a_turn("t2", output=CLAIM)],
    )
    outcome = audit(database, method=Method("stubborn", "1", Stubborn))
    assert outcome.audit.state == "done"
    assert outcome.audit.turns == {"done": 1, "failed": 1, "unjudged": 0}
    (failed,) = [row for row in audited(database) if row.state == "failed"]
    assert (failed.turn_id, failed.reason) == ("t1", "no JSON came back, twice")
    assert [f.turn_id for f in findings(database)] == ["t2"]


class Liar(SessionJudge):
    def judge(self, output: str) -> Sequence[JudgedClaim]:  # type: ignore[override]
        (claim,) = super().judge(output)
        fields = {name: getattr(claim, name) for name in JudgedClaim.__slots__}
        return [
            claim,
            JudgedClaim(**fields | {"quote": "never said"}),
            JudgedClaim(**fields | {"end": claim.end + 5}),
            JudgedClaim(**fields | {"context_quotes": (("tool", "t9", "made up"),)}),
            JudgedClaim(**fields | {"expressed_confidence": 1.5}),
        ]


def test_a_claim_whose_quote_or_source_does_not_exist_is_invalid_and_no_finding(
    database: Database,
) -> None:
    record_turns(database, [a_turn("t1", output=CLAIM)])
    audit(database, method=Method("liar", "1", Liar))
    (turn,) = audited(database)
    counts = json.loads(turn.counts)
    assert counts["invalid"] == 4
    assert counts["invalid_reasons"] == {
        "quote_not_in_output": 2,
        "unknown_context_id": 1,
        "out_of_range": 1,
    }
    assert len(findings(database)) == turn.claims == 1


def test_a_run_that_is_done_is_not_done_again(database: Database) -> None:
    record_turns(database, [a_turn() for _ in range(4)])
    first, second = audit(database), audit(database, sample=1)
    assert not first.was_ended
    assert second.was_ended
    assert second.audit == first.audit
    assert len(audited(database)) == 4


def test_a_spent_budget_ends_partial_and_the_next_run_goes_on(database: Database) -> None:
    record_turns(database, [a_turn() for _ in range(5)])
    now = [NOON + 10 * DAY]

    def clock() -> int:
        now[0] += 10 * SECOND
        return now[0]

    auditor = Auditor(database, builtin_method(), clock, 50)
    first = auditor.audit_day(AGENT, MONDAY, RunOptions(budget_minutes=1))
    assert first.audit.state == "partial"
    assert 0 < first.audit.turns["done"] < 5 == first.audit.drawn
    second = auditor.audit_day(AGENT, MONDAY)
    assert second.audit.state == "done"
    assert second.audit.audit_id == first.audit.audit_id
    assert len({row.turn_id for row in audited(database)}) == len(audited(database)) == 5


def test_a_fresh_heartbeat_is_left_alone_and_a_stale_one_taken_over(database: Database) -> None:
    record_turns(database, [a_turn() for _ in range(3)])
    audit(database)
    with database.write() as session:
        session.execute(
            text("UPDATE audit_runs SET state = 'running', heartbeat_at = :at"), {"at": NOON}
        )
    auditor = Auditor(database, builtin_method(), lambda: NOON + 2 * MINUTE - 1, 50)
    with pytest.raises(RunBusyError, match="showed life 120 s ago"):
        auditor.audit_day(AGENT, MONDAY)
    auditor.clock = lambda: NOON + 2 * MINUTE
    assert auditor.audit_day(AGENT, MONDAY).audit.state == "done"


def test_a_process_told_to_stop_gives_the_run_up_at_once(database: Database) -> None:
    record_turns(database, [a_turn() for _ in range(5)])
    auditor = Auditor(database, builtin_method(), lambda: NOON + 10 * DAY, 50)
    auditor.should_stop = lambda: len(audited(database)) == 2
    with pytest.raises(StoppedError):
        auditor.audit_day(AGENT, MONDAY)
    assert [run.state for run in runs(database)] == ["running"]
    assert audit(database).audit.turns["done"] == 5


def test_a_day_without_turns_and_an_unknown_agent_leave_no_run(database: Database) -> None:
    record_turns(database, [a_turn()])
    with pytest.raises(NothingToAuditError, match="no turns to audit on 2026-10-06"):
        audit(database, TUESDAY)
    with pytest.raises(NotFound, match="Known are: piper"):
        Auditor(database, builtin_method(), lambda: NOON, 50).audit_day("nobody", MONDAY)
    assert runs(database) == []


def test_the_sample_size_is_the_agents_unless_one_is_asked_for(database: Database) -> None:
    record_turns(database, [a_turn() for _ in range(9)])
    with database.write() as session:
        session.execute(text("UPDATE agents SET sample_size = 2"))
    auditor = Auditor(database, builtin_method(), lambda: NOON + 10 * DAY, 50)
    assert auditor.audit_day(AGENT, MONDAY).audit.drawn == 2


def test_the_days_ledger_is_examined_once_with_the_run(database: Database) -> None:
    record_turns(database, [a_turn()])
    post(database, [a_belief("b1", None, ts=NOON)])
    ledger = audit(database).audit.ledger
    assert ledger is not None
    assert (ledger["examined"], ledger["unlabelled"], ledger["without_turn"]) == (1, 1, 1)
    post(database, [a_belief("b2", None, ts=NOON)])
    assert audit(database).audit.ledger == ledger
