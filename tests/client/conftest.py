from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.client.recording_server import RecordingServer


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[RecordingServer]:
    monkeypatch.delenv("DOXA_URL", raising=False)
    monkeypatch.delenv("DOXA_API_KEY", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    recording = RecordingServer()
    yield recording
    recording.stop()


@pytest.fixture
def pauses() -> list[float]:
    """Seconds that the client wanted to sleep: pass `pauses.append` as its `sleep`."""
    return []
