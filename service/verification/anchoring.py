"""Whether checkpoints stand where whoever holds the data does not reach."""

from pathlib import Path

from service.settings import Settings


def is_outside(settings: Settings) -> bool:
    """A folder that was named, and lies neither in the data's folder nor around it.

    A path cannot prove who may write there; one beside the data proves that it anchors nothing.
    """
    if settings.checkpoint_dir is None:
        return False
    checkpoints = settings.checkpoint_dir.resolve()
    return not any(
        checkpoints == data or data in checkpoints.parents or checkpoints in data.parents
        for data in (path.resolve() for path in data_folders(settings))
    )


def data_folders(settings: Settings) -> list[Path]:
    """Where the data is: the SQLite file's folder, or the data folder of a PostgreSQL service."""
    scheme, _, path = settings.resolved_database_url.partition(":///")
    if scheme.startswith("sqlite"):
        return [Path(path).parent]
    return [settings.data_dir]
