import json
from collections.abc import Callable
from dataclasses import dataclass, field

import httpx

from cli.importing.records import BadRecord

Item = dict[str, object]
ReadFile = Callable[..., tuple[list[Item], list[BadRecord]]]
WriteLines = Callable[..., str]


@dataclass
class WriteOnceService:
    """What the two endpoints promise: write-once by id, duplicates by equal content."""

    rows: dict[tuple[str, object], Item] = field(default_factory=dict)
    batches: list[tuple[str, list[Item]]] = field(default_factory=list)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        items = json.loads(request.content)
        assert request.url.params["on_error"] == "skip"
        self.batches.append((request.url.path, items))
        id_field = "turn_id" if request.url.path == "/v1/turns" else "event_id"
        accepted, duplicates, rejected = 0, 0, []
        for index, item in enumerate(items):
            key = (request.url.path, item[id_field])
            if item.get("output") == "refuse me":
                rejected.append({"index": index, "pointer": "/output", "reason": "is refused"})
            elif key not in self.rows:
                self.rows[key] = item
                accepted += 1
            elif self.rows[key] == item:
                duplicates += 1
            else:
                reason = "is taken by other content"
                rejected.append({"index": index, "pointer": f"/{id_field}", "reason": reason})
        answer = {"accepted": accepted, "duplicates": duplicates, "rejected": rejected}
        return httpx.Response(200, json=answer)
