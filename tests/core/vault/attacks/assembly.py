"""Pickles put together opcode by opcode, as no honest writer would."""

import pickle
import struct
from dataclasses import dataclass
from typing import Literal

STOP = pickle.STOP


@dataclass(frozen=True)
class Attack:
    """One hostile file.

    Args:
        name: What a failing test is called.
        data: Its bytes.
        kind: How it is read.
        ends: "refused" must raise, "inert" must come out as data, "either" may do both.
    """

    name: str
    data: bytes
    kind: Literal["pickle", "torch", "msgpack"] = "pickle"
    ends: Literal["refused", "inert", "either"] = "inert"


def program(*parts):
    """A whole pickle."""
    return b"\x80\x04" + b"".join(parts) + STOP


def name(module, attribute):
    """GLOBAL: a name by module and attribute."""
    return b"c" + module.encode() + b"\n" + attribute.encode() + b"\n"


def stacked_name(module, attribute):
    """STACK_GLOBAL: the same from two strings."""
    return text(module) + text(attribute) + b"\x93"


def text(value):
    encoded = value.encode("utf-8", "surrogatepass")
    return b"X" + struct.pack("<I", len(encoded)) + encoded


def raw(value):
    return b"B" + struct.pack("<I", len(value)) + value


def number(value):
    if -(2**31) <= value < 2**31:
        return b"J" + struct.pack("<i", value)
    size = value.bit_length() // 8 + 1
    return b"\x8a" + bytes([size]) + value.to_bytes(size, "little", signed=True)


def group(*parts):
    """A tuple."""
    return b"(" + b"".join(parts) + b"t"


def row(*parts):
    """A list."""
    return b"(" + b"".join(parts) + b"l"


def table(*parts):
    """A dict of keys and values in turn."""
    return b"(" + b"".join(parts) + b"d"


def call(function, *arguments):
    """REDUCE."""
    return function + group(*arguments) + b"R"


def build(target, state):
    return target + state + b"b"


def put(index):
    return b"r" + struct.pack("<I", index)


def get(index):
    return b"j" + struct.pack("<I", index)


def repeated(function, arguments, times):
    """One call on the same remembered function and arguments, again and again."""
    remembered = function + put(0) + arguments + put(1) + b"00"
    return program(remembered, b"(", (get(0) + get(1) + b"R") * times, b"t")


def padded(data, size):
    """A pickle that carries so much ballast that its memory budget is that of a large file."""
    missing = size - len(data) - 6
    if missing <= 0:
        return data
    body = data[2:] if data[:1] == b"\x80" else data
    return b"\x80\x04" + raw(bytes(missing)) + b"0" + body


def dtype(code):
    return call(name("numpy", "dtype"), text(code), b"\x89", b"\x88")


def array(shape, kind, data, *, fortran=b"\x89"):
    """An array as `ndarray.__reduce__` writes it; arguments are opcodes."""
    empty = call(
        name("numpy.core.multiarray", "_reconstruct"),
        name("numpy", "ndarray"),
        group(number(0)),
        raw(b"b"),
    )
    return build(empty, group(number(1), shape, kind, fortran, data))


def buffer_array(data, kind, shape):
    """An array as protocol 5 writes it."""
    return call(name("numpy._core.numeric", "_frombuffer"), data, kind, shape, text("C"))
