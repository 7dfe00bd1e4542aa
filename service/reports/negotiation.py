"""Which form of a report an Accept header asks for (RFC 9110, 12.5.1)."""

from enum import StrEnum

from service.errors import NotAcceptable


class Form(StrEnum):
    """The forms there are, the first being the one for who has no preference."""

    JSON = "application/json"
    MARKDOWN = "text/markdown"
    HTML = "text/html"


def choose_form(accept: str | None) -> Form:
    """The form wanted most; NotAcceptable names those there are."""
    if accept is None or not accept.strip():
        return Form.JSON
    ranges = [_range(part) for part in accept.split(",") if part.strip()]
    best, most = None, 0.0
    for form in Form:
        quality = _quality(form, ranges)
        if quality > most:
            best, most = form, quality
    if best is None:
        raise NotAcceptable(f"A report is made as {', '.join(Form)}: ask for one of these.")
    return best


def _range(part: str) -> tuple[str, float]:
    media, *parameters = (piece.strip().lower() for piece in part.split(";"))
    quality = 1.0
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                quality = min(1.0, max(0.0, float(value)))
            except ValueError:
                quality = 0.0
    # NaN is no preference.
    return media, quality if quality == quality else 0.0


def _quality(form: Form, ranges: list[tuple[str, float]]) -> float:
    """The quality of the most specific range that names the form."""
    for pattern in (str(form), f"{form.partition('/')[0]}/*", "*/*"):
        found = [quality for media, quality in ranges if media == pattern]
        if found:
            return max(found)
    return 0.0
