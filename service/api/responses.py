from typing import Any

import msgspec
from starlette.responses import Response

_encoder = msgspec.json.Encoder()


def as_json(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A strict JSON response, encoded at C speed; raw JSON parts go out as they are stored."""
    return Response(_encoder.encode(body), status, headers, "application/json")
