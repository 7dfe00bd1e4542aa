"""The command `doxa`: each subcommand is a module of its own, loaded when it is called."""

import sys
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a subcommand stands, and its line in `doxa --help`."""

    module: str
    function: str
    summary: str


# A name with two words is a command of a group.
COMMANDS = {
    "serve": Entry("cli.serving", "serve", "Serve the API, the pages and the nightly auditor."),
    "import": Entry(
        "cli.importing.command", "import_command", "Read transcripts and events from files."
    ),
    "audit": Entry("cli.auditing", "audit_command", "Audit an agent's turns of a day or a period."),
    "auditor": Entry("cli.serving", "auditor", "Run only the auditor: nightly, and when asked."),
    "ratios": Entry("cli.figures", "ratios", "Show the bypass ratios."),
    "report": Entry("cli.figures", "report", "Show the weekly cognition report."),
    "demo": Entry("cli.demo.command", "demo", "Serve five simulated weeks of an agent."),
    "keys": Entry("cli.keys", "keys", "Make, list and revoke keys."),
    "verify": Entry("cli.verifying", "verify", "Recompute the record and say what does not hold."),
    "rebuild": Entry("cli.rebuilding", "rebuild", "Fold all events anew and compare all rows."),
    "retention": Entry("cli.retention", "retention", "Remove payloads from an age on."),
    "backup": Entry("cli.backing_up", "backup", "Copy the database while it is in use."),
    "restore": Entry("cli.backing_up", "restore", "Put a copy in the place of the database."),
    "migrate": Entry("cli.migrating", "migrate", "Bring the database to this version's schema."),
}  # fmt: skip


class LazyGroup(TyperGroup):
    """Knows its commands by name and loads one only when it is called.

    Starting any of them must not pay for the imports of all of them.
    """

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """The names, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """Loads one command; None for an unknown name."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        found = getattr(import_module(entry.module), entry.function)
        if not isinstance(found, typer.Typer):
            function, found = found, typer.Typer(**PLAIN)
            found.command()(function)
        command = typer.main.get_command(found)
        command.name = cmd_name
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """The list in `--help`, without loading anything."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in COMMANDS.items()])


# Messages are ours; a traceback would show an agent's data to whoever looks over a shoulder.
PLAIN: dict[str, Any] = {
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}
app = typer.Typer(
    cls=LazyGroup,
    no_args_is_help=True,
    epilog="Start with `doxa serve`, or with `doxa demo` for something to look at.",
    **PLAIN,
)


def _show_version(wanted: bool) -> None:  # noqa: FBT001
    if wanted:
        typer.echo(f"doxa {version('doxa')}")
        raise typer.Exit


@app.callback()
def main(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """The instrument panel for an agent's beliefs: does it know, remember, infer or guess?"""


def run() -> None:
    """Entry point of the console script; a reason not to start is one line, never a traceback."""
    try:
        app(prog_name="doxa")
    except Exception as problem:
        from service.errors import ConfigurationError, LedgerError

        if not isinstance(problem, ConfigurationError | LedgerError):
            raise
        typer.echo(str(problem), err=True)
        sys.exit(2)
