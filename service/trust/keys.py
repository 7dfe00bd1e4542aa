"""The files that hold the service's keys, apart from the database and readable by its user only."""

import os
import secrets
from pathlib import Path

from service.errors import ConfigurationError

SEAL_KEY_FILE = "seal.key"
KEY_BYTES = 32


def seal_key(folder: Path) -> bytes:
    """The key of the seals, made at the first call; ConfigurationError says what is wrong."""
    return bytes.fromhex(_read_or_make(folder / SEAL_KEY_FILE, secrets.token_hex(KEY_BYTES)))


def _read_or_make(path: Path, fresh: str) -> str:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            _write_whole(path, fresh)
        text = path.read_text().strip()
    except OSError as problem:
        raise ConfigurationError(
            f"The key file {path} cannot be used ({problem.strerror}): name another folder with "
            "DOXA_KEY_DIR."
        ) from None
    try:
        is_key = len(bytes.fromhex(text)) == KEY_BYTES
    except ValueError:
        is_key = False
    if not is_key:
        raise ConfigurationError(
            f"{path} holds no key of {KEY_BYTES} bytes in hex: restore it from your backup. "
            "Without it Doxa cannot tell its own rows from others."
        )
    return text


def _write_whole(path: Path, text: str) -> None:
    """Appears whole or not at all; of two processes at once the first one's stays."""
    partial = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(partial, path)
        except FileExistsError:
            return
    finally:
        partial.unlink()
