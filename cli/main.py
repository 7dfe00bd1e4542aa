"""The command `doxa`: each subcommand stands in a module of its own and is loaded when used."""

import typer

app = typer.Typer(
    name="doxa",
    help="The instrument panel for an agent's beliefs: does it know, remember, infer or guess?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
)


def run() -> None:
    """Entry point of the console script."""
    from cli import serving  # noqa: F401, PLC0415

    app()
