"""Checkpoints as signed notes: what a log was at one moment, in a form that others can check.

The text is that of C2SP's tlog-checkpoint (origin, size, root), the signature that of its
signed-note: Ed25519 over the text, named by the key and the first bytes of the key's hash.
"""

import base64
import binascii
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from urllib.parse import quote, unquote

from service.errors import ConfigurationError

ED25519 = b"\x01"
ID_BYTES, SIGNATURE_BYTES, PUBLIC_BYTES, ROOT_BYTES = 4, 64, 32, 32
_DASH = "\u2014 "
_ORIGIN = "doxa"

Sign = Callable[[bytes], bytes]
# Whether a signature is the key's, over a text.
Holds = Callable[[bytes, bytes], bool]


class Torn(ValueError):
    """A note that was not written to its end."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The size of a log and the root of its tree there."""

    origin: str
    size: int
    root: bytes

    @property
    def text(self) -> str:
        """What is signed."""
        return f"{self.origin}\n{self.size}\n{base64.b64encode(self.root).decode()}\n"


@dataclass(frozen=True, slots=True)
class Note:
    """A checkpoint with its signature, whose key's id stands before it; not checked yet."""

    checkpoint: Checkpoint
    key_name: str
    signature: bytes


@dataclass(frozen=True, slots=True)
class VerifierKey:
    """A public key as signed notes name it."""

    name: str
    public: bytes

    @property
    def key_id(self) -> bytes:
        """The four bytes by which a signature names its key."""
        return sha256(self.name.encode() + b"\n" + ED25519 + self.public).digest()[:ID_BYTES]

    def __str__(self) -> str:
        encoded = base64.b64encode(ED25519 + self.public).decode()
        return f"{self.name}+{self.key_id.hex()}+{encoded}"


def read_verifier_key(text: str) -> VerifierKey:
    """The key of `name+hash+base64`; ConfigurationError says what is wrong with it."""
    name, _, rest = text.strip().partition("+")
    key_id, _, encoded = rest.partition("+")
    try:
        raw = base64.b64decode(encoded, validate=True)
    except binascii.Error:
        raw = b""
    key = VerifierKey(name, raw[1:])
    if (
        not name
        or any(sign.isspace() for sign in name)
        or raw[:1] != ED25519
        or len(key.public) != PUBLIC_BYTES
        or key.key_id.hex() != key_id
    ):
        raise ConfigurationError(
            "This is no public key of checkpoints: it is one line, name+hash+base64, as it stands "
            "in checkpoint.pub."
        )
    return key


def origin_of(agent_id: str, log: str) -> str:
    """The first line of a log's checkpoints."""
    return f"{_ORIGIN}/{quote(agent_id, safe='', errors='surrogatepass')}/{log}"


def log_of(origin: str) -> tuple[str, str] | None:
    """The agent and the log that an origin names; None where it is none of Doxa's."""
    prefix, _, rest = origin.partition("/")
    agent_id, _, log = rest.partition("/")
    if prefix != _ORIGIN or not log:
        return None
    return unquote(agent_id, errors="replace"), log


def signed_note(checkpoint: Checkpoint, key: VerifierKey, sign: Sign) -> str:
    """The note as it is written down."""
    signature = base64.b64encode(key.key_id + sign(checkpoint.text.encode())).decode()
    return f"{checkpoint.text}\n{_DASH}{key.name} {signature}\n"


def read_note(text: str) -> Note:
    """The parts of a note; raises Torn, and ValueError for what was never one."""
    lines = text.split("\n")
    if len(lines) != 6 or lines[5] or lines[3]:
        raise Torn("is not whole")
    origin, size, root, _, line, _ = lines
    if not line.startswith(_DASH) or not origin:
        raise Torn("has no signature")
    name, _, encoded = line.removeprefix(_DASH).partition(" ")
    try:
        root_hash = base64.b64decode(root, validate=True)
        signature = base64.b64decode(encoded, validate=True)
    except binascii.Error:
        raise Torn("is not whole") from None
    if not (size.isascii() and size.isdigit()) or str(int(size)) != size:
        raise ValueError("has no size")
    if len(root_hash) != ROOT_BYTES or len(signature) != ID_BYTES + SIGNATURE_BYTES:
        raise Torn("is not whole")
    return Note(Checkpoint(origin, int(size), root_hash), name, signature)


def is_signed(note: Note, key: VerifierKey, holds: Holds) -> bool:
    """Whether the signature of a note is this key's."""
    return (
        note.key_name == key.name
        and note.signature[:ID_BYTES] == key.key_id
        and holds(note.signature[ID_BYTES:], note.checkpoint.text.encode())
    )


def split_notes(lines: Iterable[str]) -> Iterator[str]:
    """The notes of a file, one behind the other with an empty line between, torn ones as found.

    A note ends with its signature. What was broken off before one is set apart by the two empty
    lines with which the next writer begins.
    """
    part: list[str] = []
    for line in lines:
        if line == "\n" and (not part or part[-1] == "\n"):
            if part:
                yield "".join(part)
                part = []
            continue
        part.append(line)
        if line.startswith(_DASH):
            yield "".join(part)
            part = []
    if part:
        yield "".join(part)
