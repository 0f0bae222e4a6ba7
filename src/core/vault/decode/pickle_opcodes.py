"""What each pickle opcode does to the stack of a `PickleMachine`.

The table is the pickle protocol's own, protocols 0 to 5; `pickletools` of the standard library
describes each opcode in prose. What they push and fill is next door, in `pickle_literals` and
`pickle_containers`; marks, names and calls are here. Extension codes and out-of-band buffers need
a party outside the file and are refused.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from . import pickle_containers as containers
from . import pickle_literals as literals
from .standins import Opaque, PersistentRef

if TYPE_CHECKING:
    from .pickle_machine import PickleMachine

Handler: TypeAlias = "Callable[[PickleMachine], None]"
# Setting the state of an array takes as long as this many plain opcodes.
STATE_STEPS: Final = 12


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


_U8, _U16, _I32, _U32, _U64 = (struct.Struct(code) for code in ("<B", "<H", "<i", "<I", "<Q"))

_OPCODES: Final[dict[bytes, Handler]] = {
    pickle.PROTO: _pass_over(1),
    pickle.FRAME: _pass_over(8),
    pickle.STOP: _stop,
    pickle.MARK: _mark,
    pickle.POP: _pop,
    pickle.POP_MARK: _drop_marked,
    pickle.DUP: lambda m: m.stack.append(m.stack[-1]),
    pickle.NONE: literals.constant(None),
    pickle.NEWTRUE: literals.constant(True),
    pickle.NEWFALSE: literals.constant(False),
    pickle.INT: literals.integer,
    pickle.BININT: literals.packed(_I32, 28),
    pickle.BININT1: literals.small_int,
    pickle.BININT2: literals.packed(_U16, 28),
    pickle.LONG: literals.long_integer,
    pickle.LONG1: lambda m: literals.long_bytes(m, m.number(_U8)),
    pickle.LONG4: lambda m: literals.long_bytes(m, m.number(_I32)),
    pickle.FLOAT: lambda m: m.push(float(m.line()), 24, "a number"),
    pickle.BINFLOAT: literals.packed(struct.Struct(">d"), 24),
    pickle.STRING: literals.string,
    pickle.BINSTRING: lambda m: literals.latin(m, m.number(_I32)),
    pickle.SHORT_BINSTRING: lambda m: literals.latin(m, m.number(_U8)),
    pickle.UNICODE: literals.unicode,
    pickle.SHORT_BINUNICODE: literals.short_text,
    pickle.BINUNICODE: lambda m: m.push_text(m.number(_U32)),
    pickle.BINUNICODE8: lambda m: m.push_text(m.number(_U64)),
    pickle.SHORT_BINBYTES: literals.short_bytes,
    pickle.BINBYTES: lambda m: m.push_bytes(m.number(_U32)),
    pickle.BINBYTES8: lambda m: m.push_bytes(m.number(_U64)),
    pickle.BYTEARRAY8: lambda m: m.push_bytes(m.number(_U64)),
    pickle.EMPTY_LIST: lambda m: m.push([], 64, "a list"),
    pickle.EMPTY_TUPLE: literals.constant(()),
    pickle.EMPTY_DICT: lambda m: m.push({}, 72, "a dict"),
    pickle.EMPTY_SET: lambda m: m.push(set(), 224, "a set"),
    pickle.APPEND: containers.append,
    pickle.APPENDS: lambda m: containers.extend(m, m.pop_mark()),
    pickle.SETITEM: containers.set_item,
    pickle.SETITEMS: lambda m: containers.set_items(m, m.pop_mark()),
    pickle.ADDITEMS: containers.add_items,
    pickle.FROZENSET: containers.frozenset_of_marked,
    pickle.TUPLE: containers.tuple_of_marked,
    pickle.TUPLE1: containers.tuple_of_one,
    pickle.TUPLE2: containers.tuple_of_two,
    pickle.TUPLE3: containers.tuple_of_three,
    pickle.LIST: containers.list_of_marked,
    pickle.DICT: containers.dict_of_marked,
    pickle.GLOBAL: _global,
    pickle.STACK_GLOBAL: _stack_global,
    pickle.REDUCE: _reduce,
    pickle.NEWOBJ: _reduce,
    pickle.NEWOBJ_EX: _newobj_ex,
    pickle.INST: _inst,
    pickle.OBJ: _obj,
    pickle.BUILD: _build,
    pickle.GET: lambda m: m.recall(literals.decimal(m, m.line())),
    pickle.BINGET: lambda m: m.recall(m.number(_U8)),
    pickle.LONG_BINGET: lambda m: m.recall(m.number(_U32)),
    pickle.PUT: lambda m: m.remember(literals.decimal(m, m.line())),
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
