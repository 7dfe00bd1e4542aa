"""The state machine of contradictions: which move is allowed, and what it must say."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import msgspec

from service.contradictions.projection import (
    CLOSED,
    NOT_A_CONTRADICTION,
    ContradictionRow,
    ContradictionState,
)
from service.contradictions.refusing import Refused
from service.errors import Conflict, Fault, Malformed
from service.instants import LATEST, format_instant, parse_duration


class NextAction(StrEnum):
    """What the owner of a contradiction is going to do about it."""

    RETRIEVE = "retrieve"
    ASK = "ask"
    TEST = "test"
    ACCEPT_BOTH_WITH_SCOPES = "accept_both_with_scopes"


class ResolutionKind(StrEnum):
    """How a contradiction was resolved: one side was kept, or there never was one."""

    RESOLVED = "resolved"
    NOT_A_CONTRADICTION = NOT_A_CONTRADICTION


class Rule(StrEnum):
    """The rules of the queue, by the names under which refusals are recorded."""

    ALLOWED_MOVES = "allowed_moves"
    EXPECTED_STATE = "expected_state"
    NEW_OWNER = "hand_off_needs_a_new_owner"
    OWNER_AND_NEXT_ACTION = "investigating_needs_owner_and_next_action"
    TTL_AHEAD = "ttl_must_lie_ahead"
    KEPT_AND_GIVEN_UP = "resolved_names_kept_and_given_up"
    MEMBERS_ONLY = "a_resolution_names_members_only"
    KEPT_IS_CURRENT = "the_belief_kept_is_current"
    SCOPE_OF_EACH_SIDE = "scoped_names_the_scope_of_each_side"
    FOREIGN_FIELD = "a_move_says_only_what_is_its_own"
    ID_TAKEN = "id_taken"


_STATE = ContradictionState
ALLOWED: dict[ContradictionState, tuple[ContradictionState, ...]] = {
    _STATE.CANDIDATE: (_STATE.INVESTIGATING, _STATE.EXPIRED),
    # To `investigating` again: a hand-off to another owner.
    _STATE.INVESTIGATING: (
        _STATE.INVESTIGATING,
        _STATE.RESOLVED,
        _STATE.SCOPED,
        _STATE.EXPIRED,
    ),
    _STATE.RESOLVED: (),
    _STATE.SCOPED: (),
    _STATE.EXPIRED: (),
}
OPEN = tuple(state for state, moves in ALLOWED.items() if moves)


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """A move as it is asked for."""

    to: ContradictionState
    owner: str | None = None
    next_action: str | None = None
    priority: int | None = None
    ttl: str | None = None
    resolution: ResolutionKind | None = None
    kept: str | None = None
    given_up: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    scopes: dict[str, str] = {}
    note: str | None = None
    expected_state: ContradictionState | None = None
    expected_version: str | None = None


_OWN_FIELDS: dict[ContradictionState, frozenset[str]] = {
    _STATE.CANDIDATE: frozenset(),
    _STATE.INVESTIGATING: frozenset({"owner", "next_action", "priority", "ttl"}),
    _STATE.RESOLVED: frozenset({"resolution", "kept", "given_up", "evidence"}),
    _STATE.SCOPED: frozenset({"scopes", "evidence"}),
    _STATE.EXPIRED: frozenset(),
}
_ALL_FIELDS = sorted(frozenset().union(*_OWN_FIELDS.values()))


def version_of(row: Any) -> str:
    """What changes with every event on a contradiction: the last one that was folded."""
    return f"{row.last_log}.{row.last_seq}"


def expiry_of(row: Any) -> int | None:
    """The instant at which an open contradiction's time runs out, counted from its detection."""
    if row.state in CLOSED or row.detected_at is None or row.ttl_us is None:
        return None
    ends: int = row.detected_at + row.ttl_us
    return ends if ends <= LATEST else None


def check_move(row: ContradictionRow, move: Move) -> None:
    """Raises Refused for a move that the state machine does not have, naming those it has."""
    state = ContradictionState(row.state)
    stands = f"it is {state}{_who(row)}"
    if move.expected_state not in (None, state):
        raise _not_now(
            row, Rule.EXPECTED_STATE, "/expected_state", f"has passed: {stands}; read it again"
        )
    if move.expected_version not in (None, version_of(row)):
        raise _not_now(
            row, Rule.EXPECTED_STATE, "/expected_version", f"has passed: {stands}; read it again"
        )
    if move.to not in ALLOWED[state]:
        allowed = ", ".join(ALLOWED[state])
        from_there = f"the allowed moves are {allowed}" if allowed else "no move is allowed"
        reason = f"cannot be {move.to}: {stands}, from where {from_there}"
        raise _not_now(row, Rule.ALLOWED_MOVES, "/state", reason)
    if state == move.to and move.owner in (None, row.owner):
        others = ", ".join(other for other in ALLOWED[state] if other != state)
        reason = f"must be somebody new: {stands}. The other allowed moves are {others}"
        raise _not_now(row, Rule.NEW_OWNER, "/owner", reason)


def _not_now(row: ContradictionRow, rule: Rule, pointer: str, reason: str) -> Refused:
    """A refusal that tells the present state, for programs too."""
    refused = _conflict(rule, pointer, reason)
    state = ContradictionState(row.state)
    refused.problem.members |= {
        "state": state,
        "owner": row.owner,
        "version": version_of(row),
        "allowed": list(ALLOWED[state]),
    }
    return refused


def asked_detail(move: Move) -> dict[str, Any]:
    """What a move says by itself, as the detail of the event that it becomes."""
    told: dict[str, Any] = {} if move.note is None else {"note": move.note}
    if move.to is _STATE.INVESTIGATING:
        names = ("owner", "next_action", "priority", "ttl")
        given = {name: getattr(move, name) for name in names}
        return told | {name: value for name, value in given.items() if value is not None}
    if move.to is _STATE.EXPIRED:
        return told | {"by": "caller"}
    if move.to is _STATE.SCOPED:
        resolution: dict[str, Any] = {"kind": "scoped", "scopes": dict(move.scopes)}
    else:
        kind = move.resolution or ResolutionKind.RESOLVED
        resolution = {"kind": str(kind)}
        if kind is ResolutionKind.RESOLVED:
            resolution |= {"kept": move.kept, "given_up": list(move.given_up)}
    return told | {"resolution": resolution | {"evidence": list(move.evidence)}}


def check_content(
    row: ContradictionRow, move: Move, members: Sequence[str], now: int
) -> dict[str, Any]:
    """What the record adds to the move; raises Refused for what the move lacks or breaks."""
    foreign = [name for name in _ALL_FIELDS if getattr(move, name) and name not in _own(move)]
    if foreign:
        reason = f"has no place in a move to {move.to}: leave it out"
        raise Refused(
            Rule.FOREIGN_FIELD,
            Malformed(
                f"{', '.join(foreign)} {reason}. Rule: {Rule.FOREIGN_FIELD}.",
                errors=tuple(Fault(f"/{name}", reason) for name in foreign),
            ),
        )
    if move.to is _STATE.INVESTIGATING:
        return _investigating(row, move, now)
    if move.to is _STATE.SCOPED:
        _check_scopes(move, members)
    elif move.to is _STATE.RESOLVED and move.resolution is not ResolutionKind.NOT_A_CONTRADICTION:
        _check_resolution(move, members)
    return {}


def _own(move: Move) -> frozenset[str]:
    if move.resolution is ResolutionKind.NOT_A_CONTRADICTION:
        return frozenset({"resolution", "evidence"})
    return _OWN_FIELDS[move.to]


def _investigating(row: ContradictionRow, move: Move, now: int) -> dict[str, Any]:
    told = {
        "owner": move.owner or row.owner,
        "next_action": move.next_action or row.next_action,
    }
    missing = [name for name, value in told.items() if value is None]
    if missing:
        raise _unmet(Rule.OWNER_AND_NEXT_ACTION, *missing)
    if row.state == _STATE.INVESTIGATING:
        told["previous_owner"] = row.owner
    ends = None if move.ttl is None else (row.detected_at or now) + parse_duration(move.ttl)
    if ends is not None and ends <= now:
        raise _conflict(
            Rule.TTL_AHEAD,
            "/ttl",
            f"counts from the detection and ran out at {format_instant(ends)}: give a longer one",
        )
    return told


def _check_resolution(move: Move, members: Sequence[str]) -> None:
    missing = [name for name in ("kept", "given_up") if not getattr(move, name)]
    if missing:
        raise _unmet(Rule.KEPT_AND_GIVEN_UP, *missing)
    assert move.kept is not None  # noqa: S101 - said in `missing` otherwise
    _check_members([("/kept", move.kept)], members)
    _check_members([(f"/given_up/{i}", one) for i, one in enumerate(move.given_up)], members)
    if move.kept in move.given_up:
        raise _conflict(Rule.MEMBERS_ONLY, "/kept", "is also given up: it can be only one of both")


def _check_scopes(move: Move, members: Sequence[str]) -> None:
    if len(move.scopes) < 2 or not set(members) <= move.scopes.keys():
        reason = f"must name the scope of each side: of {', '.join(members)[:300] or 'both'}"
        raise Refused(
            Rule.SCOPE_OF_EACH_SIDE,
            Malformed(
                f"scopes {reason}. Rule: {Rule.SCOPE_OF_EACH_SIDE}.",
                errors=(Fault("/scopes", reason),),
            ),
        )
    _check_members([("/scopes", one) for one in move.scopes], members)


def _check_members(named: list[tuple[str, str]], members: Sequence[str]) -> None:
    for pointer, name in named:
        if members and name not in members:
            raise _conflict(
                Rule.MEMBERS_ONLY,
                pointer,
                f"names {name[:60]!r}, which is none of its members: {', '.join(members)[:300]}",
            )


def _who(row: ContradictionRow) -> str:
    return f" by {row.owner[:60]!r}" if row.owner and row.state == _STATE.INVESTIGATING else ""


def _conflict(rule: Rule, pointer: str, reason: str) -> Refused:
    detail = f"{pointer.split('/')[1]} {reason}. Rule: {rule}."
    return Refused(rule, Conflict(detail, errors=(Fault(pointer, reason),)))


def _unmet(rule: Rule, *missing: str) -> Refused:
    reason = "is missing: this move must name it"
    return Refused(
        rule,
        Malformed(
            f"{' and '.join(missing)} must be named. Rule: {rule}.",
            errors=tuple(Fault(f"/{name}", reason) for name in missing),
        ),
    )
