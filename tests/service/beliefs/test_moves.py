"""What the calls of the owned ledger do: one belief, its evidence, and what rests on it."""

from typing import Any

import httpx
import pytest

from service.beliefs import weakening
from service.models import Belief, ShadowInference
from tests.service.beliefs.conftest import LedgerClient
from tests.service.factories import AGENT, a_belief, a_key, an_event, post, row_of


def test_a_belief_is_written_as_the_event_that_would_have_been_reported(
    ledger: LedgerClient,
) -> None:
    answer = ledger.write(
        "b1",
        confidence=0.9,
        session_id="s1",
        turn_id="t1",
        evidence=["e1", {"id": "e2", "channel": "tool", "reliability": 0.9}],
        valid_from="2026-10-01T02:00:00+02:00",
        detail={"alternatives": ["b"]},
    )
    assert (answer["accepted"], answer["duplicates"]) == (1, 0)
    assert answer["beliefs"] == [ledger.belief("b1")]
    (event,) = ledger.read("b1")["events"]
    assert (event["event"], event["label_to"], event["worker"]) == (
        "belief.created",
        "infer",
        "day",
    )
    assert event["flags"] == answer["events"][0]["flags"] == []
    assert event["detail"] == {
        "alternatives": ["b"],
        "category": "system state",
        "content": "what b1 says",
        "evidence": ["e1", {"id": "e2", "channel": "tool", "reliability": 0.9}],
        "justifications": [["e1", "e2"]],
        "valid_from": "2026-10-01T00:00:00.000000Z",
    }
    shadows = ledger.http.get("/v1/shadow-inferences", params={"agent": AGENT}).json()["items"]
    assert [one["belief_id"] for one in shadows] == ["b1"]


def test_an_inferred_belief_is_answered_with_the_receipt_of_its_shadow(
    ledger: LedgerClient,
) -> None:
    (recorded,) = ledger.write("b1", label="infer", confidence=0.9)["events"]
    receipt = recorded["receipt"]
    shadow = row_of(ledger.database, ShadowInference, AGENT, receipt["shadow_id"])
    assert (receipt["index"], receipt["leaf_hash"]) == (
        shadow["seq"] - 1,
        shadow["leaf_hash"].hex(),
    )
    (known,) = ledger.write("b2", label="know")["events"]
    assert known["receipt"] is None


def test_a_label_that_contradicts_its_confidence_is_taken_and_flagged(ledger: LedgerClient) -> None:
    written = ledger.write("b1", confidence=0.4)
    assert written["events"][0]["flags"] == ["label_confidence_mismatch"]
    ledger.write("b2", "suspect", confidence=0.6)
    moved = ledger.move("b2", "relabel", label="infer", sources=["b1"])
    assert moved["events"][0]["flags"] == ["label_confidence_mismatch"]


def test_a_contradicting_fact_is_current_and_the_old_one_is_kept(ledger: LedgerClient) -> None:
    ledger.write("a", worker="night", turn_id="t1", confidence=0.9)
    before = row_of(ledger.database, Belief, AGENT, "a")
    answer = ledger.supersede("a", "b", evidence=["e2"])
    after = row_of(ledger.database, Belief, AGENT, "a")
    changed = {name for name in after if after[name] != before[name]}
    assert changed == {"status", "superseded_by", "superseded_at", "last_ts", "last_seq"} - (
        {"last_ts"} if after["last_ts"] == before["last_ts"] else set()
    )
    assert [one["belief_id"] for one in answer["beliefs"]] == ["b", "a"]
    assert [one["status"] for one in answer["beliefs"]] == ["active", "superseded"]
    closings = [name for event, name, _ in ledger.events() if event == "belief.superseded"]
    assert closings == ["a"]
    assert ledger.belief("a")["content"] == "what a says"


def test_a_belief_that_is_there_can_take_the_place_of_another(ledger: LedgerClient) -> None:
    ledger.write("a")
    ledger.write("b")
    first = ledger.move("a", "supersede", successor="b")
    again = ledger.move("a", "supersede", successor="b")
    assert (first["accepted"], again["accepted"], again["duplicates"]) == (1, 0, 1)
    assert ledger.belief("a")["superseded_by"] == "b"
    assert len(ledger.events()) == 3


def test_a_change_of_confidence_alone_changes_nothing_else(ledger: LedgerClient) -> None:
    ledger.write("b1", confidence=0.9, evidence=["e1"], turn_id="t1")
    before = row_of(ledger.database, Belief, AGENT, "b1")
    ledger.move("b1", "relabel", label="infer", confidence=0.95)
    after = row_of(ledger.database, Belief, AGENT, "b1")
    changed = {name for name in after if after[name] != before[name]}
    assert changed - {"last_ts"} == {"confidence", "last_seq"}
    event = ledger.read("b1")["events"][-1]
    assert (event["label_from"], event["label_to"], event["confidence"]) == ("infer", "infer", 0.95)
    assert event["detail"] == {}


def test_a_relabel_that_changes_nothing_is_no_event(ledger: LedgerClient) -> None:
    ledger.write("b1", confidence=0.9)
    answer = ledger.move("b1", "relabel", label="infer", confidence=0.9)
    assert (answer["accepted"], answer["duplicates"], answer["events"]) == (0, 1, [])
    assert len(ledger.events()) == 1


def test_the_same_content_under_the_same_id_is_one_belief_with_more_evidence(
    ledger: LedgerClient,
) -> None:
    ledger.write("b1", evidence=["e1"], worker="day", turn_id="t1")
    answer = ledger.write("b1", evidence=["e1", {"id": "e2"}], worker="night", turn_id="t2")
    assert answer["accepted"] == 1
    belief = ledger.belief("b1")
    assert belief["evidence"] == ["e1", {"id": "e2"}]
    assert belief["justifications"] == [["e1"], ["e1", "e2"]]
    assert (belief["writer"], belief["turn_id"]) == ("day", "t1")
    first, second = ledger.read("b1")["events"]
    assert (second["worker"], second["turn_id"]) == ("night", "t2")
    assert second["flags"] == []
    assert second["detail"]["adds_evidence"] is True
    assert first["event_id"] != second["event_id"]
    assert {v["content"] for v in ledger.read("b1")["versions"]} == {"what b1 says"}
    refused = ledger.write("b1", "guess", evidence=["e3"], status=409)
    assert refused["rule"] == "already_held"


def test_evidence_that_arrives_before_the_belief_is_folded_where_it_belongs(
    ledger: LedgerClient,
) -> None:
    created = a_belief("b1", detail={"evidence": ["e1"], "justifications": [["e1"]]})
    more = a_belief(
        "b1", detail={"evidence": ["e2"], "justifications": [["e2"]], "adds_evidence": True}
    )
    post(ledger.database, [more])
    post(ledger.database, [created])
    assert ledger.belief("b1")["evidence"] == ["e1", "e2"]
    assert ledger.belief("b1")["justifications"] == [["e1"], ["e2"]]


def test_an_array_keeps_the_provenance_of_each_item(ledger: LedgerClient) -> None:
    batch: list[dict[str, Any]] = [
        {"agent_id": AGENT, "belief_id": f"b{n}", "label": "know", "content": str(n),
         "worker": f"w{n}", "session_id": f"s{n}", "turn_id": f"t{n}", "evidence": [f"e{n}"],
         "ts": f"2026-10-03T11:00:0{n}Z"}
        for n in range(3)
    ]  # fmt: skip
    batch.append({"agent_id": AGENT, "belief_id": "b3", "label": "infer", "content": "3",
                  "justifications": [["b0"], ["b1", "b2"]]})  # fmt: skip
    answer = ledger.call("", batch)
    assert answer["accepted"] == 4
    for n in range(3):
        belief = ledger.belief(f"b{n}")
        told = [belief[name] for name in ("writer", "session_id", "turn_id", "evidence")]
        assert told == [f"w{n}", f"s{n}", f"t{n}", [f"e{n}"]]
        assert belief["created_at"] == f"2026-10-03T11:00:0{n}.000000Z"
    assert ledger.read("b3")["intact_justifications"] == [["b0"], ["b1", "b2"]]
    assert [one["belief_id"] for one in ledger.read("b2")["supports"]] == ["b3"]


RETRIED: list[tuple[str, dict[str, Any]]] = [
    ("", {"belief_id": "new", "label": "infer", "content": "x", "evidence": ["e1"]}),
    ("", {"event_id": "my event", "label": "infer", "content": "x"}),
    ("", {"ts": "2026-10-03T11:59:00Z", "label": "infer", "content": "x"}),
    ("/a/relabel", {"event_id": "my event", "label": "guess", "justifications": [["c"]]}),
    ("/a/relabel", {"ts": "2026-10-03T12:00:00Z", "label": "guess"}),
    ("/a/challenge", {"event_id": "my event", "by": "tool_result"}),
    ("/a/supersede", {"belief_id": "new", "label": "infer", "content": "x"}),
    ("/a/supersede", {"event_id": "my event", "label": "infer", "content": "x"}),
    ("/a/supersede", {"event_id": "my event", "successor": "c"}),
]


def test_a_call_with_an_id_or_a_time_may_be_sent_again(ledger: LedgerClient) -> None:
    for number, (path, body) in enumerate(RETRIED):
        sent = {"agent_id": f"agent{number}", "worker": "day", **body}
        for name, sets in (("a", None), ("c", None), ("d", [["a"]])):
            ledger.write(name, agent_id=sent["agent_id"], justifications=sets)
        first = ledger.call(path, sent)
        count = len(ledger.events())
        again = ledger.call(path, sent)
        assert (first["accepted"], again["accepted"], again["duplicates"]) == (1, 0, 1), sent
        assert again["beliefs"] == first["beliefs"]
        assert len(ledger.events()) == count
        if "event_id" in sent:
            answer = ledger.call(path, sent | {"worker": "night"}, 409)
            assert answer["rule"] == "id_taken"


def test_without_an_id_and_a_time_each_call_is_new(ledger: LedgerClient) -> None:
    sent = {"agent_id": AGENT, "label": "infer", "content": "x"}
    ids = {ledger.call("", sent)["beliefs"][0]["belief_id"] for _ in range(2)}
    assert len(ids) == 2


def test_under_a_key_of_idempotency_a_call_is_made_once(ledger: LedgerClient) -> None:
    sent = {"agent_id": AGENT, "label": "infer", "content": "x"}
    first = ledger.call("", sent, key="k1")
    name = first["beliefs"][0]["belief_id"]
    ledger.move(name, "relabel", label="guess")
    assert ledger.call("", sent, key="k1") == first
    assert ledger.call("", sent | {"content": "y"}, 409, key="k1")["errors"][0]["pointer"] == (
        "/header/idempotency-key"
    )
    refused = ledger.call(f"/{name}/relabel", {"agent_id": AGENT, "label": "know"}, 409, key="k2")
    again = ledger.http.post(
        f"/v1/beliefs/{name}/relabel", json={"agent_id": AGENT, "label": "know"},
        headers={"Idempotency-Key": "k2"},
    )  # fmt: skip
    assert (again.status_code, again.json()) == (409, refused)
    assert again.headers["content-type"] == "application/problem+json"
    assert len(ledger.refusals()) == 1


def test_what_rested_on_a_superseded_belief_alone_is_weakened_and_queued(
    ledger: LedgerClient,
) -> None:
    ledger.write("a")
    ledger.write("other")
    ledger.write("alone", justifications=[["a"]])
    ledger.write("both", justifications=[["a"], ["other"]])
    ledger.write("needs both", justifications=[["a", "other"]])
    ledger.write("guessed", "guess", justifications=[["a"]])
    ledger.write("second", justifications=[["alone"]])
    ledger.write("mixed", justifications=[["alone", "e1"], ["needs both"]], evidence=["e1"])
    answer = ledger.supersede("a", "b")
    assert [one["belief_id"] for one in answer["weakened"]] == [
        "alone", "guessed", "needs both", "mixed", "second",
    ]  # fmt: skip
    labels = {name: ledger.belief(name)["label"] for name in ("alone", "guessed", "mixed", "both")}
    assert labels == {"alone": "suspect", "guessed": "guess", "mixed": "suspect", "both": "infer"}
    assert ledger.read("both")["intact_justifications"] == [["other"]]
    queue = ledger.http.get("/v1/beliefs", params={"needs_rederivation": True}).json()["items"]
    assert {one["belief_id"] for one in queue} == {
        "alone", "guessed", "needs both", "second", "mixed",
    }  # fmt: skip
    causes = {n: d["cause"] for event, n, d in ledger.events() if event == "belief.invalidated"}
    assert causes == {
        "alone": "a", "guessed": "a", "needs both": "a", "second": "alone", "mixed": "alone",
    }  # fmt: skip
    rest = ledger.http.get("/v1/beliefs", params={"needs_rederivation": False}).json()["items"]
    assert {one["belief_id"] for one in rest} == {"a", "b", "both", "other"}


def test_a_belief_that_lost_one_justification_falls_with_the_other(ledger: LedgerClient) -> None:
    for name in ("x", "y"):
        ledger.write(name)
    ledger.write("d", justifications=[["x"], ["y"]])
    assert ledger.supersede("x", "x2")["weakened"] == []
    assert ledger.belief("d")["needs_rederivation"] is False
    assert [one["belief_id"] for one in ledger.supersede("y", "y2")["weakened"]] == ["d"]


def test_a_weakened_belief_is_strengthened_and_leaves_the_queue_on_a_new_ground(
    ledger: LedgerClient,
) -> None:
    ledger.write("a")
    ledger.write("d", justifications=[["a"]])
    ledger.supersede("a", "b")
    answer = ledger.move("d", "relabel", label="infer", status=409)
    assert answer["rule"] == "weakest_label"
    ledger.move("d", "relabel", label="infer", justifications=[["b"]])
    belief = ledger.belief("d")
    assert (belief["label"], belief["needs_rederivation"]) == ("infer", False)
    assert ledger.read("d")["intact_justifications"] == [["b"]]
    assert [one["belief_id"] for one in ledger.supersede("b", "c")["weakened"]] == ["d"]


def test_weakening_stops_at_its_depth_and_lists_what_it_spared(ledger: LedgerClient) -> None:
    ledger.write("d0")
    for n in range(1, 6):
        ledger.write(f"d{n}", justifications=[[f"d{n - 1}"]])
    answer = ledger.supersede("d0", "new")
    assert [one["belief_id"] for one in answer["weakened"]] == ["d1", "d2", "d3"]
    assert ledger.belief("d4")["label"] == "infer"
    details = {n: d for event, n, d in ledger.events() if event == "belief.invalidated"}
    assert "cut" not in details["d2"]
    assert details["d3"] == {
        "cause": "d2",
        "cut": {"cap": "depth", "beliefs": ["d4"], "count": 1},
    }


def test_weakening_stops_at_its_fan_out_and_lists_what_it_spared(
    ledger: LedgerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (weakening.MAX_DEPTH, weakening.MAX_FAN_OUT) == (3, 50)
    ledger.write("a")
    batch = [
        {"agent_id": AGENT, "belief_id": f"d{n:02}", "label": "infer", "content": str(n),
         "justifications": [["a"]]}
        for n in range(53)
    ]  # fmt: skip
    ledger.call("", batch)
    answer = ledger.supersede("a", "b")
    assert [one["belief_id"] for one in answer["weakened"]] == [f"d{n:02}" for n in range(50)]
    (detail,) = [d for event, _, d in ledger.events() if event == "belief.superseded"]
    assert detail == {
        "superseded_by": "b",
        "cut": {"cap": "fan_out", "beliefs": ["d50", "d51", "d52"], "count": 3},
    }
    assert ledger.belief("d50")["label"] == "infer"


def test_the_death_of_half_a_call_leaves_neither_half(
    ledger: LedgerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.write("a")
    fired = []

    def fail(*_: object) -> None:
        fired.append(1)
        raise RuntimeError("between the halves")

    with monkeypatch.context() as patched:
        patched.setattr("service.beliefs.operations.beliefs_called", fail)
        ledger.supersede("a", "b", status=500)
    assert fired
    # The server closes a connection after a surprise.
    with httpx.Client(base_url=ledger.http.base_url, trust_env=False) as client:
        later = LedgerClient(client, ledger.database)
        assert later.belief("a")["status"] == "active"
        assert len(later.events()) == 1
        later.supersede("a", "b")


def test_ids_of_any_printable_characters_can_be_moved(ledger: LedgerClient) -> None:
    for name in ("a/b", "é 😀", "100%", "a?b#c", "relabel", "x/relabel", "supersede/relabel"):
        ledger.write(name, content=name)
        ledger.move(name, "relabel", label="guess")
        ledger.move(name, "challenge", by="scan")
        assert (ledger.belief(name)["label"], ledger.belief(name)["challenges"]) == ("guess", 1)


def test_long_ids_can_rest_on_one_another_on_both_databases(ledger: LedgerClient) -> None:
    one, two = "😀" * 256, "\N{GRINNING FACE WITH SMILING EYES}" * 256
    ledger.write(one)
    ledger.write(two, justifications=[[one]])
    assert [b["belief_id"] for b in ledger.read(two)["rests_on"]] == [one]


def test_a_key_that_writes_sees_nothing_of_what_stands_in_the_audit_log(
    ledger: LedgerClient,
) -> None:
    from service.events.vocabulary import Log

    hidden = a_belief("h", log=Log.AUDIT)
    post(ledger.database, [a_belief("b1"), hidden])
    operate = a_key(ledger.http, "operate")
    writing = a_key(ledger.http, "write", AGENT, **operate)
    body = {"agent_id": AGENT, "label": "guess"}
    moved = ledger.http.post("/v1/beliefs/h/relabel", json=body, headers=writing)
    assert moved.status_code == 404
    taken = {"belief_id": "h", "content": "x", **body}
    answer = ledger.http.post("/v1/beliefs", json=taken, headers=writing)
    assert (answer.status_code, answer.json()["rule"]) == (409, "id_taken")


def test_a_reported_ledger_can_go_on_as_an_owned_one(ledger: LedgerClient) -> None:
    post(
        ledger.database,
        [
            a_belief("a"),
            a_belief("d", detail={"justifications": "a"}),
            a_belief("flat", detail={"justifications": ["a", "b"]}),
            an_event("belief.challenged", belief_id="a", detail={"by": "x"}),
        ],
    )
    answer = ledger.supersede("a", "c")
    assert [one["belief_id"] for one in answer["weakened"]] == ["d", "flat"]
