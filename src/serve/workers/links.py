"""What workers say to each other: questions with a number, and their answers, over a socket."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, cast

from ..errors import ServeError
from ..wire import MSGPACK_CODEC

Reply = Callable[[int, Any], None]
"""Called with a status and a document."""
Handler = Callable[[str, Any, Reply], None]
"""Called with the kind of a question, what it holds, and how to answer."""

_HEAD: Final = 4
_PATIENCE: Final = 15.0
"""Seconds in which a worker that died may begin anew, before those are refused who wait for it."""


class Frames(asyncio.Protocol):
    """Messages of any length, those of one turn of the loop written together.

    Args:
        take: Called with each message.
        lost: Called when the other end is gone.
    """

    def __init__(self, take: Callable[[Frames, Any], None], lost: Callable[[Frames], None]) -> None:
        self._take, self._lost = take, lost
        self._received = bytearray()
        self._out: list[bytes] = []
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The other end is there."""
        # The transports of uvloop do not derive from asyncio.Transport.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Bytes of messages."""
        buffer = self._received
        buffer += data
        at = 0
        while len(buffer) - at >= _HEAD:
            end = at + _HEAD + int.from_bytes(buffer[at : at + _HEAD], "big")
            if end > len(buffer):
                break
            body = bytes(buffer[at + _HEAD : end])
            at = end
            self._take(self, MSGPACK_CODEC.decode(body))
        del buffer[:at]

    def connection_lost(self, error: Exception | None) -> None:
        """The other end is gone."""
        self._transport = None
        self._lost(self)

    def send(self, message: bytes) -> None:
        """Write a message soon."""
        if not self._out:
            asyncio.get_running_loop().call_soon(self._flush)
        self._out += (len(message).to_bytes(_HEAD, "big"), message)

    def close(self) -> None:
        """Hang up when all is written."""
        self._flush()
        if self._transport is not None:
            self._transport.close()

    def _flush(self) -> None:
        if self._transport is not None and self._out:
            self._transport.write(b"".join(self._out))
        self._out.clear()


class Link:
    """Asks one other worker, and its successor if it dies before it has answered."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._frames: Frames | None = None
        self._waiting: dict[int, tuple[bytes, Reply]] = {}
        self._number = 0
        self._task: asyncio.Task[None] | None = None
        self._is_over = False

    def ask(self, kind: str, content: Any, reply: Reply) -> None:
        """Ask, now or as soon as it is there.

        Raises:
            ServeError: What is asked has no form on the wire.
        """
        self._number += 1
        try:
            message = MSGPACK_CODEC.encode([self._number, kind, content])
        except (ValueError, TypeError, OverflowError) as error:
            raise ServeError(
                400, "bad_field", f"a value that cannot be passed on: {str(error)[:120]}"
            ) from None
        self._waiting[self._number] = (message, reply)
        if self._frames is not None:
            self._frames.send(message)
        elif self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._connect())

    async def tell(self, kind: str, content: Any = None) -> tuple[int, Any]:
        """Ask, and wait for the status and the document."""
        answered: asyncio.Future[tuple[int, Any]] = asyncio.get_running_loop().create_future()

        def reply(status: int, document: Any) -> None:
            if not answered.done():
                answered.set_result((status, document))

        self.ask(kind, content, reply)
        return await answered

    async def is_there(self) -> bool:
        """Whether it listens just now."""
        try:
            await self._connect_once()
        except OSError:
            return False
        return True

    def close(self) -> None:
        """Ask no more."""
        self._is_over = True
        if self._task is not None:
            self._task.cancel()
        if self._frames is not None:
            self._frames.close()

    async def _connect_once(self) -> None:
        if self._frames is None:
            loop = asyncio.get_running_loop()
            _, self._frames = await loop.create_unix_connection(
                lambda: Frames(self._answered, self._lost), self._path
            )
            for message, _ in self._waiting.values():
                self._frames.send(message)

    async def _connect(self) -> None:
        end = asyncio.get_running_loop().time() + _PATIENCE
        while not self._is_over:
            try:
                await self._connect_once()
                break
            except OSError:
                if asyncio.get_running_loop().time() > end:
                    self._refuse()
                    break
                await asyncio.sleep(0.03)
        self._task = None

    def _refuse(self) -> None:
        waiting, self._waiting = self._waiting, {}
        error = ServeError(503, "no_worker", "the worker that has this session is not there")
        for _, reply in waiting.values():
            reply(error.status, error.to_dict())

    def _answered(self, frames: Frames, message: Any) -> None:
        number, status, document = message
        _, reply = self._waiting.pop(number, (b"", None))
        if reply is not None:
            reply(status, document)

    def _lost(self, frames: Frames) -> None:
        self._frames = None
        if self._waiting and not self._is_over and self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._connect())


class Questions:
    """Answers what other workers ask.

    Attributes:
        asking: Who is connected.
    """

    def __init__(self, path: str, handle: Handler) -> None:
        self._path, self._handle = path, handle
        self.asking: set[Frames] = set()
        self._server: asyncio.Server | None = None

    async def listen(self) -> None:
        """Answer from now on."""
        with suppress(FileNotFoundError):
            os.unlink(self._path)
        self._server = await asyncio.get_running_loop().create_unix_server(
            self._connected, self._path
        )

    def close(self) -> None:
        """Refuse further requests."""
        if self._server is not None:
            self._server.close()
        for each in [*self.asking]:
            each.close()

    def _connected(self) -> Frames:
        frames = Frames(self._pass_on, self.asking.discard)
        self.asking.add(frames)
        return frames

    def _pass_on(self, frames: Frames, message: Any) -> None:
        number, kind, content = message

        def reply(status: int, document: Any) -> None:
            frames.send(MSGPACK_CODEC.encode([number, status, document]))

        try:
            self._handle(kind, content, reply)
        except ServeError as error:
            reply(error.status, error.to_dict())
