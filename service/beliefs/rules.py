"""The rules of the owned ledger, and what a refusal says."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from service.api.problems import MAX_LISTED
from service.errors import Conflict, Fault, LedgerError, Malformed
from service.events.parsing import BadItem, refuse


class Rule(StrEnum):
    """What a write was refused for; the first six are those of the specification."""

    UNLABELLED = "unlabelled"
    CONTENT_CHANGE = "content_change"
    LAUNDERING = "laundering"
    WEAKEST_LABEL = "weakest_label"
    SUPERSEDED = "superseded"
    CIRCULAR_JUSTIFICATION = "circular_justification"
    CIRCULAR_SUPERSESSION = "circular_supersession"
    NOT_CURRENT = "not_current"
    BACK_FILLED = "back_filled"
    BACK_DATED = "back_dated"
    UNKNOWN_SUPPORT = "unknown_support"
    STALE_VERSION = "stale_version"
    ALREADY_HELD = "already_held"
    ID_TAKEN = "id_taken"


# A request that lacks what no ledger write may lack; every other rule is a conflict.
MALFORMED = frozenset({Rule.UNLABELLED})


@dataclass(frozen=True, slots=True)
class Breach:
    """One broken rule: where in the request, why, and which belief stands in the way as it is."""

    rule: Rule
    pointer: str
    reason: str
    belief_id: str | None = None
    head: str | None = None
    version: str | None = None


class Breaks(Exception):
    """Ends the planning of a move."""

    def __init__(
        self,
        rule: Rule,
        pointer: str,
        reason: str,
        belief_id: str | None = None,
        *,
        head: str | None = None,
        version: str | None = None,
    ) -> None:
        super().__init__(reason)
        self.breach = Breach(rule, pointer, reason, belief_id, head, version)


def refusal(
    breaches: Sequence[tuple[int, Breach]], bad: Sequence[BadItem], *, is_single: bool
) -> LedgerError:
    """The problem of a refused write: what is malformed outranks conflicts, and all is listed."""
    if not breaches:
        return refuse([*bad], [], is_single=is_single)
    malformed = [*bad]
    conflicts: list[BadItem] = []
    for index, breach in breaches:
        fault = Fault(breach.pointer, f"{breach.reason} (rule {breach.rule})")
        kind = malformed if breach.rule in MALFORMED else conflicts
        kind.append(BadItem(index, (fault,)))
    first = breaches[0][1]
    listed = refuse(malformed, conflicts, is_single=is_single)
    error = Malformed if malformed else Conflict
    members: dict[str, object] = {"rule": first.rule}
    for name in ("belief_id", "head", "version"):
        if (value := getattr(first, name)) is not None:
            members[name] = value
    members["refusals"] = [_told(index, breach) for index, breach in breaches[:MAX_LISTED]]
    reasons = "; ".join(f"{breach.reason} (rule {breach.rule})" for _, breach in breaches[:5])
    return error(f"{reasons}. Nothing was stored.", errors=listed.errors, members=members)


def _told(index: int, breach: Breach) -> dict[str, object]:
    named = {
        "index": index,
        "rule": breach.rule,
        "belief_id": breach.belief_id,
        "head": breach.head,
        "version": breach.version,
    }
    return {name: value for name, value in named.items() if value is not None}
