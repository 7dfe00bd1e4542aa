"""Options that several commands share, and the settings they lead to."""

import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from pydantic import ValidationError

from service.settings import Settings

DataDir = Annotated[
    Path | None, typer.Option("--data-dir", help="Folder of the SQLite file. [DOXA_DATA_DIR]")
]
DatabaseUrl = Annotated[
    str | None, typer.Option("--database-url", help="SQLite or PostgreSQL URL. [DOXA_DATABASE_URL]")
]
AsJson = Annotated[bool, typer.Option("--json", help="Answer as JSON, for machines.")]

EXIT_PROBLEM = 1
EXIT_USAGE = 2
EXIT_UNREACHABLE = 3
EXIT_BUSY = 3


def settings_from(**given: object) -> Settings:
    """Settings from the environment and the options given; says what is wrong and exits."""
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]
    except ValidationError as problem:
        for error in problem.errors():
            name = "_".join(str(step) for step in error["loc"]).upper()
            typer.echo(f"DOXA_{name.removeprefix('DOXA_')}: {error['msg']}", err=True)
        sys.exit(EXIT_USAGE)


def require_database(settings: Settings) -> None:
    """Says which file is missing, and exits: a command that only reads makes none."""
    scheme, _, path = settings.resolved_database_url.partition(":///")
    if scheme.startswith("sqlite") and not Path(path).exists():
        fail(
            f"There is no database {path}: name its folder with --data-dir, or another with "
            "--database-url.",
            EXIT_USAGE,
        )


def fail(message: str, code: int = EXIT_PROBLEM) -> NoReturn:
    """Says on standard error what is wrong, and exits."""
    typer.echo(message, err=True)
    sys.exit(code)
