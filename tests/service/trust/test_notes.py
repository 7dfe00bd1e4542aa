"""Checkpoints are signed notes in the form that others can read, and nothing else passes."""

import base64
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.errors import ConfigurationError
from service.trust.notes import (
    Checkpoint,
    Torn,
    VerifierKey,
    is_signed,
    log_of,
    origin_of,
    read_note,
    read_verifier_key,
    signed_note,
    split_notes,
)
from service.trust.signing import (
    PUBLIC_KEY_FILE,
    SIGNING_KEY_FILE,
    Signer,
    holds_under,
    public_keys,
    signer_of,
)

CHECKPOINT = Checkpoint("doxa/piper/agent", 1234, sha256(b"root").digest())


@pytest.fixture
def signer(tmp_path: Path) -> Signer:
    return signer_of(tmp_path / "keys")


def test_a_note_has_the_lines_of_a_tlog_checkpoint(signer: Signer) -> None:
    lines = signed_note(CHECKPOINT, signer.key, signer.sign).split("\n")
    assert lines[:4] == [
        "doxa/piper/agent", "1234", base64.b64encode(CHECKPOINT.root).decode(), "",
    ]  # fmt: skip
    dash, name, encoded = lines[4].split(" ")
    assert (dash, name, lines[5:]) == ("\u2014", "doxa", [""])
    signature = base64.b64decode(encoded)
    assert len(signature) == 68
    assert signature[:4] == sha256(b"doxa\n\x01" + signer.key.public).digest()[:4]


def test_the_example_of_the_reference_implementation_holds() -> None:
    key = read_verifier_key("PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW\n")
    text = (
        "If you think cryptography is the answer to your problem,\n"
        "then you don't know what your problem is.\n"
    )
    signature = base64.b64decode(
        "x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM="
    )
    assert signature[:4] == key.key_id
    assert holds_under(key)(signature[4:], text.encode())
    assert not holds_under(key)(signature[4:], text.upper().encode())
    assert read_verifier_key(str(key)) == key


@pytest.mark.parametrize(
    "text",
    ["", "doxa", "doxa+00000000+AQ==", "a b+00+AQ==", "doxa+zz+%%%", "+00000000+AQ=="],
)
def test_what_is_no_public_key_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="no public key"):
        read_verifier_key(text)


def test_a_signature_holds_for_its_text_and_its_key_alone(signer: Signer, tmp_path: Path) -> None:
    holds = holds_under(signer.key)
    note = read_note(signed_note(CHECKPOINT, signer.key, signer.sign))
    assert note.checkpoint == CHECKPOINT
    assert is_signed(note, signer.key, holds)
    for old, new in (("1234", "1235"), ("piper", "viper")):
        forged = read_note(signed_note(CHECKPOINT, signer.key, signer.sign).replace(old, new))
        assert not is_signed(forged, signer.key, holds)
    other = signer_of(tmp_path / "others")
    forged = read_note(signed_note(CHECKPOINT, signer.key, other.sign))
    assert not is_signed(forged, signer.key, holds)
    assert not is_signed(note, other.key, holds_under(other.key))


@given(st.integers(1, 200))
def test_a_note_that_breaks_off_is_torn_and_hides_none_of_the_others(cut: int) -> None:
    key = VerifierKey("doxa", b"k" * 32)
    note = signed_note(CHECKPOINT, key, lambda _text: b"s" * 64)
    torn = note[: max(1, len(note) - 1 - cut)]
    text = f"{note}\n{torn}\n\n\n{note}\n"
    found = list(split_notes(text.splitlines(keepends=True)))
    assert (found[0], found[-1], len(found)) == (note, note, 3)
    with pytest.raises(Torn):
        read_note(found[1])


@pytest.mark.parametrize("agent_id", ["piper", "a/b c\n", "\U0001f600", "../..", "%41", "+"])
def test_an_origin_names_any_agent_in_one_line(agent_id: str) -> None:
    origin = origin_of(agent_id, "audit")
    assert len(origin.split()) == 1
    assert log_of(origin) == (agent_id, "audit")
    assert log_of("example.com/log") is None


def test_keys_are_made_once_and_the_private_one_is_for_its_owner(tmp_path: Path) -> None:
    folder = tmp_path / "keys"
    assert signer_of(folder).key == signer_of(folder).key
    assert (folder / SIGNING_KEY_FILE).stat().st_mode & 0o777 == 0o600
    assert public_keys(folder / PUBLIC_KEY_FILE) == [signer_of(folder).key]


def test_a_public_key_that_is_not_the_private_ones_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "keys"
    signer_of(folder)
    (folder / PUBLIC_KEY_FILE).write_text(str(signer_of(tmp_path / "others").key))
    with pytest.raises(ConfigurationError, match=r"checkpoint\.pub is not the public key"):
        signer_of(folder)
