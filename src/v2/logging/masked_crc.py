"""The checksum of TensorBoard's files: CRC-32C, rotated and shifted so that it may be nested."""

from __future__ import annotations

from typing import Final

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
