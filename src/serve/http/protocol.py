"""One connection: requests in, answers out in their order, no longer than it may take."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import ClassVar, cast
from typing import Protocol as Interface

from .messages import BadRequestError, Request, Response, error_response
from .parsing import HttpLimits, RequestParser
from .websocket import WebSocket

_log = logging.getLogger("rlconnect.serve")

Answer = Callable[[Response], None]
"""Sends the answer to one request; called once, now or later."""


class App(Interface):
    """What answers requests."""

    def handle(self, request: Request, answer: Answer) -> WebSocket | None:
        """Answer a request now or later, or give what goes on with the connection."""


class Connections:
    """All connections of a server, and the clock that ends those that take too long.

    Attributes:
        is_draining: Whether each connection ends with its next answer.
    """

    def __init__(
        self, app: App, limits: HttpLimits, kind: type[HttpConnection] | None = None
    ) -> None:
        self.app, self.limits = app, limits
        self.open: set[HttpConnection] = set()
        self.is_draining = False
        self._kind = kind or HttpConnection

    def protocol(self) -> HttpConnection:
        """For a new connection."""
        return self._kind(self)

    async def watch(self) -> None:
        """End connections that are late, for as long as the server runs."""
        while True:
            await asyncio.sleep(0.5)
            now = asyncio.get_running_loop().time()
            for connection in [*self.open]:
                if now > connection.deadline:
                    connection.expire()


class HttpConnection(asyncio.Protocol):
    """One connection.

    Attributes:
        deadline: When it is late, by the loop's clock.
        is_busy: Whether a request waits for its answer.
    """

    refusal: ClassVar[Callable[..., Response]] = staticmethod(error_response)
    """Makes the answer that says what is wrong, of a status and a text."""

    def __init__(self, connections: Connections) -> None:
        self._all = connections
        self._limits = connections.limits
        self._parser = self.new_parser(connections.limits)
        self._socket: WebSocket | None = None
        self._is_ending = self._is_full = self._is_eof = False
        self.is_busy = False
        self.deadline = 0.0

    def new_parser(self, limits: HttpLimits) -> RequestParser:
        """What cuts requests out of the bytes that come."""
        return RequestParser(limits)

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client is there."""
        # The transports of uvloop do not derive from asyncio.Transport.
        self._transport = cast(asyncio.Transport, transport)
        self._clock = asyncio.get_running_loop().time
        peer = transport.get_extra_info("peername")
        self._peer = str(peer[0]) if isinstance(peer, tuple) else ""
        self.deadline = self._clock() + self._limits.read_timeout
        if len(self._all.open) >= self._limits.max_connections:
            self._end(self.refusal(503, "too many connections", retry_after="1"))
            return
        self._all.open.add(self)

    def data_received(self, data: bytes) -> None:
        """Bytes of requests, or of messages."""
        if self._is_ending:
            return
        if self._socket is not None:
            self._socket.receive(data)
            return
        if not self._parser.is_begun:
            self.deadline = self._clock() + self._limits.read_timeout
        self._parser.feed(data)
        if self.is_busy:
            # The next ones wait: a sender that does not has to.
            self._transport.pause_reading()
            self._is_full = True
            return
        self._go_on()

    def eof_received(self) -> bool:
        """The client sends no more; its requests are still answered."""
        if self._socket is not None or self._is_ending:
            return False
        self._is_eof = True
        if self._parser.is_begun and not self.is_busy:
            asyncio.get_running_loop().call_soon(self._next)
        return self.is_busy or self._parser.is_begun

    def connection_lost(self, error: Exception | None) -> None:
        """The client is gone."""
        self._is_ending = True
        self._all.open.discard(self)
        if self._socket is not None:
            self._socket.lost()

    def pause_writing(self) -> None:
        """The client takes no answers."""
        self.deadline = self._clock() + self._limits.write_timeout

    def resume_writing(self) -> None:
        """It does again."""
        self._rest()

    # Ours.

    def expire(self) -> None:
        """Too much time has passed."""
        if self._is_ending:
            self._transport.abort()
        elif self._socket is not None:
            self._socket.close(1001, "nothing came for too long")
            self._transport.abort()
        elif self._transport.get_write_buffer_size():
            self._transport.abort()
        elif self.is_busy:
            self._rest()  # it is we who are late
        elif self._parser.is_begun:
            self._end(self.refusal(408, "the request did not come to its end in time"))
        else:
            self._transport.close()

    def abort(self) -> None:
        """End at once."""
        self._transport.abort()

    def drain(self) -> None:
        """End after the answer that is due, or now if none is."""
        if self._socket is not None:
            self._socket.close(1001, "the server ends")
        elif not self.is_busy and not self._parser.is_begun:
            self._transport.close()

    def _go_on(self) -> None:
        """Answer what is whole."""
        try:
            request = self._parser.next_request()
        except BadRequestError as error:
            self._end(self.refusal(error.status, str(error)))
            return
        if request is None:
            if self._is_eof:
                self._close()
            elif self._parser.wants_continue:
                self._parser.wants_continue = False
                self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            return
        request.peer = self._peer
        self.is_busy = True
        self.deadline = float("inf")
        is_head = request.method == "HEAD"
        answered = False

        def answer(response: Response) -> None:
            nonlocal answered
            if answered:
                return
            answered = True
            self._answer(response, has_body=not is_head)

        try:
            self._socket = self._all.app.handle(request, answer)
        except Exception:
            _log.exception("a request could not be answered")
            answer(self.refusal(500, "the server made a mistake; its log tells which"))
        if self._socket is not None:
            self.is_busy = False
            self.deadline = float("inf")
            self._socket.begin(self._transport, self._parser.rest())

    def _answer(self, response: Response, *, has_body: bool) -> None:
        self.is_busy = False
        if self._transport.is_closing():
            return
        is_done = self._is_eof and not self._parser.is_begun
        closes = not self._parser.keeps_alive or self._all.is_draining or is_done
        self._transport.write(response.encoded(closes=closes, has_body=has_body))
        if closes:
            self._close()
            return
        self._rest()
        if self._is_full:
            self._is_full = False
            self._transport.resume_reading()
        if self._parser.is_begun:
            asyncio.get_running_loop().call_soon(self._next)

    def _next(self) -> None:
        if not (self.is_busy or self._is_ending or self._transport.is_closing()):
            self._go_on()

    def _rest(self) -> None:
        self.deadline = self._clock() + (
            self._limits.read_timeout if self._parser.is_begun else self._limits.idle_timeout
        )

    def _end(self, response: Response) -> None:
        """Say why, and hang up."""
        if not self._transport.is_closing():
            self._transport.write(response.encoded(closes=True))
        self._close()

    def _close(self) -> None:
        """Hang up when all that was written is taken.

        Who still sends a body would lose the answer to a reset: what comes is read and dropped
        for a moment.
        """
        self._is_ending = True
        self.deadline = self._clock() + 1.0
        try:
            self._transport.write_eof()
        except (OSError, NotImplementedError, RuntimeError):
            self._transport.close()
