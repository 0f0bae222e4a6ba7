"""Uvicorn's HTTP protocol with limits that uvicorn has no settings for."""

from __future__ import annotations

import asyncio
import json
import math
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

if TYPE_CHECKING:
    from .application import Receive, Scope, Send

_MOST_HEAD: Final = 16 << 10
_MOST_HEADERS: Final = 64
_GRACE: Final = 0.25
"""Seconds in which a client may still send a request during the shutdown of the server."""
_REFUSAL: Final = 1.0
"""Seconds for which a connection over the limit is kept to be answered."""
_MOST_REFUSED: Final = 16


class LimitedProtocol(HttpToolsProtocol):
    """One connection: bounded in time, in the size of its headers, and in number.

    Attributes:
        most: Connections at a time; on more, only /healthz is answered.
        read_timeout: Seconds for a request to arrive completely.
        refused: The last connections over the limit, which wait for a request to refuse.
    """

    most: int
    read_timeout: float
    refused: deque[LimitedProtocol]

    _begun = math.inf  # when the first byte of an incomplete request arrived
    _is_in_head = _is_draining = _is_over = False
    _head = 0
    _unread = math.inf  # when a response was first seen waiting to be read

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the clock; refuse connections over the limit."""
        self._joined = _JoinedWrites(transport, self.loop)
        super().connection_made(self._joined)  # type: ignore[arg-type]
        self._begun = self.loop.time()
        if len(self.connections) > self.most:
            self._is_over, self._begun = True, self._begun - self.read_timeout + _REFUSAL
            self.app = self._only_health
            self.refused.append(self)
            if len(self.refused) > _MOST_REFUSED:
                self.refused.popleft()._refuse(503, "too many connections")

    def data_received(self, data: bytes) -> None:
        """Feed the parser, and refuse headers that do not end."""
        if self._begun == math.inf:
            self._begun = self.loop.time()
        was_in_head = self._is_in_head
        self._head += len(data)
        super().data_received(data)
        if not (was_in_head and self._is_in_head):
            self._head = len(data) if self._is_in_head else 0
        elif self._head > _MOST_HEAD:
            self._refuse(431, f"headers of more than {_MOST_HEAD:,} bytes")

    def eof_received(self) -> bool:  # type: ignore[override]
        """Answer complete requests of a client that has closed its side."""
        if self.cycle is None or self.cycle.response_complete or self.cycle.more_body:
            self._joined.flush()
            return False
        self.cycle.keep_alive = False
        return True

    def on_message_begin(self) -> None:
        """Start the clock of a request."""
        super().on_message_begin()
        self._begun, self._is_in_head = self.loop.time(), True

    def on_headers_complete(self) -> None:
        """Check the request line and the headers, and start the application."""
        self._is_in_head = False
        refused = 0 if self.url[:1] == b"/" else 400
        if len(self.headers) > _MOST_HEADERS or (
            self._head > _MOST_HEAD
            and len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
            > _MOST_HEAD
        ):
            refused = 431
        if refused:
            app, self.app = self.app, _refusing(refused)
            super().on_headers_complete()
            self.app = app
        else:
            super().on_headers_complete()
        if self._is_draining and self.cycle is not None:
            self.cycle.keep_alive = False

    def on_message_complete(self) -> None:
        """Stop the clock: the request is complete."""
        self._begun = math.inf
        super().on_message_complete()

    def expire(self, now: float) -> None:
        """End the connection if a request takes too long to arrive, or a response to be read."""
        if not self.transport.get_write_buffer_size():
            self._unread = math.inf
        elif now - self._unread > self.read_timeout:
            self.transport.abort()
        else:
            self._unread = min(self._unread, now)
        if now - self._begun <= self.read_timeout or self.transport.is_closing():
            return
        if self._is_over:
            self._refuse(503, "too many connections")
        elif self._is_in_head or (self.cycle is not None and self.cycle.more_body):
            self._refuse(408, "the request did not come to its end in time")
        elif self.cycle is None:
            self.transport.close()

    def handle_websocket_upgrade(self) -> None:
        """Upgrade, unless there are too many connections."""
        self._begun = math.inf
        if self._is_over:
            self._refuse(503, "too many connections")
        else:
            super().handle_websocket_upgrade()

    def shutdown(self) -> None:
        """End after the response that is due; an idle client may send one more request."""
        self._is_draining = True
        if self.cycle is None or self.cycle.response_complete:
            self.loop.call_later(_GRACE, super().shutdown)
        else:
            super().shutdown()

    def _refuse(self, status: int, error: str) -> None:
        cycle = self.cycle
        if self.transport.is_closing():
            return
        if cycle is None or (cycle.response_complete if self._is_in_head else
                             not cycle.response_started):  # fmt: skip
            self.transport.write(_refusal(status, error))
        self.transport.close()

    async def _only_health(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_health = scope["type"] == "http" and scope["path"] == "/healthz"
        app: Any = self.config.loaded_app if is_health else _refusing(503)
        await app(scope, receive, send)
        self.transport.close()


class _JoinedWrites:
    """Transport that sends the head and the body of a response with one system call."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._held: list[bytes] = []
        self.abort, self.is_closing = transport.abort, transport.is_closing
        self.pause_reading, self.resume_reading = transport.pause_reading, transport.resume_reading
        self.get_extra_info, self.set_protocol = transport.get_extra_info, transport.set_protocol
        self.get_write_buffer_size = transport.get_write_buffer_size

    def write(self, data: bytes) -> None:
        """Send data together with what else is written in this iteration of the loop."""
        if not self._held:
            self._loop.call_soon(self.flush)
        self._held.append(data)

    def close(self) -> None:
        """Close the connection after all data is sent."""
        self.flush()
        self._transport.close()

    def flush(self) -> None:
        """Send now."""
        if self._held:
            data, self._held = b"".join(self._held), []
            self._transport.write(data)


def _refusing(status: int) -> Any:
    """Return an ASGI application that answers with one error."""
    error = {
        400: "the first line is not of the form METHOD /PATH HTTP/1.1",
        431: f"more than {_MOST_HEADERS} headers, or {_MOST_HEAD:,} bytes of them",
        503: "too many connections",
    }[status]

    async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
        _, _, body = _refusal(status, error).partition(b"\r\n\r\n")
        headers = [(b"content-type", b"application/json"), (b"connection", b"close"),
                   (b"content-length", b"%d" % len(body))]  # fmt: skip
        if status == 503:
            headers.append((b"retry-after", b"1"))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return refuse


def _refusal(status: int, error: str) -> bytes:
    names = {408: "request_timeout", 431: "request_header_fields_too_large",
             400: "bad_request", 503: "service_unavailable"}  # fmt: skip
    body = json.dumps({"error": error, "code": names[status]}).encode()
    retry = b"retry-after: 1\r\n" if status == 503 else b""
    return STATUS_LINE[status] + (
        b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n%s\r\n%s"
        % (len(body), retry, body)
    )
