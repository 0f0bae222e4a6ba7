"""Numbers, text and bytes that pickle opcodes push, each held against the budget first."""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING, Any, Final

from ...errors import LimitExceededError

if TYPE_CHECKING:
    from .pickle_machine import PickleMachine
    from .pickle_opcodes import Handler

MAX_INT_BYTES: Final = 1024
MAX_INT_DIGITS: Final = 2500
_ESCAPE: Final = re.compile(r"\\(x[0-9a-fA-F]{2}|[0-7]{1,3}|.)", re.DOTALL)
_ESCAPED: Final[dict[str, str]] = dict(
    zip("\\'\"abfnrtv\n", ["\\", "'", '"', *"\a\b\f\n\r\t\v", ""], strict=True)
)


def constant(value: Any) -> Handler:
    """The same value each time."""

    def handler(m: PickleMachine) -> None:
        m.stack.append(value)

    return handler


def packed(layout: struct.Struct, cost: int) -> Handler:
    """A number of fixed size; `cost` is what its object takes."""
    unpack, size = layout.unpack_from, layout.size

    def handler(m: PickleMachine) -> None:
        start, budget = m.position, m.budget
        m.stack.append(unpack(m.data, start)[0])
        m.position = start + size
        if cost > budget.left:
            budget.spend(cost, "a number")
        budget.left -= cost

    return handler


def small_int(m: PickleMachine) -> None:
    """A number of one byte."""
    m.stack.append(m.data[m.position])
    m.position += 1


def decimal(m: PickleMachine, text: bytes) -> int:
    """The number that digits spell."""
    if len(text) > MAX_INT_DIGITS:
        raise LimitExceededError(f"a number of {len(text):,} digits")
    return int(text)


def integer(m: PickleMachine) -> None:
    """A number in decimal digits, or a boolean as protocol 0 has it."""
    text = m.line()
    if text in (b"00", b"01"):  # protocol 0 writes booleans so
        m.stack.append(text == b"01")
    else:
        m.push(decimal(m, text), 28 + len(text) // 2, "a number")


def long_integer(m: PickleMachine) -> None:
    """A number in decimal digits that ends in an L."""
    text = m.line().rstrip(b"L")
    m.push(decimal(m, text), 28 + len(text) // 2, "a number")


def long_bytes(m: PickleMachine, count: int) -> None:
    """A number in two's complement of so many bytes."""
    if not 0 <= count <= MAX_INT_BYTES:
        raise LimitExceededError(f"a number of {count:,} bytes")
    m.push(int.from_bytes(m.take(count), "little", signed=True), 28 + count, "a number")


def string(m: PickleMachine) -> None:
    """A string of Python 2, in quotes and with its escapes."""
    quoted = m.line()
    if len(quoted) < 2 or quoted[:1] != quoted[-1:] or quoted[:1] not in (b"'", b'"'):
        raise m.damaged("a string without quotes")
    m.budget.spend(73 + 2 * len(quoted), "a string")
    text = quoted[1:-1].decode("latin-1")
    escapes = text.count("\\")
    m.budget.work(escapes, "the pickle")
    m.budget.spend(64 * escapes, "a string")
    m.stack.append(_ESCAPE.sub(_unescape, text) if "\\" in text else text)


def _unescape(escape: re.Match[str]) -> str:
    """The character Python 2 wrote as this escape; one it did not know stays as it is."""
    code = str(escape[1])
    if code[0] == "x" and len(code) == 3:
        return chr(int(code[1:], 16))
    if code[0] in "01234567":
        return chr(int(code, 8) & 255)
    return _ESCAPED.get(code, str(escape[0]))


def latin(m: PickleMachine, count: int) -> None:
    """A string of Python 2 of so many bytes."""
    raw = m.take(count)
    m.push(str(raw, "latin-1"), 73 + count, "a string")


def unicode(m: PickleMachine) -> None:
    """A line of text with its escapes."""
    text = m.line()
    m.budget.spend(73 + 4 * len(text), "a string")
    m.stack.append(str(text, "raw-unicode-escape"))


def short_text(m: PickleMachine) -> None:
    """Text of up to 255 bytes: the most frequent opcode, in one piece."""
    start = m.position + 1
    count = m.data[start - 1]
    m.position = start + count
    if m.position > len(m.data):
        raise m.damaged("a string is cut")
    m.budget.spend(56 + 2 * count, "a string")
    m.stack.append(str(m.data[start : m.position], "utf-8", "surrogatepass"))


def short_bytes(m: PickleMachine) -> None:
    """Up to 255 bytes, in one piece."""
    start = m.position + 1
    count = m.data[start - 1]
    m.position = start + count
    if m.position > len(m.data):
        raise m.damaged("bytes are cut")
    m.budget.spend(48 + count, "bytes")
    m.stack.append(m.data[start : m.position].tobytes())
