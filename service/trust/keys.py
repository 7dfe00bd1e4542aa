"""The files that hold the service's keys, apart from the database and readable by its user only."""

import os
import secrets
from pathlib import Path

from service.errors import ConfigurationError

SEAL_KEY_FILE = "seal.key"
KEY_BYTES = 32


def seal_key(folder: Path) -> bytes:
    """The key of the seals, made at the first call; ConfigurationError says what is wrong."""
    return read_or_make_key(
        folder / SEAL_KEY_FILE, "Without it Doxa cannot tell its own rows from others."
    )


def seal_key_in(folder: Path) -> bytes | None:
    """The key of the seals where there is one; it is not made."""
    path = folder / SEAL_KEY_FILE
    return seal_key(folder) if path.exists() else None


def read_or_make_key(path: Path, loss: str) -> bytes:
    """A key of 32 bytes in hex; `loss` is what follows when the right one is not put back."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            write_whole(path, secrets.token_hex(KEY_BYTES))
        text = path.read_text().strip()
    except OSError as problem:
        raise ConfigurationError(
            f"The key file {path} cannot be used ({problem.strerror}): name another folder with "
            "DOXA_KEY_DIR."
        ) from None
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise ConfigurationError(
            f"{path} holds no key of {KEY_BYTES} bytes in hex: restore it from your backup. {loss}"
        )
    return key


def write_whole(path: Path, text: str, *, mode: int = 0o600) -> None:
    """Appears whole or not at all; of two processes at once the first one's stays."""
    partial = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
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
