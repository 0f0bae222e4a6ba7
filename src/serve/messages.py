"""Requests and responses, independent of the server that carries them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import parse_qs

JSON: Final = "application/json"


@dataclass(slots=True)
class Request:
    """One request.

    Args:
        method: Such as "POST".
        path: Decoded, without the query and without the prefix that the application is mounted at.
        headers: By name in lower case, as bytes.
        body: The complete body.
        query_string: The part of the URL after the question mark.
        peer: Address of the client.
    """

    method: str
    path: str
    headers: Mapping[bytes, bytes]
    body: bytes
    query_string: bytes = b""
    peer: str = ""

    @property
    def query(self) -> dict[str, str]:
        """Parameters of the query string; of several with one name the last."""
        parsed = parse_qs(self.query_string.decode("latin-1"))
        return {name: values[-1] for name, values in parsed.items()}

    @property
    def content_type(self) -> str:
        """Media type of the body, without parameters, in lower case."""
        return self.headers.get(b"content-type", b"").partition(b";")[0].decode("latin-1").strip(
        ).lower()  # fmt: skip


@dataclass(slots=True)
class Response:
    """One response.

    Args:
        status: HTTP status.
        body: The complete body.
        content_type: Media type of the body.
        headers: Further headers.
    """

    status: int = 200
    body: bytes = b""
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)


Answer = Callable[[Response], None]
"""Sends the response to one request; called once, now or later."""


def json_response(value: Any, status: int = 200, **headers: str) -> Response:
    """Return a response with plain data."""
    body = json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(status, body, JSON, named)


def error_response(
    status: int, error: str, *, code: str = "", hint: str = "", **headers: str
) -> Response:
    """Return a response that names the error and what to do about it."""
    document = {"error": error, "code": code or HTTPStatus(status).name.lower()}
    if hint:
        document["hint"] = hint
    return json_response(document, status, **headers)
