"""The client against the service it is made for, on both databases."""

import httpx
import pytest
from doxa_client import Doxa, DoxaError

from cli.server import serving_in_background
from service.app import create_app
from service.settings import Settings


def test_what_the_client_sends_is_stored_and_sent_once(settings: Settings) -> None:
    with serving_in_background(create_app(settings), settings) as url:
        with Doxa(url=url, agent="piper") as doxa:
            doxa.turn("The disk is full.", session_id="s", turn_id="t", inputs=[
                {"role": "user", "content": "why did the backup fail?"}
            ])  # fmt: skip
            doxa.emit(
                "belief.created", session_id="s", turn_id="t", worker="day", belief_id="b",
                label_to="infer", confidence=0.9,
                detail={"content": "the disk is full", "category": "system state"},
            )  # fmt: skip
            doxa.emit("belief.relabelled", belief_id="b")
            result = doxa.flush()
        assert (result.accepted, result.unsent) == (2, 0)
        (rejected,) = result.rejected
        assert rejected.pointer == "/label_to"
        stored = httpx.get(f"{url}/v1/turns/t", trust_env=False).json()
        assert stored["output"] == "The disk is full."
        assert [event["event"] for event in stored["events"]] == ["belief.created"]


def test_a_key_that_is_not_known_keeps_what_could_not_be_sent(settings: Settings) -> None:
    with serving_in_background(create_app(settings), settings) as url:
        made = httpx.post(f"{url}/v1/keys", json={"scope": "operate"}, trust_env=False)
        operate = {"Authorization": f"Bearer {made.json()['key']}"}
        doxa = Doxa(url=url, key="doxa_write_wrong", agent="piper")
        doxa.emit("x.note", detail={"n": 1})
        with pytest.raises(DoxaError) as refusal:
            doxa.flush()
        assert refusal.value.status == 401
        writing = httpx.post(
            f"{url}/v1/keys", json={"scope": "write", "agent_id": "piper"}, headers=operate,
            trust_env=False,
        )  # fmt: skip
        doxa.key = writing.json()["key"]
        assert doxa.flush().accepted == 1
        doxa.close()
