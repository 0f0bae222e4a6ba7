"""A pickle reader that cannot execute: the opcodes run on data, never on code.

The standard unpickler imports what a file names and calls it. This machine has no import and no
call: a name becomes a `GlobalRef`, a call to it an `Opaque` that remembers function and
arguments, and only the pairs listed in `constructors.py` (arrays, dtypes, tensors, ordered
dicts, ...) turn into values, by functions of ours that check every size first. Nothing in a
file can reach an attribute, a `__reduce__` or a `__setstate__` of a live class.

Bounded by construction: each opcode costs one step of the budget, each object its bytes, each
declared length is held against the bytes that remain. The stack machine does not recurse.

The opcode table is the pickle protocol's own (protocols 0 to 5); see `pickletools` for prose.
"""

from __future__ import annotations

import codecs
import pickle
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..errors import CheckpointError, CorruptCheckpointError, LimitExceededError
from .limits import Budget
from .standins import GlobalRef, Opaque, PersistentRef
from .walk import check_depth

# Beyond this, bytes stay views of the file: arrays made of them copy nothing.
VIEW_FROM = 4096
MAX_INT_BYTES = 1024
MAX_INT_DIGITS = 2500
MAX_NAME = 2000
MAX_KEY_NODES = 64
MAX_EQUAL_HASHES = 32

Constructor: TypeAlias = Callable[["PickleMachine", tuple[Any, ...]], Any]
DAMAGED = (
    LookupError,
    ValueError,
    TypeError,
    ArithmeticError,
    AttributeError,
    EOFError,
    RecursionError,
    struct.error,
)


class _StopError(Exception):
    """The pickle said it is complete."""


class NotBuiltError(Exception):
    """A constructor was given arguments it does not understand; the call stays a stand-in."""


@dataclass
class Trace:
    """What a file named while it was read.

    Args:
        references: How often each (module, name) was named.
        skipped: Known constructors whose arguments did not fit, in words.
    """

    references: dict[tuple[str, str], int] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)


class PickleMachine:
    """Decodes one pickle to plain data and stand-ins.

    Args:
        data: The bytes.
        budget: Memory and work the file may take; shared with pickles nested in it.
        constructors: What may be built, by (module, name).
        trace: Collects the names met; shared with nested pickles.
        persistent: Resolves persistent ids (torch storages); without it they stay references.
        nesting: How many pickles this one lies inside of.

    Example:
        >>> import pickle
        >>> from .limits import Limits
        >>> data = pickle.dumps({"a": [1, 2.5, None]})
        >>> PickleMachine(data, Budget(Limits(), len(data)), constructors={}).load()
        {'a': [1, 2.5, None]}
    """

    def __init__(
        self,
        data: bytes | memoryview,
        budget: Budget,
        *,
        constructors: Mapping[tuple[str, str], Constructor],
        trace: Trace | None = None,
        persistent: Callable[[Any], Any] | None = None,
        nesting: int = 0,
    ) -> None:
        self.data = memoryview(data).cast("B") if not isinstance(data, memoryview) else data
        self.budget = budget
        self.constructors = constructors
        self.trace = trace if trace is not None else Trace()
        self.persistent = persistent
        self.nesting = nesting
        self.position = 0
        self._stack: list[Any] = []
        self._marked: list[list[Any]] = []
        self._memo: list[Any] = []
        self._sparse_memo: dict[int, Any] = {}
        self._refs: dict[tuple[str, str], GlobalRef] = {}
        self._hashes: dict[int, tuple[Any, int]] = {}
        if nesting > budget.limits.max_nested_files:
            raise LimitExceededError(
                f"pickles lie more than {budget.limits.max_nested_files} deep inside each other"
            )

    def load(self, position: int = 0) -> Any:
        """Decode the pickle that begins at `position`; `self.position` ends behind it.

        Raises:
            CorruptCheckpointError: The bytes are cut or contradict the protocol.
            LimitExceededError: Decoding would take more than the budget.
        """
        self.position = position
        self._stack, self._marked, self._memo, self._sparse_memo = [], [], [], {}
        data, budget, handlers = self.data, self.budget, _HANDLERS
        size = len(data)
        try:
            while self.position < size:
                opcode = data[self.position]
                self.position += 1
                budget.operations -= 1
                if budget.operations < 0:
                    budget.work(0, "the pickle")
                handlers[opcode](self)
        except _StopError:
            value = self._stack.pop()
            check_depth(value, budget.limits.max_depth)
            return value
        except CheckpointError:
            raise
        except DAMAGED as error:
            raise self.damaged(f"{type(error).__name__}: {str(error)[:120]}") from None
        raise self.damaged(f"the pickle ends in the middle, after {size:,} bytes")

    def damaged(self, why: str) -> CorruptCheckpointError:
        """An error that says where the pickle stopped making sense."""
        return CorruptCheckpointError(
            f"the pickle cannot be decoded at byte {self.position:,} of {len(self.data):,} ({why})",
            hint="the file is cut or damaged; take another copy or an earlier checkpoint.",
            position=self.position,
        )

    # Reading bytes.

    def take(self, count: int) -> memoryview:
        """The next `count` bytes, which must be there."""
        start, end = self.position, self.position + count
        if count < 0 or end > len(self.data):
            raise self.damaged(f"it declares {count:,} bytes where {len(self.data) - start:,} are")
        self.position = end
        return self.data[start:end]

    def number(self, layout: struct.Struct) -> int:
        """One fixed-size number."""
        return int(layout.unpack(self.take(layout.size))[0])

    def line(self) -> bytes:
        """Bytes up to the next newline."""
        start = self.position
        end = start
        while end < len(self.data):
            block = bytes(self.data[end : end + 4096])
            found = block.find(b"\n")
            if found >= 0:
                self.position = end + found + 1
                return bytes(self.data[start : end + found])
            end += len(block)
        raise self.damaged("a line never ends")

    def push_bytes(self, count: int) -> None:
        """Put `count` bytes on the stack: a copy of few, a view of many."""
        taken = self.take(count)
        if count < VIEW_FROM:
            self.budget.spend(33 + count, "bytes")
            self._stack.append(bytes(taken))
        else:
            self._stack.append(taken.toreadonly())

    def push_text(self, count: int) -> None:
        """Put a string of `count` UTF-8 bytes on the stack."""
        taken = self.take(count)
        self.budget.spend(49 + count, "a string")
        text = str(taken, "utf-8", "surrogatepass")
        if not text.isascii():
            self.budget.spend(3 * count, "a string")
        self._stack.append(text)

    # The stack.

    def pop_mark(self) -> list[Any]:
        """Everything pushed since the last mark."""
        items = self._stack
        self._stack = self._marked.pop()
        return items

    def push(self, value: Any, cost: int, what: str) -> None:
        """Put a new object of `cost` bytes on the stack."""
        self.budget.spend(cost, what)
        self._stack.append(value)

    def remember(self, index: int) -> None:
        """Store the top of the stack under a memo index."""
        memo, top = self._memo, self._stack[-1]
        if index == len(memo):
            self.budget.spend(9, "the memo")
            memo.append(top)
        elif 0 <= index < len(memo):
            memo[index] = top
        else:
            self.budget.spend(120, "the memo")
            self._sparse_memo[index] = top

    def recall(self, index: int) -> None:
        """Push what lies under a memo index."""
        if 0 <= index < len(self._memo):
            self._stack.append(self._memo[index])
        else:
            self._stack.append(self._sparse_memo[index])

    # Keys. Hashing recurses through tuples and equal hashes make dicts quadratic, so both
    # are bounded before Python hashes anything.

    def key(self, value: Any) -> Any:
        """`value`, if it may be a dict key or a set member."""
        kind = type(value)
        if kind is str or kind is bytes or value is None or kind is bool:
            return value
        if kind is int and -(2**63) <= value < 2**64:
            return value
        if kind in (float, int, complex, tuple, frozenset):
            self._check_hash(value)
        elif kind in (list, dict, set, memoryview):
            raise self.damaged(f"a {kind.__name__} as a key")
        return value

    def _check_hash(self, value: Any) -> None:
        pending, nodes = [value], 0
        while pending:
            part = pending.pop()
            nodes += 1
            if nodes > MAX_KEY_NODES:
                raise LimitExceededError(f"a key made of more than {MAX_KEY_NODES} parts")
            if isinstance(part, tuple):
                pending.extend(part[: MAX_KEY_NODES + 1])
        code = hash(value)
        last, count = self._hashes.get(code, (value, 0))
        if count and last == value:
            return
        if count > MAX_EQUAL_HASHES:
            raise LimitExceededError("keys that were built to collide")
        self.budget.spend(120 if count == 0 else 0, "keys")
        self._hashes[code] = (value, count + 1)

    def fill(self, target: dict[Any, Any], items: list[Any]) -> None:
        """Put a flat list of keys and values into a dict."""
        self.budget.spend(55 * len(items), "a dict")
        target.update(zip(map(self.key, items[::2]), items[1::2], strict=True))

    # Objects.

    def name(self, module: Any, name: Any) -> GlobalRef:
        """A reference to a global; nothing is imported."""
        if not isinstance(module, str) or not isinstance(name, str):
            raise self.damaged("a global without a name")
        if len(module) + len(name) > MAX_NAME:
            raise LimitExceededError(f"a global's name of more than {MAX_NAME} characters")
        pair = (module, name)
        counts = self.trace.references
        if pair not in counts:
            self.budget.spend(300, "names")
        counts[pair] = counts.get(pair, 0) + 1
        ref = self._refs.get(pair)
        if ref is None:
            ref = self._refs[pair] = GlobalRef(module, name)
        return ref

    def construct(self, what: Any, args: Any, kwargs: Any = None) -> Any:
        """The value of a call: built by a constructor of ours, or kept as a stand-in."""
        if not isinstance(args, tuple):
            raise self.damaged("a call whose arguments are no tuple")
        if type(what) is GlobalRef and not kwargs:
            constructor = self.constructors.get((what.module, what.name))
            if constructor is not None:
                try:
                    return constructor(self, args)
                except CheckpointError:
                    raise
                except (NotBuiltError, *DAMAGED) as error:
                    self.skip(f"{what.path}: {str(error)[:160] or type(error).__name__}")
        self.budget.spend(250, "an object")
        return Opaque(what, args, kwargs if isinstance(kwargs, dict) else None)

    def skip(self, why: str) -> None:
        """Note something that could not be read, once."""
        if why not in self.trace.skipped and len(self.trace.skipped) < 100:
            self.trace.skipped.append(why)

    def nested(self, data: bytes | memoryview) -> PickleMachine:
        """A machine for a pickle held inside this one, on the same budget."""
        return PickleMachine(
            data,
            self.budget,
            constructors=self.constructors,
            trace=self.trace,
            nesting=self.nesting + 1,
        )


def _stop(m: PickleMachine) -> None:
    if m._marked or len(m._stack) != 1:
        raise m.damaged("it stops with an unfinished object")
    raise _StopError


def _unknown(m: PickleMachine) -> None:
    raise m.damaged(f"no such opcode: 0x{m.data[m.position - 1]:02x}")


def _mark(m: PickleMachine) -> None:
    m.budget.spend(72, "marks")
    m._marked.append(m._stack)
    m._stack = []


def _pass_over(count: int) -> Callable[[PickleMachine], None]:
    def handler(m: PickleMachine) -> None:
        m.take(count)

    return handler


def _drop_marked(m: PickleMachine) -> None:
    m.pop_mark()


def _pop(m: PickleMachine) -> None:
    if m._stack:
        m._stack.pop()
    else:
        m.pop_mark()


def _decimal(m: PickleMachine, text: bytes) -> int:
    if len(text) > MAX_INT_DIGITS:
        raise LimitExceededError(f"a number of {len(text):,} digits")
    return int(text)


def _int(m: PickleMachine) -> None:
    text = m.line()
    if text in (b"00", b"01"):  # protocol 0 writes booleans so
        m._stack.append(text == b"01")
    else:
        m.push(_decimal(m, text), 40, "a number")


def _long(m: PickleMachine) -> None:
    m.push(_decimal(m, m.line().rstrip(b"L")), 40, "a number")


def _long_bytes(m: PickleMachine, count: int) -> None:
    if count > MAX_INT_BYTES:
        raise LimitExceededError(f"a number of {count:,} bytes")
    m.push(int.from_bytes(m.take(count), "little", signed=True), 28 + count, "a number")


def _string(m: PickleMachine) -> None:
    quoted = m.line()
    if len(quoted) < 2 or quoted[:1] != quoted[-1:] or quoted[:1] not in (b"'", b'"'):
        raise m.damaged("a string without quotes")
    m.budget.spend(2 * len(quoted), "a string")
    raw = codecs.escape_decode(quoted[1:-1])[0]
    m._stack.append(raw.decode("latin-1"))


def _latin(m: PickleMachine, count: int) -> None:
    m.push(str(m.take(count), "latin-1"), 49 + count, "a string")


def _unicode(m: PickleMachine) -> None:
    text = m.line()
    m.push(str(text, "raw-unicode-escape"), 49 + 4 * len(text), "a string")


def _tuple(m: PickleMachine) -> None:
    items = m.pop_mark()
    m.push(tuple(items), 48 + 8 * len(items), "a tuple")


def _short_tuple(count: int) -> Callable[[PickleMachine], None]:
    def handler(m: PickleMachine) -> None:
        stack = m._stack
        if len(stack) < count:
            raise m.damaged("a tuple without items")
        m.budget.spend(48 + 8 * count, "a tuple")
        stack[-count:] = [tuple(stack[-count:])]

    return handler


def _append(m: PickleMachine) -> None:
    value = m._stack.pop()
    _extend(m, [value])


def _extend(m: PickleMachine, items: list[Any]) -> None:
    target = m._stack[-1]
    m.budget.spend(9 * len(items), "a list")
    if type(target) is list:
        target.extend(items)
    elif type(target) is Opaque:
        target.items.extend(items)
    else:
        raise m.damaged(f"items appended to a {type(target).__name__}")


def _set_items(m: PickleMachine, items: list[Any]) -> None:
    target = m._stack[-1]
    if len(items) % 2:
        raise m.damaged("a key without a value")
    if type(target) is dict:
        m.fill(target, items)
    elif type(target) is Opaque:
        m.budget.spend(64 * len(items), "entries")
        target.entries.extend(zip(items[::2], items[1::2], strict=True))
    else:
        raise m.damaged(f"entries set on a {type(target).__name__}")


def _set_item(m: PickleMachine) -> None:
    value = m._stack.pop()
    _set_items(m, [m._stack.pop(), value])


def _add_items(m: PickleMachine) -> None:
    items = m.pop_mark()
    target = m._stack[-1]
    m.budget.spend(80 * len(items), "a set")
    if type(target) is set:
        target.update(map(m.key, items))
    elif type(target) is Opaque:
        target.items.extend(items)
    else:
        raise m.damaged(f"items added to a {type(target).__name__}")


def _dict(m: PickleMachine) -> None:
    items = m.pop_mark()
    m.push({}, 64, "a dict")
    _set_items(m, items)


def _list(m: PickleMachine) -> None:
    items = m.pop_mark()
    m.push(items, 56 + 9 * len(items), "a list")


def _frozenset(m: PickleMachine) -> None:
    items = m.pop_mark()
    m.budget.spend(216 + 80 * len(items), "a set")
    m._stack.append(frozenset(map(m.key, items)))


def _global(m: PickleMachine) -> None:
    module = m.line().decode("utf-8")
    m._stack.append(m.name(module, m.line().decode("utf-8")))


def _stack_global(m: PickleMachine) -> None:
    name = m._stack.pop()
    m._stack.append(m.name(m._stack.pop(), name))


def _reduce(m: PickleMachine) -> None:
    args = m._stack.pop()
    m._stack[-1] = m.construct(m._stack[-1], args)


def _newobj_ex(m: PickleMachine) -> None:
    kwargs = m._stack.pop()
    args = m._stack.pop()
    m._stack[-1] = m.construct(m._stack[-1], args, kwargs)


def _inst(m: PickleMachine) -> None:
    module = m.line().decode("utf-8")
    ref = m.name(module, m.line().decode("utf-8"))
    args = tuple(m.pop_mark())
    m._stack.append(m.construct(ref, args))


def _obj(m: PickleMachine) -> None:
    what, *args = m.pop_mark()
    m._stack.append(m.construct(what, tuple(args)))


def _build(m: PickleMachine) -> None:
    from .constructors import set_state

    state = m._stack.pop()
    target = m._stack[-1]
    if type(target) is Opaque:
        target.state = state
    else:
        set_state(m, target, state)


def _persistent(m: PickleMachine, id_: Any) -> None:
    m.budget.spend(64, "a reference")
    m._stack.append(m.persistent(id_) if m.persistent is not None else PersistentRef(id_))


def _refuse(what: str) -> Callable[[PickleMachine], None]:
    def handler(m: PickleMachine) -> None:
        raise m.damaged(f"it uses {what}, which no checkpoint does")

    return handler


_U8, _U16, _I32, _U32, _U64 = (struct.Struct(code) for code in ("<B", "<H", "<i", "<I", "<Q"))
_FLOAT = struct.Struct(">d")
Handler: TypeAlias = Callable[[PickleMachine], None]

_OPCODES: dict[bytes, Handler] = {
    pickle.PROTO: _pass_over(1),
    pickle.FRAME: _pass_over(8),
    pickle.STOP: _stop,
    pickle.MARK: _mark,
    pickle.POP: _pop,
    pickle.POP_MARK: _drop_marked,
    pickle.DUP: lambda m: m._stack.append(m._stack[-1]),
    pickle.NONE: lambda m: m._stack.append(None),
    pickle.NEWTRUE: lambda m: m._stack.append(True),
    pickle.NEWFALSE: lambda m: m._stack.append(False),
    pickle.INT: _int,
    pickle.BININT: lambda m: m.push(m.number(_I32), 28, "a number"),
    pickle.BININT1: lambda m: m._stack.append(m.number(_U8)),
    pickle.BININT2: lambda m: m.push(m.number(_U16), 28, "a number"),
    pickle.LONG: _long,
    pickle.LONG1: lambda m: _long_bytes(m, m.number(_U8)),
    pickle.LONG4: lambda m: _long_bytes(m, m.number(_U32)),
    pickle.FLOAT: lambda m: m.push(float(m.line()), 24, "a number"),
    pickle.BINFLOAT: lambda m: m.push(_FLOAT.unpack(m.take(8))[0], 24, "a number"),
    pickle.STRING: _string,
    pickle.BINSTRING: lambda m: _latin(m, m.number(_I32)),
    pickle.SHORT_BINSTRING: lambda m: _latin(m, m.number(_U8)),
    pickle.UNICODE: _unicode,
    pickle.SHORT_BINUNICODE: lambda m: m.push_text(m.number(_U8)),
    pickle.BINUNICODE: lambda m: m.push_text(m.number(_U32)),
    pickle.BINUNICODE8: lambda m: m.push_text(m.number(_U64)),
    pickle.SHORT_BINBYTES: lambda m: m.push_bytes(m.number(_U8)),
    pickle.BINBYTES: lambda m: m.push_bytes(m.number(_U32)),
    pickle.BINBYTES8: lambda m: m.push_bytes(m.number(_U64)),
    pickle.BYTEARRAY8: lambda m: m.push_bytes(m.number(_U64)),
    pickle.EMPTY_LIST: lambda m: m.push([], 64, "a list"),
    pickle.EMPTY_TUPLE: lambda m: m._stack.append(()),
    pickle.EMPTY_DICT: lambda m: m.push({}, 72, "a dict"),
    pickle.EMPTY_SET: lambda m: m.push(set(), 224, "a set"),
    pickle.APPEND: _append,
    pickle.APPENDS: lambda m: _extend(m, m.pop_mark()),
    pickle.SETITEM: _set_item,
    pickle.SETITEMS: lambda m: _set_items(m, m.pop_mark()),
    pickle.ADDITEMS: _add_items,
    pickle.FROZENSET: _frozenset,
    pickle.TUPLE: _tuple,
    pickle.TUPLE1: _short_tuple(1),
    pickle.TUPLE2: _short_tuple(2),
    pickle.TUPLE3: _short_tuple(3),
    pickle.LIST: _list,
    pickle.DICT: _dict,
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
    pickle.MEMOIZE: lambda m: m.remember(len(m._memo)),
    pickle.PERSID: lambda m: _persistent(m, m.line().decode("utf-8")),
    pickle.BINPERSID: lambda m: _persistent(m, m._stack.pop()),
    pickle.EXT1: _refuse("an extension code"),
    pickle.EXT2: _refuse("an extension code"),
    pickle.EXT4: _refuse("an extension code"),
    pickle.NEXT_BUFFER: _refuse("an out-of-band buffer"),
    pickle.READONLY_BUFFER: _refuse("an out-of-band buffer"),
}
_HANDLERS: list[Handler] = [_OPCODES.get(bytes([code]), _unknown) for code in range(256)]
