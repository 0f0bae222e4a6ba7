"""Bytes of a connection as requests: strictly, and never more of them than was agreed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from .messages import BadRequestError, Request

_TOKEN: Final = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_TARGET: Final = re.compile(rb"/[\x21-\x7e]*|\*")
_VALUE: Final = re.compile(rb"[\t\x20-\x7e\x80-\xff]*")
_LENGTH: Final = re.compile(rb"[0-9]{1,18}")
_SIZE: Final = re.compile(rb"([0-9a-fA-F]{1,15})(?:;[\t\x20-\x7e]*)?")


@dataclass(frozen=True)
class HttpLimits:
    """How much one connection may ask for.

    Args:
        max_head: Bytes of a request's first line and headers.
        max_headers: How many of them.
        max_body: Bytes of a body.
        read_timeout: Seconds until a begun request has to be whole.
        idle_timeout: Seconds that a connection may wait for its next request.
        write_timeout: Seconds until an answer has to be taken.
        max_connections: How many there may be at a time.
    """

    max_head: int = 16 << 10
    max_headers: int = 64
    max_body: int = 16 << 20
    read_timeout: float = 20.0
    idle_timeout: float = 75.0
    write_timeout: float = 20.0
    max_connections: int = 4096


class RequestParser:
    r"""Cuts requests out of what comes in.

    Attributes:
        wants_continue: Whether the sender waits for a go-ahead before its body.
        keeps_alive: Whether the sender of the last request wants to send another one.

    Example:
        >>> parser = RequestParser(HttpLimits())
        >>> parser.feed(b"GET / HTTP/1.1\r\nhost: here\r\n\r\nGET")
        >>> parser.next_request().method, parser.next_request(), parser.is_begun
        ('GET', None, True)
    """

    def __init__(self, limits: HttpLimits) -> None:
        self._limits = limits
        self._data = bytearray()
        self._head: Request | None = None
        self._length = 0
        self._chunks: bytearray | None = None
        self.wants_continue = False
        self.keeps_alive = True

    def feed(self, data: bytes) -> None:
        """Take bytes in."""
        self._data += data

    @property
    def is_begun(self) -> bool:
        """Whether part of a request is there."""
        return bool(self._data) or self._head is not None

    def rest(self) -> bytes:
        """What came in after the last request, taken out."""
        rest = bytes(self._data)
        self._data.clear()
        return rest

    def next_request(self) -> Request | None:
        """The next request, once it is whole.

        Raises:
            BadRequestError: There will never be one.
        """
        head = self._head
        if head is None:
            head = self._read_head()
            if head is None:
                return None
            self._head = head
        if self._chunks is not None:
            if not self._read_chunks(self._chunks):
                return None
            head.body = bytes(self._chunks)
            self._chunks = None
        else:
            if len(self._data) < self._length:
                return None
            head.body = bytes(self._data[: self._length])
            del self._data[: self._length]
        self._head, self.wants_continue = None, False
        return head

    def _read_head(self) -> Request | None:
        data = self._data
        while data.startswith(b"\r\n"):  # some senders end a body with one too many
            del data[:2]
        end = data.find(b"\r\n\r\n", 0, self._limits.max_head + 4)
        if end < 0:
            if len(data) > self._limits.max_head:
                raise BadRequestError(431, f"headers of more than {self._limits.max_head:,} bytes")
            return None
        first, *lines = bytes(data[:end]).split(b"\r\n")
        del data[: end + 4]
        parts = first.split(b" ")
        if len(parts) != 3 or not _TOKEN.fullmatch(parts[0]) or not _TARGET.fullmatch(parts[1]):
            raise BadRequestError(400, "the first line is not of the form METHOD /PATH HTTP/1.1")
        if parts[2] not in (b"HTTP/1.1", b"HTTP/1.0"):
            raise BadRequestError(400, "only HTTP/1.1 and HTTP/1.0 are spoken here")
        if len(lines) > self._limits.max_headers:
            raise BadRequestError(431, f"more than {self._limits.max_headers} headers")
        headers: dict[str, str] = {}
        for line in lines:
            name, colon, value = line.partition(b":")
            value = value.strip(b" \t")
            if not colon or not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(value):
                raise BadRequestError(400, "a header is not of the form NAME: VALUE")
            key, text = name.decode().lower(), value.decode("latin-1")
            if key in headers:
                if key in ("content-length", "transfer-encoding", "host"):
                    raise BadRequestError(400, f"the header {key} stands there twice")
                text = f"{headers[key]}, {text}"
            headers[key] = text
        self._frame(headers, is_1_1=parts[2] == b"HTTP/1.1")
        return Request(parts[0].decode(), parts[1].decode(), headers, b"")

    def _frame(self, headers: dict[str, str], *, is_1_1: bool) -> None:
        """How long the body is, and whether the connection goes on after it."""
        if is_1_1 and "host" not in headers:
            raise BadRequestError(400, "there is no header host")
        connection = headers.get("connection", "").lower()
        self.keeps_alive = "close" not in connection if is_1_1 else "keep-alive" in connection
        self.wants_continue = headers.get("expect", "").lower() == "100-continue"
        coding, length = headers.get("transfer-encoding"), headers.get("content-length")
        self._length, self._chunks = 0, None
        if coding is not None:
            if coding.lower() != "chunked" or length is not None or not is_1_1:
                raise BadRequestError(400, "the body's length is told in an unknown way")
            self._chunks = bytearray()
        elif length is not None:
            if not _LENGTH.fullmatch(length.encode("latin-1")):
                raise BadRequestError(400, "content-length is no number")
            self._length = int(length)
            self._check_size(self._length)

    def _read_chunks(self, body: bytearray) -> bool:
        """Join what chunks are there; whether the last one was."""
        data = self._data
        while True:
            end = data.find(b"\r\n", 0, 1024)
            if end < 0:
                if len(data) >= 1024:
                    raise BadRequestError(400, "a chunk does not tell its size")
                return False
            size_line = _SIZE.fullmatch(data[:end])
            if size_line is None:
                raise BadRequestError(400, "a chunk does not tell its size")
            size = int(size_line[1], 16)
            self._check_size(len(body) + size)
            if size == 0:
                return self._read_trailers(end + 2)
            if len(data) < end + size + 4:
                return False
            if data[end + 2 + size : end + 4 + size] != b"\r\n":
                raise BadRequestError(400, "a chunk is longer than it says")
            body += data[end + 2 : end + 2 + size]
            del data[: end + 4 + size]

    def _read_trailers(self, start: int) -> bool:
        data = self._data
        if data[start : start + 2] == b"\r\n":
            del data[: start + 2]
            return True
        end = data.find(b"\r\n\r\n", start, start + self._limits.max_head)
        if end < 0:
            if len(data) - start > self._limits.max_head:
                raise BadRequestError(431, f"trailers of more than {self._limits.max_head:,} bytes")
            return False
        del data[: end + 4]
        return True

    def _check_size(self, size: int) -> None:
        if size > self._limits.max_body:
            raise BadRequestError(413, f"a body of more than {self._limits.max_body:,} bytes")
