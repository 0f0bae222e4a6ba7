"""Requests as they were read, and answers as they are sent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import parse_qs, unquote

JSON: Final = "application/json"
_LINES: Final = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus
}


@dataclass(slots=True)
class Request:
    """One request.

    Args:
        method: Such as "POST".
        target: The path with its query, as it was sent.
        headers: By name in small letters; of several with one name the last, joined by commas.
        body: All of it.
        peer: Who asks.
    """

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    peer: str = ""

    @property
    def path(self) -> str:
        """The path without its query, decoded."""
        return unquote(self.target.partition("?")[0])

    @property
    def query(self) -> dict[str, str]:
        """What stands behind the question mark."""
        return {
            name: values[-1] for name, values in parse_qs(self.target.partition("?")[2]).items()
        }

    @property
    def content_type(self) -> str:
        """Of the body, without parameters, in small letters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


@dataclass(slots=True)
class Response:
    """One answer.

    Args:
        status: Such as 200.
        body: All of it.
        content_type: Of the body.
        headers: Besides those of every answer.
    """

    status: int = 200
    body: bytes = b""
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)

    def encoded(self, *, closes: bool, has_body: bool = True) -> bytes:
        """As it goes over the wire.

        Args:
            closes: Whether the connection ends with it.
            has_body: False for an answer to HEAD, which only tells how long it would be.
        """
        lines = [
            _LINES[self.status],
            b"content-type: %s\r\ncontent-length: %d\r\n"
            % (self.content_type.encode(), len(self.body)),
        ]
        for name, value in self.headers.items():
            lines.append(f"{name}: {value}\r\n".encode("latin-1"))
        lines.append(b"connection: close\r\n\r\n" if closes else b"\r\n")
        if has_body:
            lines.append(self.body)
        return b"".join(lines)


def json_response(value: Any, status: int = 200, **headers: str) -> Response:
    """An answer of plain data."""
    body = json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(status, body, JSON, named)


def error_response(
    status: int, error: str, *, code: str = "", hint: str = "", **headers: str
) -> Response:
    """An answer that says what is wrong, and what to do about it."""
    document = {"error": error, "code": code or HTTPStatus(status).name.lower()}
    if hint:
        document["hint"] = hint
    return json_response(document, status, **headers)


class BadRequestError(Exception):
    """What was sent is no request that can be answered otherwise.

    Args:
        status: What to answer.
        error: What is wrong.
    """

    def __init__(self, status: int, error: str) -> None:
        super().__init__(error)
        self.status = status
