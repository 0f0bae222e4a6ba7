"""A pickle reader that cannot execute: the opcodes run on data, never on code.

The standard unpickler imports what a file names and calls it. This machine has no import and no
call: a name becomes a `GlobalRef`, a call to it an `Opaque` that remembers function and
arguments, and only the pairs listed in `constructors.py` (arrays, dtypes, tensors, ordered
dicts, ...) turn into values, by functions of ours that check every size first. Nothing in a
file can reach an attribute, a `__reduce__` or a `__setstate__` of a live class.

Bounded by construction: each opcode costs one step of the budget, each object its bytes, each
declared length is held against the bytes that remain. The stack machine does not recurse.

Where to read next: `pickle_opcodes.py` for what each opcode does.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np

from ...data.keys import KeyGuard
from ...errors import CheckpointError, CorruptCheckpointError, LimitExceededError
from .load_limits import Budget, no_collection
from .pickle_opcodes import HANDLERS, StopError
from .standins import GlobalRef, Opaque
from .walk import check_depth

# Beyond this, bytes stay views of the file: arrays made of them copy nothing.
VIEW_FROM: Final = 4096
TAKE_OUT_FROM: Final = 1 << 20
MAX_NAME: Final = 2000
MAX_SKIPPED: Final = 100
# No constructor of ours takes more; slicing endless arguments again and again takes time.
MAX_ARGUMENTS: Final = 64
# One call of a constructor takes as long as this many plain opcodes; a nested file more.
CALL_STEPS: Final = 12
NAME_STEPS: Final = 3
LINE_STEPS: Final = 3
NESTED_STEPS: Final = 60

Constructor: TypeAlias = Callable[["PickleMachine", tuple[Any, ...]], Any]
DAMAGED = (
    *(LookupError, ValueError, TypeError, ArithmeticError, AttributeError, EOFError),
    *(RecursionError, MemoryError, SystemError, BufferError, struct.error),
)


class NotBuiltError(Exception):
    """A constructor was given arguments it does not understand; the call stays a stand-in."""


@dataclass
class Trace:
    """The names in a pickle, and the calls that an ordinary unpickler would have made.

    `references` counts how often each (module, name) was named; `skipped` tells known constructors
    whose arguments did not fit; `objects` are the calls that stayed stand-ins, each with the byte
    where it ends; `patched` are live things whose attributes or items it would have set.
    """

    references: dict[tuple[str, str], int] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)
    objects: list[tuple[int, Opaque]] = field(default_factory=list)
    patched: list[tuple[int, GlobalRef]] = field(default_factory=list)


class PickleMachine:
    """Decodes one pickle to plain data and stand-ins.

    `budget` and `trace` are shared with pickles nested in this one, `nesting` counts those it lies
    in. `constructors` has what may be built, by (module, name). `persistent` resolves persistent
    ids (torch storages); without it they stay references. `take_out` gives large bytes by begin
    and end, where they need not stay in `data`.

    Example:
        >>> import pickle
        >>> from .load_limits import Limits
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
        take_out: Callable[[int, int], bytes] | None = None,
    ) -> None:
        self.data = memoryview(data).cast("B") if not isinstance(data, memoryview) else data
        self.budget = budget
        self.constructors = constructors
        self.trace = trace if trace is not None else Trace()
        self.persistent = persistent
        self.nesting = nesting
        self._take_out = take_out
        self.position = 0
        self.stack: list[Any] = []
        self.marked: list[list[Any]] = []
        self.memo: list[Any] = []
        self._sparse_memo: dict[int, Any] = {}
        self._refs: dict[tuple[str, str], GlobalRef] = {}
        self._unfinished: dict[int, np.dtype[Any]] = {}
        self._taken_out: dict[int, bytes] = {}
        self.key: Callable[[Any], Any] = KeyGuard(budget).check
        if nesting > budget.limits.max_nested_files:
            raise LimitExceededError(
                f"pickles lie more than {budget.limits.max_nested_files} deep inside each other"
            )

    def load(self, position: int = 0) -> Any:
        """Decode the pickle that begins at `position`; `self.position` ends behind it."""
        self.position = position
        self.stack, self.marked, self.memo, self._sparse_memo = [], [], [], {}
        self._unfinished, self._taken_out = {}, {}
        try:
            with no_collection():
                self._run()
                value = self.stack.pop()
                self.memo, self._sparse_memo, self._taken_out = [], {}, {}
                check_depth(value, self.budget.limits.max_depth, self.budget)
                return value
        except CheckpointError:
            raise
        except DAMAGED as error:
            if self.position >= len(self.data):
                raise self.damaged("it ends in the middle") from None
            raise self.damaged(f"{type(error).__name__}: {str(error)[:120]}") from None

    def _run(self) -> None:
        """Execute opcodes up to STOP. Steps are paid in advance, many at once: that is quicker."""
        data, handlers = self.data, HANDLERS
        while True:
            chunk = max(1, min(256, self.budget.operations))
            self.budget.work(chunk, "the pickle")
            try:
                for done in range(chunk):  # noqa: B007  # read in the handler below
                    opcode = data[self.position]
                    self.position += 1
                    handlers[opcode](self)
            except StopError:
                self.budget.operations += chunk - done - 1
                return

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

    def number(self, layout: struct.Struct) -> Any:
        """One fixed-size number."""
        start = self.position
        self.position = start + layout.size
        return layout.unpack_from(self.data, start)[0]

    def line(self) -> bytes:
        """Bytes up to the next newline."""
        self.budget.work(LINE_STEPS, "the pickle")
        start = end = self.position
        size = 32
        while end < len(self.data):
            block = bytes(self.data[end : end + size])
            newline = block.find(b"\n")
            if newline >= 0:
                self.position = end + newline + 1
                return bytes(self.data[start : end + newline])
            end += len(block)
            size = min(2 * size, 1 << 20)
        raise self.damaged("a line never ends")

    def push_bytes(self, count: int) -> None:
        """Put `count` bytes on the stack: a copy of few, a view of many, many more taken out."""
        raw = self.take(count)
        if count < VIEW_FROM:
            self.budget.spend(48 + count, "bytes")
            self.stack.append(bytes(raw))
            return
        self.budget.spend(200, "bytes")
        if self._take_out is None or count < TAKE_OUT_FROM:
            self.stack.append(raw.toreadonly())
        else:
            taken = self._take_out(self.position - count, self.position)
            self._taken_out[id(taken)] = taken
            self.stack.append(taken)

    def push_text(self, count: int) -> None:
        """Put a string of `count` UTF-8 bytes on the stack."""
        raw = self.take(count)
        self.budget.spend(56 + count, "a string")
        text = str(raw, "utf-8", "surrogatepass")
        if not text.isascii():
            self.budget.spend(3 * count, "a string")
        self.stack.append(text)

    # The stack.

    def pop_mark(self) -> list[Any]:
        """Everything pushed since the last mark."""
        items = self.stack
        self.stack = self.marked.pop()
        return items

    def push(self, value: Any, cost: int, what: str) -> None:
        """Put a new object of `cost` bytes on the stack."""
        self.budget.spend(cost, what)
        self.stack.append(value)

    def remember(self, index: int) -> None:
        """Store the top of the stack under a memo index."""
        memo, top = self.memo, self.stack[-1]
        if index == len(memo):
            self.budget.spend(9, "the memo")
            memo.append(top)
        elif 0 <= index < len(memo):
            memo[index] = top
        else:
            self.budget.spend(120, "the memo")
            self._sparse_memo[index] = top

    def recall(self, index: int) -> None:
        """Push the value at a memo index."""
        if 0 <= index < len(self.memo):
            self.stack.append(self.memo[index])
        else:
            self.stack.append(self._sparse_memo[index])

    def fill(self, target: dict[Any, Any], items: list[Any]) -> None:
        """Put a flat list of keys and values into a dict."""
        self.budget.spend(55 * len(items), "a dict")
        target.update(zip(map(self.key, items[::2]), items[1::2], strict=True))

    # Objects.

    def name(self, module: Any, name: Any) -> GlobalRef:
        """A reference to a global; nothing is imported."""
        if not isinstance(module, str) or not isinstance(name, str):
            raise self.damaged("a global without a name")
        self.budget.work(NAME_STEPS, "the pickle")
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
        """The value of a call: built by a constructor of ours, or kept as a stand-in.

        Arguments that contradict each other leave a stand-in and a note in the trace, so that
        one damaged array does not take the rest of the file with it.
        """
        if not isinstance(args, tuple):
            raise self.damaged("a call whose arguments are no tuple")
        if type(what) is GlobalRef and not kwargs:
            constructor = self.constructors.get((what.module, what.name))
            if constructor is not None and len(args) <= MAX_ARGUMENTS:
                self.budget.work(CALL_STEPS, "the pickle")
                try:
                    return constructor(self, args)
                except LimitExceededError:
                    raise
                except CheckpointError as error:
                    self.skip(f"{what.path}: {error.summary[:160]}")
                except (NotBuiltError, *DAMAGED) as error:
                    self.skip(f"{what.path}: {str(error)[:160] or type(error).__name__}")
        self.budget.spend(380, "an object")
        opaque = Opaque(what, args, kwargs if isinstance(kwargs, dict) else None)
        self.trace.objects.append((self.position, opaque))
        return opaque

    def patch(self, target: Any) -> None:
        """Note that the file would have changed something that lives outside it."""
        if type(target) is GlobalRef:
            self.budget.spend(100, "a note")
            self.trace.patched.append((self.position, target))

    def skip(self, why: str) -> None:
        """Note something that could not be read, once."""
        if len(self.trace.skipped) < MAX_SKIPPED and why not in self.trace.skipped:
            self.trace.skipped.append(why)

    def begin_dtype(self, dtype: np.dtype[Any]) -> None:
        """Remember that `dtype` is new and may be given a state."""
        self._unfinished[id(dtype)] = dtype

    def end_dtype(self, dtype: np.dtype[Any]) -> bool:
        """True if `dtype` was new until now; from its first use on it must not change."""
        return self._unfinished.pop(id(dtype), None) is not None

    def owns(self, data: Any) -> bool:
        """True once for bytes that were taken out of the file: one array may lie in them."""
        return self._taken_out.pop(id(data), None) is not None

    def nested(self, data: bytes | memoryview) -> PickleMachine:
        """A machine for a pickle held inside this one, on the same budget."""
        self.budget.work(NESTED_STEPS, "the pickle")
        known, deeper = self.constructors, self.nesting + 1
        return PickleMachine(
            data, self.budget, constructors=known, trace=self.trace, nesting=deeper
        )
