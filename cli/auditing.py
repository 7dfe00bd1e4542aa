"""The command `doxa audit`: audits days of an agent, straight on the database."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import Annotated
from zoneinfo import ZoneInfo

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from sqlalchemy import make_url
from sqlalchemy.orm import Session

from auditor import run as audit_run
from auditor.days import days_with_turns, unaudited
from auditor.method import builtin_method
from auditor.run import Auditor, DayOutcome, NothingToAuditError, RunBusyError, RunOptions
from cli.options import EXIT_USAGE, AsJson, DatabaseUrl, DataDir, fail, settings_from
from service.agents.queries import chosen_agent, zone_of
from service.audits.days import day_of, day_start, day_window
from service.audits.vocabulary import RunState, TurnState
from service.db import schema
from service.db.database import Database
from service.db.opening import open_database
from service.errors import ConfigurationError, LedgerError, Unavailable
from service.events.fitting import check_key
from service.instants import EARLIEST, LATEST
from service.principals import LOCAL
from service.settings import Settings

EXIT_INCOMPLETE, EXIT_BUSY = 1, 3
SHOWN_DAYS = 10
CAVEAT = (
    "Method: builtin, a comparison of words. It finds what the context does not say; it cannot "
    "tell a sound inference from an unsupported one."
)


@dataclass(frozen=True, slots=True)
class Period:
    """Which days were asked for."""

    day: date | None
    since: date | None
    until: date | None
    all_days: bool


def _date(text: str | None, option: str) -> date | None:
    if text is None:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is no day: write it like 2026-10-03", param_hint=option
        ) from None


def _period(day: str | None, since: str | None, until: str | None, *, all_days: bool) -> Period:
    """The period of the options; a usage error says which of them do not go together."""
    period = Period(_date(day, "--day"), _date(since, "--from"), _date(until, "--until"), all_days)
    ways = [period.day is not None, period.since is not None or period.until is not None, all_days]
    if sum(ways) > 1:
        raise typer.BadParameter("name one of --day, --from with --until, or --all")
    if (period.since is None) != (period.until is None):
        raise typer.BadParameter("--from and --until go together")
    if period.since and period.until and period.since >= period.until:
        raise typer.BadParameter("--until must lie after --from: it is the first day not audited")
    return period


def days_of(
    session: Session, agent_id: str, zone: ZoneInfo, period: Period, now: int
) -> list[date]:
    """The days to audit, oldest first; ConfigurationError names those that have turns instead."""
    if period.all_days:
        days = list(days_with_turns(session, agent_id, zone))
        return unaudited(session, agent_id, zone, days, ended=(RunState.DONE,))
    if period.since is not None and period.until is not None:
        since, until = day_start(period.since, zone), day_start(period.until, zone)
        days = list(days_with_turns(session, agent_id, zone, since, until))
        if not days:
            raise ConfigurationError(
                f"Agent {agent_id!r} has no turns from {period.since} until {period.until}. "
                + _where_turns_are(session, agent_id, zone)
            )
        return days
    day = period.day or day_of(now, zone) - timedelta(days=1)
    if not any(days_with_turns(session, agent_id, zone, *day_window(day, zone))):
        which = "on" if period.day else "yesterday,"
        raise ConfigurationError(
            f"Agent {agent_id!r} has no turns {which} {day}. "
            + _where_turns_are(session, agent_id, zone)
        )
    return [day]


def _where_turns_are(session: Session, agent_id: str, zone: ZoneInfo) -> str:
    days = list(days_with_turns(session, agent_id, zone, EARLIEST, LATEST + 1))
    if not days:
        return "It has no turns at all: send some, or `doxa import` a file."
    shown = ", ".join(map(str, days[-SHOWN_DAYS:]))
    more = f"{len(days)} days, the last of them " if len(days) > SHOWN_DAYS else ""
    return f"Days that have turns: {more}{shown}. Name one with --day, or audit all with --all."


Agent = Annotated[
    str | None,
    typer.Option("--agent", metavar="ID", help="Agent to audit. Default: the only one there is."),
]
Day = Annotated[
    str | None,
    typer.Option("--day", metavar="DATE", help="Day in the agent's zone. Default: yesterday."),
]
Since = Annotated[str | None, typer.Option("--from", metavar="DATE", help="First day of a period.")]
Until = Annotated[
    str | None, typer.Option("--until", metavar="DATE", help="First day after the period.")
]
AllDays = Annotated[
    bool, typer.Option("--all", help="Every day that has turns and was not audited.")
]
Sample = Annotated[
    int | None,
    typer.Option(
        "--sample", min=1, max=100_000, help="Turns to draw a day. Default: the agent's, else 50."
    ),
]
Minutes = Annotated[
    float | None,
    typer.Option("--minutes", min=0, help="Budget in all; a run that spends it ends partial."),
]


def audit_command(
    agent: Agent = None,
    day: Day = None,
    since: Since = None,
    until: Until = None,
    all_days: AllDays = False,
    sample: Sample = None,
    minutes: Minutes = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Audit an agent's turns: draw a sample of each day, and find what was inferred in it.

    A day has one run. One that was interrupted goes on where it stopped; one that is done is
    shown as it is. A day that is not over can be audited; what comes after is drawn from with
    the turns that came late, in the next day's run.

    Examples: doxa audit --agent airline --day 2026-10-03; doxa audit --all

    Exit code: 0 done, 1 partial or some turns failed, 2 nothing to audit as asked, 3 another
    process is at it.
    """
    period = _period(day, since, until, all_days=all_days)
    settings = settings_from(data_dir=data_dir, database_url=database_url)
    try:
        database = open_database(settings)
    except ConfigurationError as problem:
        fail(str(problem), EXIT_USAGE)
    try:
        account = _audit(database, settings, agent, period, RunOptions(sample, minutes))
    except Unavailable as problem:
        fail(f"{problem} What was audited so far stays; the next run goes on.", EXIT_INCOMPLETE)
    except (ConfigurationError, LedgerError) as problem:
        fail(str(problem), EXIT_USAGE)
    finally:
        database.close()
    _show(account, as_json=as_json)
    raise typer.Exit(account.exit_code)


def _now() -> int:
    return time.time_ns() // 1_000


@dataclass(slots=True)
class Account:
    """What became of the days asked for; `unbegun` are those with no budget left."""

    agent_id: str
    audited: list[DayOutcome] = field(default_factory=list)
    busy: dict[date, str] = field(default_factory=dict)
    passed: dict[date, str] = field(default_factory=dict)
    unbegun: list[date] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """3 when another process is at a day, 1 when a run is not whole, 0 otherwise."""
        if self.busy:
            return EXIT_BUSY
        whole = all(
            one.audit.state == RunState.DONE and not one.audit.turns[TurnState.FAILED]
            for one in self.audited
        )
        return 0 if whole and not self.unbegun else EXIT_INCOMPLETE


def _audit(
    database: Database,
    settings: Settings,
    agent: str | None,
    period: Period,
    options: RunOptions,
) -> Account:
    _require_schema(database)
    with database.read() as session:
        found = chosen_agent(session, LOCAL, agent)
        account, zone = Account(found.agent_id), zone_of(found)
        days = days_of(session, account.agent_id, zone, period, _now())
    began = time.monotonic()
    with _progress_bar(len(days)) as show:
        auditor = Auditor(database, builtin_method(), _now, settings.audit_sample, on_progress=show)
        for day in days:
            left = _left(options, began)
            if account.audited and left.budget_minutes == 0:
                # Begun without a minute left, a run would draw and read nothing.
                account.unbegun.append(day)
                continue
            _audit_day(auditor, account, day, left)
    if day_of(_now(), zone) in days:
        typer.echo(
            "Today is not over: what still comes is drawn from as late, in the next day's run.",
            err=True,
        )
    return account


def _audit_day(auditor: Auditor, account: Account, day: date, options: RunOptions) -> None:
    try:
        account.audited.append(auditor.audit_day(account.agent_id, day, options))
    except RunBusyError as busy:
        account.busy[day] = str(busy)
    except NothingToAuditError as nothing:
        account.passed[day] = str(nothing)


def _left(options: RunOptions, began: float) -> RunOptions:
    """The options with what is left of the budget, which is one for all days."""
    if options.budget_minutes is None:
        return options
    spent = (time.monotonic() - began) / 60
    return replace(options, budget_minutes=max(0.0, options.budget_minutes - spent))


def _require_schema(database: Database) -> None:
    """Refuses a database that is missing or not migrated, and makes none."""
    try:
        schema.check(database.reading)
        check_key(database)
    except Unavailable as problem:
        raise ConfigurationError(
            f"There is no database to audit at {make_url(database.url)!r} ({problem.detail}) "
            "Start `doxa serve`, or run `doxa migrate`, or name another with --database-url."
        ) from None


@contextmanager
def _progress_bar(days: int) -> Iterator[Callable[[audit_run.Progress], None]]:
    """A bar on standard error while a person watches, nothing otherwise."""
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("turns"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        disable=not sys.stderr.isatty(),
        transient=True,
    )
    seen: dict[date, None] = {}
    with bar:
        task = bar.add_task("audit", total=None)

        def show(now: audit_run.Progress) -> None:
            seen[now.day] = None
            place = f"{now.day} ({len(seen)} of {days} days)" if days > 1 else str(now.day)
            bar.update(task, description=place, completed=now.finished, total=now.drawn)

        yield show


def _show(account: Account, *, as_json: bool) -> None:
    for day, reason in (*account.busy.items(), *account.passed.items()):
        typer.echo(f"{day}: {reason}", err=True)
    if account.unbegun:
        typer.echo(f"{len(account.unbegun)} days were not begun: the budget is spent.", err=True)
    if as_json:
        typer.echo(
            json.dumps(
                {
                    "agent": account.agent_id,
                    "audits": [
                        {"day": str(one.day), "was_ended": one.was_ended} | one.audit.model_dump()
                        for one in account.audited
                    ],
                    "busy": {str(day): reason for day, reason in account.busy.items()},
                    "passed": {str(day): reason for day, reason in account.passed.items()},
                    "unbegun": [str(day) for day in account.unbegun],
                }
            )
        )
        return
    if not account.audited and not account.busy:
        typer.echo(f"Agent {account.agent_id}: nothing left to audit.")
    for one in account.audited:
        typer.echo(_line(one))
    if account.audited:
        found = sum(one.audit.findings for one in account.audited)
        read = sum(one.audit.turns[TurnState.DONE] for one in account.audited)
        typer.echo(f"Agent {account.agent_id}: {found} findings in {read} turns. {CAVEAT}")


def _line(outcome: DayOutcome) -> str:
    """A run in a line: what was read of what, and what was found."""
    audit, turns = outcome.audit, outcome.audit.turns
    left = [f"{turns[s]} {s}" for s in (TurnState.FAILED, TurnState.UNJUDGED) if turns[s]]
    parts = [
        f"{turns[TurnState.DONE]} of {audit.drawn} drawn turns read",
        *left,
        f"{audit.population} in all",
        f"{audit.claims} claims",
        f"{audit.findings} findings",
    ]
    ledger = audit.ledger or {}
    faults = [
        f"{count} {rule}"
        for rule, count in ledger.items()
        if isinstance(count, int) and count and rule != "examined"
    ]
    if ledger.get("examined"):
        parts.append(f"{ledger['examined']} ledger events ({', '.join(faults) or 'none odd'})")
    state = "done before" if outcome.was_ended else audit.state
    return f"{outcome.day}: {state}: {', '.join(parts)}"
