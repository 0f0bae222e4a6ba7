"""WebSockets (RFC 6455), the server's side: messages in, messages out."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import struct
from collections.abc import Callable
from typing import Final

from .messages import BadRequestError, Request

_GUID: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_CONTINUATION, _TEXT, _BINARY, _CLOSE, _PING, _PONG = 0, 1, 2, 8, 9, 10
_NORMAL, _PROTOCOL_ERROR, _NO_TEXT, _TOO_BIG = 1000, 1002, 1007, 1009
_CODES: Final = frozenset({*range(1000, 1004), *range(1007, 1012), *range(3000, 5000)})

Message = str | bytes


def accept(request: Request) -> bytes:
    """The answer that makes a connection a WebSocket.

    Raises:
        BadRequestError: The request does not ask for one as it should.
    """
    headers = request.headers
    asks = {part.strip() for part in headers.get("connection", "").lower().split(",")}
    if headers.get("upgrade", "").lower() != "websocket" or "upgrade" not in asks:
        raise BadRequestError(426, "this path is for WebSockets")
    key = headers.get("sec-websocket-key", "")
    if headers.get("sec-websocket-version") != "13" or not _is_key(key):
        raise BadRequestError(400, "sec-websocket-version 13 and a key of 16 bytes are needed")
    digest = base64.b64encode(hashlib.sha1(key.encode() + _GUID).digest())
    return (
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n"
        b"sec-websocket-accept: " + digest + b"\r\n\r\n"
    )


def _is_key(text: str) -> bool:
    try:
        return len(base64.b64decode(text, validate=True)) == 16
    except ValueError:
        return False


class WebSocket:
    """One connection after its handshake.

    Args:
        handshake: The answer to send first.
        on_message: Called with each message: text, or bytes.
        on_end: Called once when nothing comes any more.
        most: Bytes of one message.
    """

    def __init__(
        self,
        handshake: bytes,
        on_message: Callable[[WebSocket, Message], None],
        on_end: Callable[[], None],
        most: int,
    ) -> None:
        self._handshake, self._most = handshake, most
        self._on_message, self._on_end = on_message, on_end
        self._data = bytearray()
        self._parts: list[bytes] = []
        self._kind = 0
        self._is_closing = self._is_over = False
        self._transport: asyncio.Transport | None = None

    def begin(self, transport: asyncio.Transport, rest: bytes) -> None:
        """Begin, with the bytes that came behind the request."""
        self._transport = transport
        transport.write(self._handshake)
        if rest:
            self.receive(rest)

    def receive(self, data: bytes) -> None:
        """Take bytes in."""
        if self._is_over:
            return
        self._data += data
        try:
            while not self._is_over and self._read_frame():
                pass
        except BadRequestError as error:
            self.close(error.status, str(error))

    def send(self, message: Message) -> None:
        """Send a message, if the connection is still open."""
        if not self._is_closing:
            is_text = isinstance(message, str)
            data = message.encode() if isinstance(message, str) else message
            self._write(_TEXT if is_text else _BINARY, data)

    def close(self, code: int = _NORMAL, reason: str = "") -> None:
        """Say goodbye, and end."""
        if not self._is_closing:
            self._write(_CLOSE, struct.pack(">H", code) + reason.encode()[:120])
            self._is_closing = True
        self._end()
        if self._transport is not None:
            self._transport.close()

    def lost(self) -> None:
        """The connection is gone."""
        self._is_closing = True
        self._end()

    def pause(self) -> None:
        """Take nothing in for now."""
        if self._transport is not None:
            self._transport.pause_reading()

    def resume(self) -> None:
        """Take in again what comes."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def _end(self) -> None:
        if not self._is_over:
            self._is_over = True
            self._on_end()

    def _write(self, kind: int, data: bytes) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        size = len(data)
        if size < 126:
            head = struct.pack(">BB", 0x80 | kind, size)
        elif size < 1 << 16:
            head = struct.pack(">BBH", 0x80 | kind, 126, size)
        else:
            head = struct.pack(">BBQ", 0x80 | kind, 127, size)
        self._transport.write(head + data)

    def _read_frame(self) -> bool:
        """Take one frame out; whether it was whole.

        Raises:
            BadRequestError: It breaks the rules; its status is the code to close with.
        """
        data = self._data
        if len(data) < 2:
            return False
        is_last, kind, size, start = bool(data[0] & 0x80), data[0] & 0x0F, data[1] & 0x7F, 2
        if data[0] & 0x70 or not data[1] & 0x80:
            raise BadRequestError(_PROTOCOL_ERROR, "frames have to be masked, and not extended")
        if kind >= _CLOSE and (size > 125 or not is_last):
            raise BadRequestError(_PROTOCOL_ERROR, "a control frame is too long, or in parts")
        if size >= 126:
            start = 4 if size == 126 else 10
            if len(data) < start:
                return False
            size = int.from_bytes(data[2:start], "big")
        if size + sum(map(len, self._parts)) > self._most:
            raise BadRequestError(_TOO_BIG, f"a message of more than {self._most:,} bytes")
        end = start + 4 + size
        if len(data) < end:
            return False
        payload = _unmasked(bytes(data[start + 4 : end]), bytes(data[start : start + 4]))
        del data[:end]
        self._take(kind, payload, is_last)
        return True

    def _take(self, kind: int, data: bytes, is_last: bool) -> None:
        if kind == _PING:
            self._write(_PONG, data)
        elif kind == _PONG:
            pass
        elif kind == _CLOSE:
            code = struct.unpack(">H", data[:2])[0] if len(data) >= 2 else _NORMAL
            is_right = len(data) != 1 and code in _CODES
            self.close(code if is_right else _PROTOCOL_ERROR)
        elif kind not in (_CONTINUATION, _TEXT, _BINARY) or (kind == 0) != bool(self._kind):
            raise BadRequestError(_PROTOCOL_ERROR, "this frame does not belong here")
        else:
            self._kind = kind or self._kind
            self._parts.append(data)
            if len(self._parts) > 1024:
                raise BadRequestError(_TOO_BIG, "a message of more than 1,024 parts")
            if is_last:
                message, kind = b"".join(self._parts), self._kind
                self._parts, self._kind = [], 0
                self._on_message(self, message if kind == _BINARY else _text(message))


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise BadRequestError(_NO_TEXT, "a text message is no UTF-8") from None


def _unmasked(data: bytes, mask: bytes) -> bytes:
    if not data:
        return data
    key = (mask * (len(data) // 4 + 1))[: len(data)]
    return (int.from_bytes(data, "big") ^ int.from_bytes(key, "big")).to_bytes(len(data), "big")
