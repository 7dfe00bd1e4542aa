"""The rules of the owned ledger: each refusal names its rule and is recorded."""

from typing import Any

import httpx
import pytest

from service.beliefs.rules import Rule
from tests.processes import ROOT
from tests.service.beliefs.conftest import LedgerClient
from tests.service.factories import AGENT, a_belief, a_key, an_event, post

TURN: dict[str, Any] = {
    "agent_id": AGENT,
    "session_id": "s1",
    "turn_id": "t1",
    "tool_calls": [{"name": "df", "arguments": {}, "result": "97%"}],
}


def refused(ledger: LedgerClient, answer: Any, rule: Rule, belief_id: str) -> Any:
    """Checks that a problem names the rule and that the audit log has it last."""
    assert answer["rule"] == rule
    assert f"rule {rule}" in answer["errors"][0]["reason"]
    assert ledger.refusals()[-1] == (rule, belief_id)
    return answer


def test_a_belief_without_a_label_is_refused_and_there_is_no_default(ledger: LedgerClient) -> None:
    answer = ledger.write("b1", None, status=422)
    refused(ledger, answer, Rule.UNLABELLED, "b1")
    assert answer["errors"][0]["pointer"] == "/label"
    assert ledger.events() == []
    ledger.write("b1")
    refused(ledger, ledger.move("b1", "relabel", status=422), Rule.UNLABELLED, "b1")
    refused(ledger, ledger.supersede("b1", "b2", label=None, status=422), Rule.UNLABELLED, "b1")


def test_content_never_changes(ledger: LedgerClient) -> None:
    ledger.write("b1", content="the 15th")
    answer = ledger.write("b1", content="the 16th", status=409)
    refused(ledger, answer, Rule.CONTENT_CHANGE, "b1")
    ledger.write("b9")
    answer = ledger.supersede("b9", "b1", content="the 17th", status=409)
    refused(ledger, answer, Rule.CONTENT_CHANGE, "b9")
    assert ledger.belief("b1")["content"] == "the 15th"
    assert len(ledger.read("b1")["versions"]) == 1


PROMOTIONS = [(b, a) for b in ("infer", "suspect", "guess") for a in ("remember", "know")]


def test_an_inference_becomes_fact_by_a_recorded_know_alone(ledger: LedgerClient) -> None:
    ledger.http.post("/v1/turns", json=TURN).raise_for_status()
    ledger.write("weak", "remember")
    ledger.write("seen", "know")
    for before, after in PROMOTIONS:
        name = f"{before} to {after}"
        ledger.write(name, before)
        for sources in (None, [], ["unheard of"], ["weak"]):
            answer = ledger.move(name, "relabel", label=after, sources=sources, status=409)
            refused(ledger, answer, Rule.LAUNDERING, name)
        for call in ({"turn_id": "t1", "tool_call": 1}, {"turn_id": "t2", "tool_call": 0}):
            answer = ledger.move(name, "relabel", label=after, sources=[call], status=409)
            refused(ledger, answer, Rule.UNKNOWN_SUPPORT, name)
        assert ledger.belief(name)["label"] == before
        ledger.move(name, "relabel", label=after, sources=["seen"])
        assert ledger.belief(name)["label"] == after


def test_a_tool_call_of_a_stored_turn_is_a_know(ledger: LedgerClient) -> None:
    ledger.http.post("/v1/turns", json=TURN).raise_for_status()
    ledger.write("b1", "guess")
    call = {"turn_id": "t1", "tool_call": 0}
    ledger.move("b1", "relabel", label="know", sources=[call])
    assert ledger.belief("b1")["label"] == "know"
    assert ledger.read("b1")["intact_justifications"] == [["t1#0"]]


def test_a_know_that_was_given_up_or_rests_on_the_belief_makes_no_fact(
    ledger: LedgerClient,
) -> None:
    ledger.write("b1")
    ledger.write("old", "know")
    ledger.supersede("old", "new", label="remember")
    answer = ledger.move("b1", "relabel", label="know", sources=["old"], status=409)
    refused(ledger, answer, Rule.SUPERSEDED, "b1")
    # Reported: the ledger itself would not have let it be.
    post(ledger.database, [a_belief("k", "know", detail={"justifications": [["b1"]]})])
    answer = ledger.move("b1", "relabel", label="know", sources=["k"], status=409)
    refused(ledger, answer, Rule.CIRCULAR_JUSTIFICATION, "b1")


def test_the_same_words_under_a_new_id_are_a_relabel_by_another_name(ledger: LedgerClient) -> None:
    ledger.write("b1", content="the disk is full")
    ledger.write("seen", "know")
    same = {"label": "know", "content": "The disk  is full"}
    answer = ledger.supersede("b1", "b2", **same, status=409)
    refused(ledger, answer, Rule.LAUNDERING, "b1")
    ledger.supersede("b1", "b2", **same, sources=["seen"])
    assert ledger.belief("b2")["label"] == "know"


def test_a_successor_that_there_is_launders_no_more_than_a_new_one(ledger: LedgerClient) -> None:
    ledger.http.post("/v1/turns", json=TURN).raise_for_status()
    ledger.write("seen", "know")
    call = {"turn_id": "t1", "tool_call": 0}
    for before, after in PROMOTIONS:
        name = f"{before} {after}"
        words = {"content": f"The disk of {name} is full"}
        ledger.write(name, before, **words)
        ledger.write(f"{name} none", after, evidence=["e1"], **words)
        answer = ledger.move(name, "supersede", successor=f"{name} none", status=409)
        refused(ledger, answer, Rule.LAUNDERING, name)
        for by, source in (("know", "seen"), ("call", call)):
            same = {"content": f"The disk of {name} is full, says {by}"}
            ledger.write(f"{name} b {by}", before, **same, evidence=["e2"])
            ledger.write(f"{name} {by}", after, **same, evidence=["e3"], sources=[source])
            ledger.move(f"{name} b {by}", "supersede", successor=f"{name} {by}")


def test_a_chain_of_successors_launders_at_none_of_its_hops(ledger: LedgerClient) -> None:
    for name, label in (("a", "guess"), ("b", "infer"), ("c", "know")):
        ledger.write(name, label, content="The disk is full", evidence=[f"e-{name}"])
    ledger.move("a", "supersede", successor="b")
    answer = ledger.move("b", "supersede", successor="c", status=409)
    refused(ledger, answer, Rule.LAUNDERING, "b")


STRENGTHS: list[tuple[str, list[list[str]], int]] = [
    ("infer", [["i"]], 200),
    ("know", [["i"]], 409),
    ("infer", [["i", "s"]], 409),
    ("suspect", [["i", "s"]], 200),
    ("infer", [["s"], ["i"]], 200),
    ("remember", [["s"], ["i"]], 409),
    ("know", [["s"], ["e1"]], 200),
    ("infer", [["s", "e1"]], 409),
    ("guess", [["k"]], 200),
]


def test_a_belief_is_no_stronger_than_the_weakest_of_its_strongest_justification(
    ledger: LedgerClient,
) -> None:
    for name, label in (("k", "know"), ("i", "infer"), ("s", "suspect")):
        ledger.write(name, label)
    for number, (label, sets, status) in enumerate(STRENGTHS):
        fields: dict[str, Any] = {"justifications": sets, "evidence": ["e1"], "status": status}
        answer = ledger.write(f"b{number}", label, **fields)
        if status == 409:
            refused(ledger, answer, Rule.WEAKEST_LABEL, f"b{number}")


def test_a_summary_over_a_suspect_and_an_infer_is_a_suspect(ledger: LedgerClient) -> None:
    ledger.write("i", "infer")
    ledger.write("s", "suspect")
    body: dict[str, Any] = {"summarises": ["i", "s"]}
    refused(ledger, ledger.write("x", "infer", **body, status=409), Rule.WEAKEST_LABEL, "x")
    refused(ledger, ledger.write("x", None, **body, status=422), Rule.UNLABELLED, "x")
    answer = ledger.write("x", "suspect", **body)
    assert [event["event"] for event in answer["events"]] == ["belief.created", "summary.written"]
    written = [detail for event, _, detail in ledger.events() if event == "summary.written"]
    assert written == [{"labels_in": {"infer": 1, "suspect": 1}, "labels_out": {"suspect": 1}}]
    assert [one["belief_id"] for one in ledger.read("x")["rests_on"]] == ["i", "s"]


def test_a_relabel_is_no_stronger_than_what_the_belief_rests_on(ledger: LedgerClient) -> None:
    ledger.write("s", "suspect")
    ledger.write("b1", "guess", justifications=[["s"]])
    answer = ledger.move("b1", "relabel", label="infer", status=409)
    refused(ledger, answer, Rule.WEAKEST_LABEL, "b1")
    ledger.move("b1", "relabel", label="suspect")
    ledger.write("i", "infer")
    ledger.move("b1", "relabel", label="infer", justifications=[["i"]])
    assert ledger.belief("b1")["justifications"] == [["s"], ["i"]]


def test_a_justification_that_leads_back_is_refused(ledger: LedgerClient) -> None:
    answer = ledger.write("b1", justifications=[["b1"]], evidence=["b1"], status=409)
    refused(ledger, answer, Rule.CIRCULAR_JUSTIFICATION, "b1")
    ledger.write("b1", content="the disk is full")
    ledger.write("copy", content="the disk is full", justifications=[["b1"]])
    ledger.write("far", justifications=[["copy"]])
    same: dict[str, Any] = {"content": "the disk is full", "status": 409}
    answer = ledger.write("b1", justifications=[["far"]], **same)
    refused(ledger, answer, Rule.CIRCULAR_JUSTIFICATION, "b1")
    answer = ledger.move("b1", "relabel", label="infer", justifications=[["copy"]], status=409)
    refused(ledger, answer, Rule.CIRCULAR_JUSTIFICATION, "b1")
    # No gain from a copy of itself either.
    answer = ledger.write("strong", "know", justifications=[["b1"]], **same)
    refused(ledger, answer, Rule.WEAKEST_LABEL, "strong")


def test_a_justification_that_waited_for_its_belief_is_followed_too(ledger: LedgerClient) -> None:
    post(ledger.database, [a_belief("b2", detail={"justifications": [["b1"]]})])
    answer = ledger.write("b1", justifications=[["b2"]], status=409)
    refused(ledger, answer, Rule.CIRCULAR_JUSTIFICATION, "b1")


def test_what_a_belief_rests_on_is_known_and_stands(ledger: LedgerClient) -> None:
    answer = ledger.write("b1", justifications=[["nothing"]], status=409)
    refused(ledger, answer, Rule.UNKNOWN_SUPPORT, "b1")
    ledger.write("old")
    ledger.supersede("old", "new")
    answer = ledger.write("b1", justifications=[["old"]], status=409)
    assert refused(ledger, answer, Rule.SUPERSEDED, "b1")["head"] == "new"


def test_a_belief_neither_replaces_itself_nor_what_replaced_it(ledger: LedgerClient) -> None:
    ledger.write("a", content="a")
    answer = ledger.supersede("a", "a", content="a", status=409)
    refused(ledger, answer, Rule.CIRCULAR_SUPERSESSION, "a")
    ledger.supersede("a", "b", content="b")
    for fields in ({"belief_id": "a", "content": "a", "label": "infer"}, {"successor": "a"}):
        answer = ledger.move("b", "supersede", **fields, status=409)
        assert refused(ledger, answer, Rule.CIRCULAR_SUPERSESSION, "b")["head"] == "b"
    answer = ledger.move("b", "supersede", successor="b", status=409)
    refused(ledger, answer, Rule.CIRCULAR_SUPERSESSION, "b")


def test_nothing_moves_a_superseded_belief_and_the_head_is_named(ledger: LedgerClient) -> None:
    ledger.write("a")
    ledger.supersede("a", "b")
    ledger.supersede("b", "c")
    for answer in (
        ledger.supersede("a", "d", status=409),
        ledger.move("a", "relabel", label="guess", status=409),
        ledger.write("a", content="what a says", evidence=["new"], status=409),
    ):
        named = refused(ledger, answer, Rule.SUPERSEDED, "a")
        assert (named["head"], named["version"]) == ("c", ledger.belief("a")["version"])


def test_finding_the_head_ends_in_a_reported_circle(ledger: LedgerClient) -> None:
    post(
        ledger.database,
        [
            a_belief("a"),
            a_belief("b"),
            an_event("belief.superseded", belief_id="a", detail={"superseded_by": "b"}),
            an_event("belief.superseded", belief_id="b", detail={"superseded_by": "a"}),
        ],
    )
    answer = ledger.supersede("a", "c", status=409)
    assert "head" not in refused(ledger, answer, Rule.SUPERSEDED, "a")
    assert "circle" in answer["detail"]


def test_a_retracted_fact_is_held_again_on_new_evidence_alone(ledger: LedgerClient) -> None:
    fact: dict[str, Any] = {"content": "the disk is full"}
    ledger.write("a", **fact, evidence=["e1", {"id": "e2", "channel": "tool"}])
    ledger.supersede("a", "b", content="the disk is empty", evidence=["e3"])
    for evidence in ([], ["e1"], ["e2", "e1"]):
        answer = ledger.write("again", **fact, evidence=evidence, status=409)
        assert refused(ledger, answer, Rule.NOT_CURRENT, "again")["head"] == "b"
        answer = ledger.supersede("b", "again", **fact, evidence=evidence, status=409)
        refused(ledger, answer, Rule.NOT_CURRENT, "b")
    ledger.supersede("b", "again", **fact, evidence=["e1", "e4"])
    assert ledger.belief("again")["status"] == "active"
    ledger.write("other", content="the disk is not full", evidence=["e1"])


def test_history_does_not_beat_newer_truth(ledger: LedgerClient) -> None:
    ledger.write("a", valid_from="2026-10-01T00:00:00Z")
    for times in (
        {"valid_from": "2026-09-01T00:00:00Z"},
        {"valid_from": "2026-10-01T01:00:00+02:00"},
        {"valid_until": "2026-10-01T00:00:00Z"},
    ):
        answer = ledger.supersede("a", "b", **times, status=409)
        refused(ledger, answer, Rule.BACK_FILLED, "a")
    ledger.write("b", valid_from="2026-09-01T00:00:00Z", valid_until="2026-09-02T00:00:00Z")
    answer = ledger.move("a", "supersede", successor="b", status=409)
    refused(ledger, answer, Rule.BACK_FILLED, "a")
    assert ledger.belief("a")["status"] == ledger.belief("b")["status"] == "active"
    assert ledger.belief("b")["valid_from"] == "2026-09-01T00:00:00.000000Z"
    ledger.supersede("a", "c", valid_from="2026-10-02T00:00:00Z")


@pytest.mark.parametrize("times", [{}, {"valid_from": "2026-10-01T00:00:00Z"}])
def test_of_two_that_contradict_each_other_at_one_time_none_is_retired(
    ledger: LedgerClient, times: dict[str, str]
) -> None:
    ledger.write("a", content="it is allowed", **times)
    ledger.write("b", content="it is not allowed", **times)
    assert [ledger.belief(name)["status"] for name in "ab"] == ["active", "active"]
    assert ledger.belief("a")["valid_from"] == ("2026-10-01T00:00:00.000000Z" if times else None)


def test_a_stale_read_is_refused_with_the_current_version(ledger: LedgerClient) -> None:
    ledger.write("a")
    ledger.write("b")
    read = {name: ledger.belief(name)["version"] for name in "ab"}
    ledger.move("b", "challenge", by="tool_result")
    current = ledger.belief("b")["version"]
    assert current != read["b"]
    for name, fields in (
        ("relabel", {"label": "guess"}),
        ("supersede", {"label": "infer", "content": "x"}),
        ("challenge", {"by": "scan"}),
    ):
        answer = ledger.move("b", name, **fields, expected_version=read["b"], status=409)
        assert refused(ledger, answer, Rule.STALE_VERSION, "b")["version"] == current
    body: dict[str, Any] = {"summarises": ["a", "b"]}
    answer = ledger.write("sum", **body, expected_versions=read, status=409)
    assert refused(ledger, answer, Rule.STALE_VERSION, "sum")["belief_id"] == "b"
    ledger.write("sum", **body, expected_versions=read | {"b": current})
    ledger.move("b", "relabel", label="guess", expected_version=current)


def test_an_event_that_arrives_late_makes_a_read_stale_too(ledger: LedgerClient) -> None:
    early = an_event("belief.relabelled", belief_id="a", label_to="guess")
    post(ledger.database, [a_belief("a", ts=early.ts - 1)])
    post(ledger.database, [an_event("belief.challenged", belief_id="a", detail={"by": "x"})])
    version = ledger.belief("a")["version"]
    post(ledger.database, [early])
    answer = ledger.move("a", "challenge", by="y", expected_version=version, status=409)
    refused(ledger, answer, Rule.STALE_VERSION, "a")


def test_a_move_dated_before_the_last_one_is_refused(ledger: LedgerClient) -> None:
    ledger.write("a", ts="2026-10-03T11:00:00Z")
    ledger.move("a", "relabel", label="guess", ts="2026-10-03T11:30:00Z")
    answer = ledger.move("a", "relabel", label="infer", ts="2026-10-03T11:15:00Z", status=409)
    refused(ledger, answer, Rule.BACK_DATED, "a")


def test_a_move_follows_what_a_faster_clock_reported(ledger: LedgerClient) -> None:
    ahead = a_belief("a", ts=a_belief("x").ts + 10**9)
    post(ledger.database, [ahead])
    ledger.move("a", "relabel", label="guess")
    ledger.supersede("a", "b")
    assert (ledger.belief("a")["label"], ledger.belief("a")["superseded_by"]) == ("guess", "b")


def test_a_refused_array_stores_nothing_and_names_every_item(ledger: LedgerClient) -> None:
    def item(name: str, **fields: Any) -> dict[str, Any]:
        return {"agent_id": AGENT, "belief_id": name, "content": name, "label": "infer"} | fields

    batch = [
        item("a"),
        item("b", label=None),
        item("c", justifications=[["b"]]),
        item("d", justifications=[["a"]], label="know"),
        item("e", confidence=2),
        item("f", label="certain"),
        item("g", content=None),
    ]
    answer = ledger.call("", batch, 422)
    pointers = [error["pointer"] for error in answer["errors"]]
    assert pointers == ["/4/confidence", "/5/label", "/6/content", "/1/label", "/3/label"]
    assert [(one["index"], one["rule"]) for one in answer["refusals"]] == [
        (1, Rule.UNLABELLED),
        (3, Rule.WEAKEST_LABEL),
    ]
    assert ledger.refusals() == [(Rule.UNLABELLED, "b"), (Rule.WEAKEST_LABEL, "d")]
    assert ledger.events() == []


def test_a_refusal_tells_what_was_attempted(ledger: LedgerClient) -> None:
    ledger.write("b1", content="it is so", confidence=0.9, session_id="s1", turn_id="t1")
    ledger.write("b1", content="x" * 5_000, session_id="s1", turn_id="t2", status=409)
    ((event, name, detail),) = ledger.events("audit")
    assert (event, name) == ("ledger.refused", "b1")
    assert (detail["attempted"], detail["label"]) == ("create", "infer")
    assert detail["content"] == "x" * 200


def test_an_agent_does_not_see_that_its_refusals_are_kept(ledger: LedgerClient) -> None:
    ledger.write("b1")
    ledger.move("b1", "relabel", label="know", status=409)
    operate = a_key(ledger.http, "operate")
    writing = a_key(ledger.http, "write", AGENT, **operate)
    mine = ledger.http.get("/v1/beliefs/b1", headers=writing).json()
    assert [event["event"] for event in mine["events"]] == ["belief.created"]
    whole = ledger.http.get("/v1/beliefs/b1", headers=operate).json()
    assert [event["event"] for event in whole["events"]] == ["belief.created", "ledger.refused"]


MALFORMED: list[tuple[str, Any, str]] = [
    ("", {"content": ""}, "/content"),
    ("", {"label": "certain"}, "/label"),
    ("", {"confidence": 1.5}, "/confidence"),
    ("", {"justifications": [[]]}, "/justifications/0"),
    ("", {"justifications": [["a", ""]]}, "/justifications/0/1"),
    ("", {"justifications": [["\u0000"]]}, "/justifications/0/0"),
    ("", {"summarises": []}, "/summarises"),
    ("", {"summarises": ["a"], "justifications": [["a"]]}, "/summarises"),
    ("", {"evidence": [{"channel": "tool"}]}, "/evidence/0/id"),
    ("", {"sources": [{"id": "a", "label": "know"}]}, "/sources/0"),
    ("", {"sources": [{"turn_id": "t", "tool_call": -1}]}, "/sources/0"),
    ("", {"valid_from": "2026-10-01T00:00:00"}, "/valid_from"),
    ("", {"valid_from": "2026-10-02T00:00:00Z", "valid_until": "2026-10-01T00:00:00Z"},
     "/valid_until"),
    ("", {"detail": {"content": "x"}}, "/detail/content"),
    ("", {"detail": {"adds_evidence": True}}, "/detail/adds_evidence"),
    ("", {"belief_id": "a\u0000"}, "/belief_id"),
    ("", {"nonsense": 1}, "/nonsense"),
    ("/b1/supersede", {"successor": "b2"}, "/label"),
    ("/b1/challenge", {}, "/by"),
    ("/b1/relabel", {"label": "guess", "sources": [{"nothing": 1}]}, "/sources/0"),
]  # fmt: skip


def test_what_is_malformed_is_named_by_its_place_and_is_no_refusal(ledger: LedgerClient) -> None:
    ledger.write("b1")
    for path, fields, pointer in MALFORMED:
        base: dict[str, Any] = {"agent_id": AGENT}
        if path in ("", "/b1/supersede"):
            base |= {"content": "x", "label": "infer"}
        answer = ledger.call(path, base | fields, 422)
        assert pointer in [error["pointer"] for error in answer["errors"]], (fields, answer)
    for body in ([{"by": "x"}], "x", 1, None):
        assert ledger.http.post("/v1/beliefs/b1/challenge", json=body).status_code == 422
    assert ledger.refusals() == []


def test_a_move_of_what_is_not_there_is_404_and_registers_nobody(ledger: LedgerClient) -> None:
    ledger.write("b1")
    for name, fields in (
        ("relabel", {"label": "guess"}),
        ("supersede", {"label": "infer", "content": "x"}),
        ("challenge", {"by": "scan"}),
    ):
        assert ledger.move("none", name, **fields, status=404)
        assert ledger.call(f"/b1/{name}", {"agent_id": "nobody", **fields}, 404)
    agents = ledger.http.get("/v1/agents").json()["items"]
    assert [agent["agent_id"] for agent in agents] == [AGENT]


def test_who_may_move_the_ledger(ledger: LedgerClient) -> None:
    ledger.write("b1")
    operate = a_key(ledger.http, "operate")
    keys = {
        "operate": operate,
        "read": a_key(ledger.http, "read", **operate),
        "audit": a_key(ledger.http, "audit", **operate),
        "own": a_key(ledger.http, "write", AGENT, **operate),
        "other": a_key(ledger.http, "write", "other", **operate),
    }
    allowed = {
        "": {"own"},
        "/b1/supersede": {"own"},
        "/b1/relabel": {"own", "operate"},
        "/b1/challenge": {"own", "operate"},
    }

    def answer(path: str, **auth: str) -> httpx.Response:
        body: dict[str, Any] = {"agent_id": AGENT}
        if path.endswith("challenge"):
            body |= {"by": "scan"}
        elif path.endswith("relabel"):
            body |= {"label": "guess"}
        else:
            body |= {"label": "guess", "content": "x", "evidence": [f"e{path}"]}
        return ledger.http.post(f"/v1/beliefs{path}", json=body, headers=auth)

    for path in ("", "/b1/relabel", "/b1/challenge", "/b1/supersede"):
        assert answer(path).status_code == 401
        for name, auth in keys.items():
            expected = 200 if name in allowed[path] else 403
            assert answer(path, **auth).status_code == expected, (path, name)
    challenges = [e for e in ledger.events("audit") if e[0] == "belief.challenged"]
    assert len(challenges) == 1
    correction = {"agent_id": AGENT, "by": "operator_correction"}
    for name, status in (("own", 403), ("operate", 200)):
        told = ledger.http.post("/v1/beliefs/b1/challenge", json=correction, headers=keys[name])
        assert told.status_code == status


def test_every_rule_is_explained() -> None:
    text = (ROOT / "docs" / "concepts.md").read_text(encoding="utf-8")
    table = text.partition("<!-- rules -->\n")[2].partition("<!-- /rules -->")[0]
    explained = [line.split("|")[1].strip() for line in table.splitlines()]
    assert explained == [f"`{rule}`" for rule in Rule]
