"""The ledger against a small model of it, by random calls: both databases answer as it says."""

import itertools
from dataclasses import dataclass, field
from typing import Any

import httpx
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from scoring.labels import INFERENTIAL, Label, is_stronger, weakest
from service.settings import Settings
from tests.service.factories import a_client

# Those there are from the start, and those that may come.
FIRST = [f"b{n}" for n in range(6)]
OLD = st.sampled_from(FIRST)
NAMES = OLD | st.sampled_from([f"n{n}" for n in range(8)])
LABELS = st.sampled_from([*Label, Label.GUESS, Label.SUSPECT])
EVIDENCE = st.lists(st.sampled_from(["e1", "e2", "e3"]), max_size=2, unique=True)
SETS = st.lists(st.lists(NAMES, min_size=1, max_size=2, unique=True), max_size=2)
# None is what the belief of this name says by itself.
CONTENTS = st.sampled_from([None, None, None, "what b0 says", "what b1 says"])


@dataclass
class Held:
    """A belief of the model."""

    content: str
    label: Label
    evidence: list[str]
    sets: list[list[str]]
    superseded_by: str | None = None
    queued: bool = False

    @property
    def fallen(self) -> bool:
        return self.superseded_by is not None or self.queued


@dataclass
class Model:
    """What the rules say, over a handful of beliefs."""

    held: dict[str, Held] = field(default_factory=dict)

    def unsupported(self, name: str, sets: list[list[str]], evidence: list[str]) -> str | None:
        members = sorted({one for names in sets for one in names})
        if any(one not in self.held and one not in evidence for one in members):
            return "unknown_support"
        if any(one in self.held and self.held[one].superseded_by for one in members):
            return "superseded"
        return "circular_justification" if self.leads(members, name) else None

    def leads(self, members: list[str], target: str) -> bool:
        seen: set[str] = set()
        waiting = list(members)
        while waiting:
            one = waiting.pop()
            if one == target:
                return True
            if one not in seen and one in self.held:
                seen.add(one)
                waiting += [m for names in self.held[one].sets for m in names]
        return False

    def bound(self, sets: list[list[str]]) -> Label | None:
        bounds = []
        for names in sets:
            labels = [self.held[one].label for one in names if one in self.held]
            if not labels:
                return None
            bounds.append(weakest(labels))
        return min(bounds, key=list(Label).index, default=None)

    def intact(self, sets: list[list[str]]) -> list[list[str]]:
        return [s for s in sets if not any(m in self.held and self.held[m].fallen for m in s)]

    def is_not_current(self, content: str, basis: set[str]) -> bool:
        old = [h for h in self.held.values() if h.superseded_by and h.content == content]
        before = {e for h in old for e in h.evidence} | {m for h in old for s in h.sets for m in s}
        return bool(old) and basis <= before

    def refusal_of_new(self, name: str, new: Held) -> str | None:
        if broken := self.unsupported(name, new.sets, new.evidence):
            return broken
        bound = self.bound(new.sets)
        if bound is not None and is_stronger(new.label, bound):
            return "weakest_label"
        basis = {*new.evidence, *(m for names in new.sets for m in names)}
        return "not_current" if self.is_not_current(new.content, basis) else None

    def weaken(self, cause: str) -> None:
        level = [cause]
        for _ in range(3):
            below = []
            for fallen in level:
                for name, one in sorted(self.held.items()):
                    rests = any(fallen in names for names in one.sets)
                    if rests and not one.fallen and not self.intact(one.sets):
                        one.queued = True
                        one.label = Label.GUESS if one.label is Label.GUESS else Label.SUSPECT
                        below.append(name)
            level = below

    def head(self, name: str) -> str:
        while (following := self.held[name].superseded_by) is not None:
            name = following
        return name


class LedgerMachine(RuleBasedStateMachine):
    """Random calls; the client is that of the database under test."""

    client: httpx.Client
    runs = 0

    def __init__(self) -> None:
        super().__init__()
        self.model = Model()
        # A ledger of its own for each example: databases are made once.
        type(self).runs += 1
        self.agent = f"agent-{self.runs}"

    def call(self, path: str, **body: Any) -> tuple[int, Any]:
        answer = self.client.post(f"/v1/beliefs{path}", json={"agent_id": self.agent, **body})
        return answer.status_code, answer.json()

    def expect(self, answer: tuple[int, Any], broken: str | None) -> bool:
        status, body = answer
        assert (status, body.get("rule")) == ((200, None) if broken is None else (409, broken)), (
            body
        )
        return broken is None

    @initialize()
    def begin(self) -> None:
        self.write("b0", Label.KNOW, None, ["e1"], [])
        for below, name in itertools.pairwise(FIRST):
            self.write(name, Label.INFER, None, [], [[below]])

    @rule(name=NAMES, label=LABELS, content=CONTENTS, evidence=EVIDENCE, sets=SETS)
    def write(
        self,
        name: str,
        label: Label,
        content: str | None,
        evidence: list[str],
        sets: list[list[str]],
    ) -> None:
        content = content or f"what {name} says"
        answer = self.call(
            "", belief_id=name, label=label, content=content, evidence=evidence,
            justifications=sets or None,
        )  # fmt: skip
        told = [list(names) for names in sets] or ([list(evidence)] if evidence else [])
        new = Held(content, label, list(evidence), told)
        old = self.model.held.get(name)
        if old is None:
            if self.expect(answer, self.model.refusal_of_new(name, new)):
                self.model.held[name] = new
            return
        if answer[1].get("duplicates") == 1:
            return
        self.expect(answer, self.refusal_of_more(name, old, new))
        if answer[0] == 200:
            old.evidence += [one for one in evidence if one not in old.evidence]
            known = [set(names) for names in old.sets]
            fresh = []
            for names in told:
                if set(names) not in known:
                    known.append(set(names))
                    fresh.append(names)
            old.sets += fresh
            old.queued = old.queued and not fresh

    def refusal_of_more(self, name: str, old: Held, new: Held) -> str | None:
        if old.superseded_by:
            return "superseded"
        if old.content != new.content:
            return "content_change"
        if old.label != new.label:
            return "already_held"
        return self.model.unsupported(name, new.sets, [*new.evidence, *old.evidence])

    @rule(name=OLD, by=NAMES, label=LABELS, content=CONTENTS, evidence=EVIDENCE)
    def supersede(
        self, name: str, by: str, label: Label, content: str | None, evidence: list[str]
    ) -> None:
        content = content or f"what {by} says"
        answer = self.call(
            f"/{name}/supersede", belief_id=by, label=label, content=content, evidence=evidence
        )
        if name not in self.model.held:
            assert answer[0] == 404
            return
        if answer[1].get("duplicates") == 1:
            assert self.model.held[name].superseded_by == by
            return
        new = Held(content, label, list(evidence), [list(evidence)] if evidence else [])
        broken = self.refusal_of_superseding(name, by, new)
        if self.expect(answer, broken):
            self.model.held[by] = new
            self.model.held[name].superseded_by = by
            self.model.weaken(name)
        elif broken == "superseded":
            stands = by if self.model.held[name].superseded_by is None else name
            assert answer[1]["head"] == self.model.head(stands)

    def refusal_of_superseding(self, name: str, by: str, new: Held) -> str | None:
        old, there = self.model.held[name], self.model.held.get(by)
        if name == by:
            return "circular_supersession"
        if old.superseded_by:
            return "superseded"
        if there is not None:
            if there.superseded_by:
                is_circle = self.model.head(by) == name
                return "circular_supersession" if is_circle else "superseded"
            return "already_held" if there.content == new.content else "content_change"
        is_promotion = old.label in INFERENTIAL and new.label in (Label.KNOW, Label.REMEMBER)
        if old.content == new.content and is_promotion:
            return "laundering"
        return self.model.refusal_of_new(by, new)

    @rule(name=NAMES, label=LABELS, source=st.none() | NAMES)
    def relabel(self, name: str, label: Label, source: str | None) -> None:
        sources = None if source is None else [source]
        answer = self.call(f"/{name}/relabel", label=label, sources=sources)
        old = self.model.held.get(name)
        if old is None:
            assert answer[0] == 404
            return
        added = [] if source is None or [source] in old.sets else [[source]]
        if not old.superseded_by and label == old.label and not added:
            assert answer[1]["duplicates"] == 1
            return
        if self.expect(answer, self.refusal_of_relabel(name, old, label, source)):
            old.label = label
            old.sets += added
            old.queued = old.queued and not added

    def refusal_of_relabel(
        self, name: str, old: Held, label: Label, source: str | None
    ) -> str | None:
        if old.superseded_by:
            return "superseded"
        added = [] if source is None else [[source]]
        if broken := self.model.unsupported(name, added, [source] if source else []):
            return broken
        if old.label in INFERENTIAL and label in (Label.KNOW, Label.REMEMBER):
            cited = self.model.held.get(source or "")
            if cited is None or cited.label is not Label.KNOW or cited.fallen:
                return "laundering"
        sets = old.sets + added
        intact = self.model.intact(sets)
        bound = Label.SUSPECT if sets and not intact else self.model.bound(intact)
        if is_stronger(label, old.label) and bound is not None and is_stronger(label, bound):
            return "weakest_label"
        return None

    @invariant()
    def the_ledger_stands_as_the_model_does(self) -> None:
        items = self.client.get("/v1/beliefs", params={"agent": self.agent})
        found = {
            item["belief_id"]: (
                item["label"], item["content"], item["superseded_by"], item["needs_rederivation"],
                sorted(item["evidence"] or []),
                sorted(sorted(names) for names in item["justifications"]),
            )
            for item in items.json().get("items", ())
        }  # fmt: skip
        assert found == {
            name: (
                one.label, one.content, one.superseded_by, one.queued, sorted(one.evidence),
                sorted(sorted(names) for names in one.sets),
            )
            for name, one in self.model.held.items()
        }  # fmt: skip


def test_the_ledger_answers_as_the_model_says(settings: Settings) -> None:
    with a_client(settings) as client:
        machine = type("OnOneDatabase", (LedgerMachine,), {"client": client})
        run_state_machine_as_test(
            machine,
            settings=hypothesis_settings(
                max_examples=30, stateful_step_count=20, deadline=None, derandomize=True,
                suppress_health_check=list(HealthCheck),
            ),
        )  # fmt: skip
