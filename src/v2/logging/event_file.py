"""TensorBoard's event files, written without TensorBoard: protocol buffers by hand.

A file is a sequence of records; a record is

    length (uint64) | masked CRC-32C of the length | an Event | masked CRC-32C of the Event

and of an Event these fields are written:

    1 wall_time (double)   2 step (int64)   3 file_version (text)   5 summary   7 session_log
    summary: 1 value, any number of times: 1 tag (text)   2 simple_value (float)
    session_log: 1 status (1: it starts), by which TensorBoard drops what older files have from
    that step on
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Mapping
from pathlib import Path
from time import time
from typing import Final

_VARINT: Final = 0
_DOUBLE: Final = 1
_BYTES: Final = 2
_FLOAT: Final = 5


class EventFile:
    """Writes scalars for TensorBoard.

    Args:
        folder: Where the file goes; it is named as TensorBoard expects it.
        suffix: Makes its name another one than that of a file of the same second.
    """

    def __init__(self, folder: str | os.PathLike[str], suffix: str = "") -> None:
        folder_path = Path(folder)
        folder_path.mkdir(parents=True, exist_ok=True)
        now = time()
        name = f"events.out.tfevents.{int(now):010d}.{socket.gethostname()}.{os.getpid()}{suffix}"
        self.path = folder_path / name
        self._file = self.path.open("ab")
        self._write(_double(1, now) + _text(3, "brain.Event:2"))

    def add_scalars(self, values: Mapping[str, float], step: int) -> None:
        """Write numbers by tag."""
        summary = b"".join(
            _block(1, _text(1, tag) + _float(2, value)) for tag, value in values.items()
        )
        self._write(_double(1, time()) + _integer(2, step) + _block(5, summary))
        self._file.flush()

    def begin_again(self, step: int) -> None:
        """Let this file take the place of what older ones in the folder have from a step on.

        Args:
            step: The first one that is written anew.
        """
        self._write(_double(1, time()) + _integer(2, step) + _block(7, _integer(1, 1)))

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, event: bytes) -> None:
        length = struct.pack("<Q", len(event))
        self._file.write(length)
        self._file.write(struct.pack("<I", masked_crc32c(length)))
        self._file.write(event)
        self._file.write(struct.pack("<I", masked_crc32c(event)))


def _varint(value: int) -> bytes:
    value &= 0xFFFFFFFFFFFFFFFF
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _key(field: int, kind: int) -> bytes:
    return _varint(field << 3 | kind)


def _integer(field: int, value: int) -> bytes:
    return _key(field, _VARINT) + _varint(value)


def _double(field: int, value: float) -> bytes:
    return _key(field, _DOUBLE) + struct.pack("<d", value)


def _float(field: int, value: float) -> bytes:
    return _key(field, _FLOAT) + struct.pack("<f", value)


def _block(field: int, data: bytes) -> bytes:
    return _key(field, _BYTES) + _varint(len(data)) + data


def _text(field: int, value: str) -> bytes:
    return _block(field, value.encode())


_POLYNOMIAL: Final = 0x82F63B78
_MASK_DELTA: Final = 0xA282EAD8


def _table() -> tuple[int, ...]:
    entries = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = (value >> 1) ^ (_POLYNOMIAL if value & 1 else 0)
        entries.append(value)
    return tuple(entries)


_TABLE: Final = _table()


def crc32c(data: bytes) -> int:
    """CRC-32C (Castagnoli) of some bytes.

    Example:
        >>> hex(crc32c(b"123456789"))
        '0xe3069283'
    """
    value = 0xFFFFFFFF
    for byte in data:
        value = _TABLE[(value ^ byte) & 0xFF] ^ (value >> 8)
    return value ^ 0xFFFFFFFF


def masked_crc32c(data: bytes) -> int:
    """The checksum as TFRecord files hold it."""
    value = crc32c(data)
    return (((value >> 15) | (value << 17)) + _MASK_DELTA) & 0xFFFFFFFF
