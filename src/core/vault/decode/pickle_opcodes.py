"""What each pickle opcode does to the stack of a `PickleMachine`.

The table is the pickle protocol's own, protocols 0 to 5; `pickletools` of the standard library
describes each opcode in prose. Whatever an opcode pushes is held against the budget first.
Extension codes and out-of-band buffers need a party outside the file and are refused.
"""

from __future__ import annotations

import pickle
import re
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from ...errors import LimitExceededError
from .standins import Opaque, PersistentRef

if TYPE_CHECKING:
    from .pickle_machine import PickleMachine

Handler: TypeAlias = "Callable[[PickleMachine], None]"
# Setting the state of an array takes as long as this many plain opcodes.
STATE_STEPS: Final = 12
MAX_INT_BYTES: Final = 1024
MAX_INT_DIGITS: Final = 2500
_ESCAPE: Final = re.compile(r"\\(x[0-9a-fA-F]{2}|[0-7]{1,3}|.)", re.DOTALL)
_ESCAPED: Final[dict[str, str]] = dict(
    zip("\\'\"abfnrtv\n", ["\\", "'", '"', *"\a\b\f\n\r\t\v", ""], strict=True)
)


class StopError(Exception):
    """The pickle said it is complete."""


def _stop(m: PickleMachine) -> None:
    if m.marked or len(m.stack) != 1:
        raise m.damaged("it stops with an unfinished object")
    raise StopError


def _unknown(m: PickleMachine) -> None:
    raise m.damaged(f"no such opcode: 0x{m.data[m.position - 1]:02x}")


def _mark(m: PickleMachine) -> None:
    m.budget.spend(72, "marks")
    m.marked.append(m.stack)
    m.stack = []


def _pass_over(count: int) -> Handler:
    def handler(m: PickleMachine) -> None:
        m.position += count

    return handler


def _drop_marked(m: PickleMachine) -> None:
    m.pop_mark()


def _pop(m: PickleMachine) -> None:
    if m.stack:
        m.stack.pop()
    else:
        m.pop_mark()


def _memoize(m: PickleMachine) -> None:
    m.budget.spend(9, "the memo")
    m.memo.append(m.stack[-1])


def _global(m: PickleMachine) -> None:
    module = m.line().decode("utf-8")
    m.stack.append(m.name(module, m.line().decode("utf-8")))


def _stack_global(m: PickleMachine) -> None:
    name = m.stack.pop()
    m.stack.append(m.name(m.stack.pop(), name))


def _reduce(m: PickleMachine) -> None:
    args = m.stack.pop()
    m.stack[-1] = m.construct(m.stack[-1], args)


def _newobj_ex(m: PickleMachine) -> None:
    kwargs = m.stack.pop()
    args = m.stack.pop()
    m.stack[-1] = m.construct(m.stack[-1], args, kwargs)


def _inst(m: PickleMachine) -> None:
    module = m.line().decode("utf-8")
    ref = m.name(module, m.line().decode("utf-8"))
    _construct_from(m, ref, m.pop_mark())


def _obj(m: PickleMachine) -> None:
    what, *items = m.pop_mark()
    _construct_from(m, what, items)


def _construct_from(m: PickleMachine, what: Any, items: list[Any]) -> None:
    m.budget.spend(48 + 8 * len(items), "arguments")
    m.stack.append(m.construct(what, tuple(items)))


def _build(m: PickleMachine) -> None:
    state = m.stack.pop()
    target = m.stack[-1]
    if type(target) is Opaque:
        target.state = state
    elif isinstance(target, (np.ndarray, np.dtype)):
        from .numpy_pickles import set_state

        m.budget.work(STATE_STEPS, "the pickle")
        set_state(m, target, state)
    else:
        m.patch(target)


def _persistent(m: PickleMachine, id_: Any) -> None:
    m.budget.spend(64, "a reference")
    m.stack.append(m.persistent(id_) if m.persistent is not None else PersistentRef(id_))


def _refuse(what: str) -> Handler:
    def handler(m: PickleMachine) -> None:
        raise m.damaged(f"it uses {what}, which no checkpoint does")

    return handler


def _constant(value: Any) -> Handler:
    def handler(m: PickleMachine) -> None:
        m.stack.append(value)

    return handler


def _packed(layout: struct.Struct, cost: int) -> Handler:
    """A number of fixed size; `cost` is the size of its object."""
    unpack, size = layout.unpack_from, layout.size

    def handler(m: PickleMachine) -> None:
        start, budget = m.position, m.budget
        m.stack.append(unpack(m.data, start)[0])
        m.position = start + size
        if cost > budget.left:
            budget.spend(cost, "a number")
        budget.left -= cost

    return handler


def _small_int(m: PickleMachine) -> None:
    m.stack.append(m.data[m.position])
    m.position += 1


def _decimal(m: PickleMachine, text: bytes) -> int:
    if len(text) > MAX_INT_DIGITS:
        raise LimitExceededError(f"a number of {len(text):,} digits")
    return int(text)


def _integer(m: PickleMachine) -> None:
    text = m.line()
    if text in (b"00", b"01"):  # protocol 0 writes booleans so
        m.stack.append(text == b"01")
    else:
        m.push(_decimal(m, text), 28 + len(text) // 2, "a number")


def _long_integer(m: PickleMachine) -> None:
    text = m.line().rstrip(b"L")
    m.push(_decimal(m, text), 28 + len(text) // 2, "a number")


def _long_bytes(m: PickleMachine, count: int) -> None:
    if not 0 <= count <= MAX_INT_BYTES:
        raise LimitExceededError(f"a number of {count:,} bytes")
    m.push(int.from_bytes(m.take(count), "little", signed=True), 28 + count, "a number")


def _string(m: PickleMachine) -> None:
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


def _latin(m: PickleMachine, count: int) -> None:
    raw = m.take(count)
    m.push(str(raw, "latin-1"), 73 + count, "a string")


def _unicode(m: PickleMachine) -> None:
    text = m.line()
    m.budget.spend(73 + 4 * len(text), "a string")
    m.stack.append(str(text, "raw-unicode-escape"))


def _short_text(m: PickleMachine) -> None:
    # The most frequent opcode, so in one piece.
    start = m.position + 1
    count = m.data[start - 1]
    m.position = start + count
    if m.position > len(m.data):
        raise m.damaged("a string is cut")
    m.budget.spend(56 + 2 * count, "a string")
    m.stack.append(str(m.data[start : m.position], "utf-8", "surrogatepass"))


def _short_bytes(m: PickleMachine) -> None:
    start = m.position + 1
    count = m.data[start - 1]
    m.position = start + count
    if m.position > len(m.data):
        raise m.damaged("bytes are cut")
    m.budget.spend(48 + count, "bytes")
    m.stack.append(m.data[start : m.position].tobytes())


def _tuple_of_marked(m: PickleMachine) -> None:
    items = m.pop_mark()
    m.push(tuple(items), 48 + 8 * len(items), "a tuple")


def _tuple_of_one(m: PickleMachine) -> None:
    m.budget.spend(56, "a tuple")
    m.stack[-1] = (m.stack[-1],)


def _tuple_of_two(m: PickleMachine) -> None:
    m.budget.spend(64, "a tuple")
    second = m.stack.pop()
    m.stack[-1] = (m.stack[-1], second)


def _tuple_of_three(m: PickleMachine) -> None:
    m.budget.spend(72, "a tuple")
    third, second = m.stack.pop(), m.stack.pop()
    m.stack[-1] = (m.stack[-1], second, third)


def _extend(m: PickleMachine, items: list[Any]) -> None:
    target = m.stack[-1]
    m.budget.spend(9 * len(items), "a list")
    if type(target) is list:
        target.extend(items)
    elif type(target) is Opaque:
        target.items.extend(items)
    else:
        m.patch(target)
        raise m.damaged(f"items appended to a {type(target).__name__}")


def _set_items(m: PickleMachine, items: list[Any]) -> None:
    target = m.stack[-1]
    if len(items) % 2:
        raise m.damaged("a key without a value")
    if type(target) is dict:
        m.fill(target, items)
    elif type(target) is Opaque:
        m.budget.spend(40 * len(items), "entries")
        target.entries.extend(zip(items[::2], items[1::2], strict=True))
    else:
        m.patch(target)
        raise m.damaged(f"entries set on a {type(target).__name__}")


def _set_item(m: PickleMachine) -> None:
    value = m.stack.pop()
    _set_items(m, [m.stack.pop(), value])


def _add_items(m: PickleMachine) -> None:
    items = m.pop_mark()
    target = m.stack[-1]
    m.budget.spend(80 * len(items), "a set")
    if type(target) is set:
        target.update(map(m.key, items))
    elif type(target) is Opaque:
        target.items.extend(items)
    else:
        m.patch(target)
        raise m.damaged(f"items added to a {type(target).__name__}")


def _dict_of_marked(m: PickleMachine) -> None:
    items = m.pop_mark()
    m.push({}, 72, "a dict")
    _set_items(m, items)


def _list_of_marked(m: PickleMachine) -> None:
    items = m.pop_mark()
    m.push(items, 64 + 9 * len(items), "a list")


def _frozenset_of_marked(m: PickleMachine) -> None:
    items = m.pop_mark()
    m.budget.spend(224 + 80 * len(items), "a set")
    m.stack.append(frozenset(map(m.key, items)))


_U8, _U16, _I32, _U32, _U64 = (struct.Struct(code) for code in ("<B", "<H", "<i", "<I", "<Q"))

_OPCODES: Final[dict[bytes, Handler]] = {
    pickle.PROTO: _pass_over(1),
    pickle.FRAME: _pass_over(8),
    pickle.STOP: _stop,
    pickle.MARK: _mark,
    pickle.POP: _pop,
    pickle.POP_MARK: _drop_marked,
    pickle.DUP: lambda m: m.stack.append(m.stack[-1]),
    pickle.NONE: _constant(None),
    pickle.NEWTRUE: _constant(True),
    pickle.NEWFALSE: _constant(False),
    pickle.INT: _integer,
    pickle.BININT: _packed(_I32, 28),
    pickle.BININT1: _small_int,
    pickle.BININT2: _packed(_U16, 28),
    pickle.LONG: _long_integer,
    pickle.LONG1: lambda m: _long_bytes(m, m.number(_U8)),
    pickle.LONG4: lambda m: _long_bytes(m, m.number(_I32)),
    pickle.FLOAT: lambda m: m.push(float(m.line()), 24, "a number"),
    pickle.BINFLOAT: _packed(struct.Struct(">d"), 24),
    pickle.STRING: _string,
    pickle.BINSTRING: lambda m: _latin(m, m.number(_I32)),
    pickle.SHORT_BINSTRING: lambda m: _latin(m, m.number(_U8)),
    pickle.UNICODE: _unicode,
    pickle.SHORT_BINUNICODE: _short_text,
    pickle.BINUNICODE: lambda m: m.push_text(m.number(_U32)),
    pickle.BINUNICODE8: lambda m: m.push_text(m.number(_U64)),
    pickle.SHORT_BINBYTES: _short_bytes,
    pickle.BINBYTES: lambda m: m.push_bytes(m.number(_U32)),
    pickle.BINBYTES8: lambda m: m.push_bytes(m.number(_U64)),
    pickle.BYTEARRAY8: lambda m: m.push_bytes(m.number(_U64)),
    pickle.EMPTY_LIST: lambda m: m.push([], 64, "a list"),
    pickle.EMPTY_TUPLE: _constant(()),
    pickle.EMPTY_DICT: lambda m: m.push({}, 72, "a dict"),
    pickle.EMPTY_SET: lambda m: m.push(set(), 224, "a set"),
    pickle.APPEND: lambda m: _extend(m, [m.stack.pop()]),
    pickle.APPENDS: lambda m: _extend(m, m.pop_mark()),
    pickle.SETITEM: _set_item,
    pickle.SETITEMS: lambda m: _set_items(m, m.pop_mark()),
    pickle.ADDITEMS: _add_items,
    pickle.FROZENSET: _frozenset_of_marked,
    pickle.TUPLE: _tuple_of_marked,
    pickle.TUPLE1: _tuple_of_one,
    pickle.TUPLE2: _tuple_of_two,
    pickle.TUPLE3: _tuple_of_three,
    pickle.LIST: _list_of_marked,
    pickle.DICT: _dict_of_marked,
    pickle.GLOBAL: _global,
    pickle.STACK_GLOBAL: _stack_global,
    pickle.REDUCE: _reduce,
    pickle.NEWOBJ: _reduce,
    pickle.NEWOBJ_EX: _newobj_ex,
    pickle.INST: _inst,
    pickle.OBJ: _obj,
    pickle.BUILD: _build,
    pickle.GET: lambda m: m.recall(_decimal(m, m.line())),
    pickle.BINGET: lambda m: m.recall(m.number(_U8)),
    pickle.LONG_BINGET: lambda m: m.recall(m.number(_U32)),
    pickle.PUT: lambda m: m.remember(_decimal(m, m.line())),
    pickle.BINPUT: lambda m: m.remember(m.number(_U8)),
    pickle.LONG_BINPUT: lambda m: m.remember(m.number(_U32)),
    pickle.MEMOIZE: _memoize,
    pickle.PERSID: lambda m: _persistent(m, m.line().decode("utf-8")),
    pickle.BINPERSID: lambda m: _persistent(m, m.stack.pop()),
    pickle.EXT1: _refuse("an extension code"),
    pickle.EXT2: _refuse("an extension code"),
    pickle.EXT4: _refuse("an extension code"),
    pickle.NEXT_BUFFER: _refuse("an out-of-band buffer"),
    pickle.READONLY_BUFFER: _refuse("an out-of-band buffer"),
}
HANDLERS: Final[list[Handler]] = [_OPCODES.get(bytes([code]), _unknown) for code in range(256)]
