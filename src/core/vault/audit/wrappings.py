"""Recognise pickles of every protocol, and files that wrap them, by their first bytes."""

from __future__ import annotations

import base64
import os
import re
import struct
from contextlib import suppress
from typing import Final

from ..file_names import WORKER_FILE

HEAD: Final = 512
_PICKLES: Final = (".pkl", ".pickle", ".pt", ".pth", ".ckpt", ".joblib")
_MSGPACK: Final = (".msgpack", ".msgpck", ".mpk")
_NAME: Final = rb"[A-Za-z_][\w.]{0,200}\r?\n"
# A name, or a call of one, in the protocols that are text.
_GLOBAL: Final = re.compile(rb"[(\]}ld0-9p\n]{0,8}c" + _NAME + _NAME)
_INST: Final = re.compile(rb"\([^\0]{0,400}\ni" + _NAME + _NAME)
# How pickles, zlib, gzip, npy, zip and names in text begin in base64.
_BASE64: Final = ("gA", "eJ", "eN", "eA", "eF", "H4sI", "k05VTVBZ", "UEsD", "Y", "KG", "KF")
_HEXADECIMAL: Final = re.compile(r"80(?:02|03|04|05)[0-9a-f]{4}")
_NPY: Final = b"\x93NUMPY"
_ZLIB: Final = tuple(b"\x78" + level for level in (b"\x01", b"\x5e", b"\x9c", b"\xda"))


def starts_pickle(head: bytes) -> bool:
    """True if bytes begin as a pickle does that names something."""
    if len(head) > 2 and head[0] == 0x80 and 2 <= head[1] <= 5:
        return True
    return bool(_GLOBAL.match(head) or _INST.match(head))


def kind_of_bytes(head: bytes, name: str) -> str:
    """The kind of a file by its first bytes, else by its name; empty if no pickle can be in it.

    Example:
        >>> kind_of_bytes(bytes.fromhex("8004"), "notes.txt"), kind_of_bytes(b"hello", "x.pkl")
        ('', 'pickle')
        >>> kind_of_bytes(b"cos" + bytes([10]) + b"system" + bytes([10]), "")
        'pickle'
    """
    ending = os.path.splitext(name)[1].lower()
    if head.startswith(b"PK\x03\x04"):
        return "zip"
    if head.startswith(_NPY):
        return "npy"
    if ending in _MSGPACK:
        return "msgpack"
    if starts_pickle(head):
        return "pickle"
    if head.startswith((b"\x1f\x8b", *_ZLIB)):
        return "packed"
    if ending in _PICKLES or WORKER_FILE.fullmatch(name):
        return "pickle"
    return "json" if ending in (".json", ".jsonl") or head.startswith((b"{", b"[")) else ""


def npy_header(data: bytes | memoryview) -> int:
    """How many bytes of an `.npy` file come before its items."""
    head = bytes(data[:12]).ljust(12, b"\0")
    if head[6] == 1:
        return 10 + int(struct.unpack_from("<H", head, 8)[0])
    return 12 + int(struct.unpack_from("<I", head, 8)[0])


def bytes_in_text(text: str) -> bytes:
    """The bytes that text stands for: base64, hexadecimal, or a pickle of the text protocols."""
    with suppress(ValueError):
        if text.startswith(_BASE64) and len(text) >= 8:
            return base64.b64decode(text, validate=True)
        if text.startswith("80") and _HEXADECIMAL.match(text):
            return bytes.fromhex(text)
        if text.startswith(("c", "(")) and "\n" in text[:HEAD]:
            return text.encode("ascii")
    return b""
