"""What the end of a walk says: a head that is not Doxa's, rows that are missing, a tree unlike."""

from service.trust.tree import HASH_BYTES
from service.verification.faults import Fault, Findings, Kind
from service.verification.walking import Head, Walked


def judge_end(walked: Walked, head: Head | None, findings: Findings) -> None:
    """Adds what can only be told once the whole log was read."""
    _judge_head(walked, head, findings)
    missing = _missing(walked, head)
    failure = walked.peak_failure or walked.note_failure
    if failure is not None:
        findings.add(_unlike(walked, head, failure, is_short=missing is not None))
        if walked.peak_failure is not None:
            return  # rows moved up, so the end is short by as many
    if missing is not None:
        findings.add(missing)


def _fault(walked: Walked, kind: Kind, reason: str, *span: int) -> Fault:
    seq, until = (*span, None, None)[:2]
    return Fault(kind, reason, walked.agent_id, walked.log, seq=seq, until=until)


def _judge_head(walked: Walked, head: Head | None, findings: Findings) -> None:
    if head is None:
        if walked.rows:
            findings.add(_fault(walked, Kind.HEAD, f"is missing above {walked.rows} rows"))
        return
    if head.holds is False:
        findings.add(_fault(walked, Kind.HEAD, "its seal is not Doxa's: size or tree was changed"))
    elif head.frontier is not None and len(head.frontier) != head.size.bit_count() * HASH_BYTES:
        findings.add(_fault(walked, Kind.HEAD, f"its tree is none of {head.size} rows"))
    elif walked.first_behind_head is not None:
        findings.add(
            _fault(
                walked,
                Kind.HEAD,
                f"was set back to {head.size} rows, and Doxa had written more",
                walked.first_behind_head,
            )
        )


def _missing(walked: Walked, head: Head | None) -> Fault | None:
    """What a log lacks at its end, by its own head or by its newest checkpoint."""
    is_trusted = head is not None and head.holds is not False
    first = walked.rows + 1
    if head is not None and is_trusted and walked.rows < head.size:
        return _fault(
            walked,
            Kind.CUT,
            f"the head says {head.size} rows and there are {walked.rows}; or one behind position "
            f"{walked.anchored} was deleted and the rest moved up",
            first,
            head.size,
        )
    if walked.rows >= walked.newest_note:
        return None
    told = f"a checkpoint says {walked.newest_note} rows and there are {walked.rows}"
    if head is None or not is_trusted:
        return _fault(walked, Kind.CUT, f"{told}: the head went with them", first)
    told += ": an older copy of the database stands in its place"
    if head.holds is None:
        told += ", or the head was rewritten (the seals, which would tell, were not checked)"
    return _fault(walked, Kind.RESTORED, told, first)


def _unlike(
    walked: Walked, head: Head | None, failure: tuple[int, int], *, is_short: bool
) -> Fault:
    since, until = failure
    span = (since + 1, until)
    if head is not None and since < head.unsealed_until and not is_short:
        told = "rows of before there were leaves and seals were changed: the tree differs"
        return _fault(walked, Kind.EDITED, told, *span)
    if walked.peak_failure is None and head is not None and head.holds and not is_short:
        return _fault(
            walked,
            Kind.RESTORED,
            f"Doxa wrote these rows, and signed others at {until}: an older copy of the database "
            "was put in its place and written on",
            *span,
        )
    if is_short:
        return _fault(
            walked,
            Kind.RENUMBERED,
            "a row was deleted here and those behind it moved up: the tree differs",
            *span,
        )
    told = "these rows are whole and do not stand in the order in which they were written"
    if head is None or head.holds is None:
        told += ", or they were replaced together with their leaves (seals were not checked)"
    return _fault(walked, Kind.REORDERED, told, *span)
