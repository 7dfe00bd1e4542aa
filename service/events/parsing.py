"""A request body into checked rows: one fast pass, and a slow one that explains the faults."""

import codecs
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import msgspec

from service import instants, json_text
from service.errors import Conflict, Fault, LedgerError, Malformed, TooLarge
from service.settings import Settings

Item = TypeVar("Item", bound=msgspec.Struct)
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class BadItem:
    """An item of a batch that cannot be stored, with everything that is wrong with it."""

    index: int
    faults: tuple[Fault, ...]


@dataclass(slots=True)
class Parsed(Generic[Row]):
    """A batch: rows in the order they were sent, and the items that were no rows."""

    rows: list[Row] = field(default_factory=list)
    bad: list[BadItem] = field(default_factory=list)
    is_single: bool = False


class BatchReader(Generic[Item, Row]):
    """Reads one kind of item: a single object, an array, or a line each.

    `normalise(item, index, repaired)` gives a row or the faults of the item.
    """

    def __init__(
        self,
        item_type: type[Item],
        settings: Settings,
        instant_fields: tuple[str, ...] = ("ts",),
    ) -> None:
        self._type = item_type
        self._settings = settings
        self._instant_fields = instant_fields
        self._one = msgspec.json.Decoder(item_type)
        self._many = msgspec.json.Decoder(list[item_type])  # type: ignore[valid-type]

    def read(
        self,
        body: bytes,
        *,
        lines: bool,
        normalise: Callable[[Item, int, bool], Row | list[Fault]],
    ) -> Parsed[Row]:
        """All items of a body; raises Malformed when the body as a whole is no JSON."""
        parsed: Parsed[Row] = Parsed()
        body = body.removeprefix(codecs.BOM_UTF8)
        parsed.is_single = not lines and body.lstrip()[:1] == b"{"
        try:
            items = self._decode(body, lines=lines, is_single=parsed.is_single)
        except (msgspec.MsgspecError, RecursionError, ValueError):
            self._read_slowly(body, lines=lines, normalise=normalise, parsed=parsed)
            return parsed
        self._check_count(len(items))
        for index, item in enumerate(items):
            _place(parsed, index, normalise(item, index, False))
        return parsed

    def _decode(self, body: bytes, *, lines: bool, is_single: bool) -> list[Item]:
        if is_single:
            return [self._one.decode(body)]
        if lines:
            return self._one.decode_lines(body)
        return self._many.decode(body)

    def _check_count(self, count: int) -> None:
        if count > self._settings.max_batch:
            raise TooLarge(
                f"{count} items are more than {self._settings.max_batch} in one batch "
                "(DOXA_MAX_BATCH). Nothing was stored: split it."
            )

    def _read_slowly(
        self,
        body: bytes,
        *,
        lines: bool,
        normalise: Callable[[Item, int, bool], Row | list[Fault]],
        parsed: Parsed[Row],
    ) -> None:
        for index, raw in enumerate(self._raw_items(body, lines=lines, is_single=parsed.is_single)):
            if isinstance(raw, Fault):
                _place(parsed, index, [raw])
                continue
            findings = json_text.Inspection(
                self._settings.max_nesting, self._settings.max_string_chars
            )
            faults = _half_characters(raw)
            whole = json_text.inspect(raw, "", findings)
            faults += findings.faults or self._instant_faults(whole)
            if faults:
                _place(parsed, index, faults)
                continue
            try:
                item = msgspec.convert(whole, self._type)
            except msgspec.ValidationError as problem:
                _place(parsed, index, [json_text.fault_of(problem)])
                continue
            _place(parsed, index, normalise(item, index, findings.repaired))

    def _raw_items(self, body: bytes, *, lines: bool, is_single: bool) -> Iterator[Any]:
        try:
            text = body.decode()
        except UnicodeDecodeError as problem:
            raise Malformed(
                f"The body is not UTF-8 at byte {problem.start}: encode it so."
            ) from None
        if lines:
            pieces = [line for line in text.split("\n") if line.strip()]
            self._check_count(len(pieces))
            for piece in pieces:
                yield self._parse(piece, whole=False)
            return
        whole = self._parse(text, whole=True)
        if is_single:
            yield whole
        elif isinstance(whole, list):
            self._check_count(len(whole))
            yield from whole
        else:
            raise Malformed("The body is neither an object nor an array of objects.")

    def _parse(self, text: str, *, whole: bool) -> Any:
        limit = self._settings.max_nesting + 1
        if json_text.nesting(text.encode()) > limit:
            reason = f"is nested deeper than {self._settings.max_nesting} levels (DOXA_MAX_NESTING)"
            if whole:
                raise Malformed(f"The body {reason}.", errors=(Fault("", reason),))
            return Fault("", reason)
        try:
            return json_text.read_leniently(text)
        except ValueError as problem:
            if whole:
                raise Malformed(f"The body is no JSON: {problem}.") from None
            return Fault("", f"is no JSON: {problem}")

    def _instant_faults(self, item: Any) -> list[Fault]:
        faults: list[Fault] = []
        if not isinstance(item, dict):
            return [Fault("", "is no JSON object")]
        for name in self._instant_fields:
            value = item.get(name)
            if isinstance(value, str):
                try:
                    instants.parse_instant(value)
                except ValueError as problem:
                    faults.append(Fault(f"/{name}", str(problem)))
        return faults


def _half_characters(item: Any) -> list[Fault]:
    """Ids keep no unpaired surrogate: two different ones would become the same id."""
    if not isinstance(item, dict):
        return []
    return [
        Fault(f"/{json_text.escape(name)}", "holds half a character (a lone surrogate): remove it")
        for name, value in item.items()
        if name not in _FREE_TEXT
        and isinstance(value, str)
        and any("\ud800" <= c <= "\udfff" for c in value)
    ]


_FREE_TEXT = frozenset({"output"})


def _place(parsed: Parsed[Row], index: int, outcome: Row | list[Fault]) -> None:
    if isinstance(outcome, list):
        parsed.bad.append(BadItem(index, tuple(outcome)))
    else:
        parsed.rows.append(outcome)


def refuse(bad: list[BadItem], conflicts: list[BadItem], *, is_single: bool) -> LedgerError:
    """The error for an all-or-nothing batch: malformed items outrank conflicts, both are listed."""

    ranked = bad + conflicts
    errors = tuple(
        Fault(fault.pointer if is_single else f"/{item.index}{fault.pointer}", fault.reason)
        for item in ranked
        for fault in item.faults
    )
    if bad:
        places = ", ".join(str(item.index) for item in bad[:20])
        detail = (
            "Nothing was stored."
            if is_single
            else f"{len(bad)} items are not well-formed (at {places}"
            f"{', …' if len(bad) > 20 else ''}). Nothing was stored; send ?on_error=skip to store "
            "the others."
        )
        return Malformed(detail, errors=errors)
    return Conflict(
        "; ".join(fault.reason for item in conflicts[:5] for fault in item.faults)
        + ". Nothing was stored.",
        errors=errors,
    )
