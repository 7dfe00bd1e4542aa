"""`doxa ratios` and `doxa report`: the figures in a terminal, over the API."""

from enum import StrEnum
from typing import Annotated, Any

import httpx
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.connection import connect
from cli.options import EXIT_PROBLEM, EXIT_UNREACHABLE, EXIT_USAGE, AsJson, fail

Agent = Annotated[str | None, typer.Option(help="The agent; may be left out if there is one.")]


# Columns from which the window before has room, too.
WIDE = 100


class Form(StrEnum):
    """What a report can be shown as."""

    MARKDOWN = "markdown"
    JSON = "json"
    HTML = "html"


_MEDIA = {
    Form.MARKDOWN: "text/markdown",
    Form.JSON: "application/json",
    Form.HTML: "text/html",
}


def ratios(
    agent: Agent = None,
    window: Annotated[str | None, typer.Option(help="Length, 30d or P30D.")] = None,
    since: Annotated[str | None, typer.Option("--from", help="First instant.")] = None,
    until: Annotated[str | None, typer.Option(help="End, itself not included; now.")] = None,
    week: Annotated[str | None, typer.Option(help="An ISO week, 2026-W40.")] = None,
    group_by: Annotated[
        str | None, typer.Option(help="worker, day, week, category, model or commit_sha.")
    ] = None,
    as_of: Annotated[str | None, typer.Option(help="A state of the record, 1234.56.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the ten bypass ratios with their counts, intervals and targets.

    Exit code: 0 shown, 1 refused by the service, 3 not reachable.

    Example: doxa ratios --agent demo --week 2026-W40
    """
    query = {
        "agent": agent, "window": window, "from": since, "until": until, "week": week,
        "group_by": group_by, "as_of": as_of,
    }  # fmt: skip
    answer = _get("/v1/ratios", query, "application/json")
    if as_json:
        typer.echo(answer.text)
        return
    _show(answer.json(), Console(markup=False, highlight=False))


def _show(body: dict[str, Any], console: Console) -> None:
    start, end = body["window"]["from"][:16], body["window"]["until"][:16]
    console.print(f"{_plain(body['agent'])}: {start} to {end} UTC, as of {body['as_of']}")
    console.print(_table(body["ratios"], has_room=console.width >= WIDE))
    reasons: dict[str, list[str]] = {}
    for name, figure in body["ratios"].items():
        if figure["value"] is None:
            reasons.setdefault(figure.get("reason") or "no reason given", []).append(name)
    for reason, names in reasons.items():
        console.print(f"unavailable: {', '.join(names)}: {reason}")
    if (signature := body.get("bypass_signature")) is not None:
        console.print(f"bypass signature: {_signature(signature)}")
    for caveat in dict.fromkeys(c for f in body["ratios"].values() for c in f.get("caveats", [])):
        console.print(f"- {caveat}", style="dim")
    if all(figure["value"] is None for figure in body["ratios"].values()):
        console.print("Nothing in this window: `doxa report` shows the latest week with data.")


def _table(figures: dict[str, Any], *, has_room: bool) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    headings = ["ratio", "value", "counts", "95 %", "target", "status"]
    for heading in [*headings, *(["previous"] if has_room else [])]:
        is_text = heading in ("ratio", "target", "status")
        table.add_column(heading, justify="left" if is_text else "right", no_wrap=True)
    for name, figure in figures.items():
        table.add_row(*_cells(name, figure, has_room=has_room))
        for group in figure.get("groups", []):
            label = f"  {_plain(str(group.get('group')))}"
            table.add_row(*_cells(label, group, has_room=has_room))
    return table


def _cells(name: str, figure: dict[str, Any], *, has_room: bool) -> list[Text]:
    unit, interval = figure.get("unit"), figure.get("interval")
    cells = [
        name,
        _number(figure["value"], unit),
        _counts(figure),
        _interval(interval, unit),
        _target(figure.get("target")),
        figure.get("status") or "",
    ]
    return [Text(cell) for cell in [*cells, *([_previous(figure)] if has_room else [])]]


def _interval(interval: dict[str, Any] | None, unit: str | None) -> str:
    # Where all turns were read there is no sampling error, and no interval to show for it.
    if not interval or interval["low"] == interval["high"]:
        return ""
    return f"{_number(interval['low'], unit)}–{_number(interval['high'], unit)}"


def _previous(figure: dict[str, Any]) -> str:
    return _number(figure.get("previous"), figure.get("unit"))


def _target(target: dict[str, Any] | None) -> str:
    if not target:
        return ""
    is_trend = target["op"] in ("rising", "falling")
    return str(target["op"]) if is_trend else f"{target['op']} {target['value']:g}"


def _plain(text: str) -> str:
    """A name that an agent chose, without what would move a terminal's cursor."""
    return "".join(c if c.isprintable() else "\ufffd" for c in text)


def _counts(figure: dict[str, Any]) -> str:
    if not figure.get("denominator"):
        return ""
    if figure.get("numerator") is None:
        return str(figure["denominator"])
    return f"{figure['numerator']}/{figure['denominator']}"


def _number(value: float | None, unit: str | None) -> str:
    if value is None:
        return "–"
    return f"{value:.1f} d" if unit == "days" else f"{value:.3f}"


def _signature(signature: dict[str, Any]) -> str:
    if signature["holds"] is None:
        return f"cannot be told: {signature['reason']}"
    held = signature["held"]
    named = f": {', '.join(held)}" if held else ""
    return (
        f"{'holds' if signature['holds'] else 'does not hold'}, {len(held)} of 4 conditions{named}"
    )


def report(
    week: Annotated[str | None, typer.Argument(help="ISO week; the latest with data.")] = None,
    agent: Agent = None,
    form: Annotated[Form, typer.Option("--as", help="How to show it.")] = Form.MARKDOWN,
    as_of: Annotated[str | None, typer.Option(help="A state of the record, 1234.56.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the weekly cognition report: eight figures and the benchmark line.

    Exit code: 0 shown, 1 refused by the service, 3 not reachable.

    Example: doxa report 2026-W40 --agent demo --as html > report.html
    """
    path = "/v1/reports/weekly" + (f"/{week}" if week else "")
    media = _MEDIA[Form.JSON if as_json else form]
    typer.echo(_get(path, {"agent": agent, "as_of": as_of}, media).text)


def _get(path: str, query: dict[str, str | None], media: str) -> httpx.Response:
    given = {name: value for name, value in query.items() if value is not None}
    try:
        with connect() as client:
            answer = client.get(path, params=given, headers={"Accept": media})
    except httpx.HTTPError as problem:
        fail(f"The service cannot be reached: {problem}.", EXIT_UNREACHABLE)
    if not answer.is_success:
        is_usage = answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY
        fail(_told(answer), EXIT_USAGE if is_usage else EXIT_PROBLEM)
    return answer


def _told(answer: httpx.Response) -> str:
    try:
        return str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return f"the service answered {answer.status_code}"
