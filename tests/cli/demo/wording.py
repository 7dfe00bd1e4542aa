"""A reader of words of the tests' own, simpler than the auditor's, to judge the simulated texts."""

import re
from typing import Any

STOP_WORDS = frozenset(
    re.findall(
        r"\S+",
        "a an and are at because been by for from has have in is it its of on one or our over s so "
        "the their they this to two was were what which will with while already",
    )
)


def content_words(text: str) -> frozenset[str]:
    """Lower-case words and numbers without stop words, cut to six letters as a crude stem."""
    words = re.findall(r"[a-z0-9]+", text.lower())
    return frozenset(word[:6].removesuffix("s") for word in words if word not in STOP_WORDS)


def context_of(turn: dict[str, Any]) -> list[str]:
    """All that the agent could read in a turn."""
    texts = [message["content"] for message in turn["inputs"]]
    texts += [item["content"] for item in turn["retrieved"]]
    return texts + [str(call["result"]) for call in turn["tool_calls"]]
