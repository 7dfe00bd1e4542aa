"""The pair of keys that signs checkpoints: `checkpoint.key` stays with the service, the public
`checkpoint.pub` goes wherever somebody wants to verify."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from service.errors import ConfigurationError
from service.trust.keys import read_or_make_key, write_whole
from service.trust.notes import Holds, Sign, VerifierKey, read_verifier_key

SIGNING_KEY_FILE, PUBLIC_KEY_FILE = "checkpoint.key", "checkpoint.pub"
KEY_NAME = "doxa"


@dataclass(frozen=True, slots=True)
class Signer:
    """Signs texts, and the public key by which that is checked."""

    key: VerifierKey
    sign: Sign


def signer_of(folder: Path) -> Signer:
    """The signer of a key folder, whose keys are made at the first call."""
    # Heavy, and only where checkpoints are signed or checked.
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    private = Ed25519PrivateKey.from_private_bytes(
        read_or_make_key(
            folder / SIGNING_KEY_FILE, "Checkpoints signed with it hold under its public key alone."
        )
    )
    key = VerifierKey(KEY_NAME, private.public_key().public_bytes_raw())
    path = folder / PUBLIC_KEY_FILE
    try:
        if not path.exists():
            write_whole(path, str(key), mode=0o644)
        is_same = path.read_text().strip() == str(key)
    except OSError as problem:
        raise ConfigurationError(f"{path} cannot be used ({problem.strerror}).") from None
    if not is_same:
        raise ConfigurationError(
            f"{path} is not the public key of {SIGNING_KEY_FILE} beside it: restore both from your "
            "backup, or remove the public one to have it made again."
        )
    return Signer(key, private.sign)


def public_keys(path: Path) -> list[VerifierKey]:
    """The public keys in a file, one a line: after a change of keys the older ones stay known."""
    try:
        lines = path.read_text().split("\n")
    except (OSError, UnicodeDecodeError):
        raise ConfigurationError(f"The public key {path} cannot be read.") from None
    return [read_verifier_key(line) for line in lines if line.strip()]


def holds_under(key: VerifierKey) -> Holds:
    """Checks signatures of this key."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    verify: Callable[[bytes, bytes], None] = Ed25519PublicKey.from_public_bytes(key.public).verify

    def holds(signature: bytes, text: bytes) -> bool:
        try:
            verify(signature, text)
        except InvalidSignature:
            return False
        return True

    return holds
