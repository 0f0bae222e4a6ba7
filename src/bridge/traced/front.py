"""numpy as a function sees it while it is recorded, and functions that see it so.

numpy asks recorded values before most of what it does, yet not before `np.array(values)`,
`np.float32(value)` or `int(value)`. So a copy of the function runs, in whose globals these names
stand for the same things with recorded values allowed. The function itself stays as it is.
"""

from __future__ import annotations

import builtins
import dis
import random
from collections.abc import Iterator
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any, Final

import numpy as np

from .functions import array, called, constant
from .recorded import Recorded, example_of, has_recorded, is_recorded, tape_of
from .tape import Operand, Tape, Untraceable

_ARRAYS: Final = ("array", "asarray", "asanyarray", "ascontiguousarray", "asfarray")
_EMPTY: Final = ("zeros", "ones", "full", "empty")
_DRAWING: Final = (random.Random, np.random.Generator, np.random.RandomState)
_RANDOM: Final = ("random", "numpy.random", "secrets")
_CLOCKS: Final = ("time", "datetime")
_FOREIGN: Final = frozenset(["numpy", "torch", "gymnasium", "rlconnect", __name__.split(".")[0]])


class Front:
    """numpy, for one recording."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape

    def __getattr__(self, name: str) -> Any:
        real = getattr(np, name)
        if name == "random":
            raise Untraceable("draws random numbers")
        if name in _EMPTY:
            return lambda *args, **kwargs: constant(self._tape, real(*args, **kwargs))
        if name in _ARRAYS:
            return lambda value, dtype=None, **kwargs: (
                _as_array(value, dtype, is_copy=name == "array")
                if has_recorded(value)
                else _as_table(real(value, dtype, **kwargs))
            )
        if isinstance(real, type) and issubclass(real, np.generic):
            return Kind(real)
        if not callable(real) or isinstance(real, (type, np.ufunc)):
            return real
        return lambda *args, **kwargs: (
            called(real, args, kwargs)
            if has_recorded([*args, *kwargs.values()])
            else _as_table(real(*args, **kwargs))
        )


class Table(np.ndarray[Any, Any]):
    """An array that is known, where a recorded number may be looked up."""

    def __getitem__(self, index: Any) -> Any:
        """A part of it, or the entry at a recorded number."""
        if not (is_recorded(index) and np.asarray(example_of(index)).dtype.kind == "i"):
            return super().__getitem__(index)
        values = np.asarray(self)
        example = values[example_of(index)]
        operands = [
            Operand.of(values, values.dtype),
            Operand(index.at, np.shape(example_of(index)), np.dtype(np.int64)),
        ]
        at = tape_of(index).write(_entries, operands, np.shape(example), values.dtype)
        return Recorded(tape_of(index), at, example)


def _entries(rows: int, table: Any, index: Any) -> Any:
    return table[index]


def _as_table(value: Any) -> Any:
    return value.view(Table) if type(value) is np.ndarray else value


class Kind:
    """A type of numbers that may be called with a recorded value; numpy takes it for a dtype."""

    def __init__(self, real: Any) -> None:
        self._real = real
        self.dtype = np.dtype(real)

    def __call__(self, *args: Any) -> Any:
        """A number, or a recorded one."""
        if args and has_recorded(args[0]):
            value = array(args[0], self.dtype, is_scalar=True)
            if not issubclass(self._real, np.generic):
                return Recorded(tape_of(value), value.at, self._real(example_of(value)))
            return value
        return self._real(*args)

    def __instancecheck__(self, value: Any) -> bool:
        return isinstance(value, self._real)

    def __eq__(self, other: Any) -> bool:
        return bool(other == self._real) or other is self

    def __hash__(self) -> int:
        return hash(self._real)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def _as_array(value: Any, dtype: Any, *, is_copy: bool) -> Any:
    is_array = is_recorded(value) and isinstance(value, np.ndarray)
    if is_array and not is_copy and (dtype is None or np.dtype(dtype) == value.dtype):
        return value
    return array(value, dtype)


class _Refusing:
    def __init__(self, reason: str) -> None:
        self._reason = reason

    def __getattr__(self, name: str) -> Any:
        raise Untraceable(self._reason)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise Untraceable(self._reason)


class Rewriting:
    """Copies of functions that see numpy through a front."""

    def __init__(self, tape: Tape) -> None:
        self._front = Front(tape)
        self._known: dict[int, Any] = {}

    def of(self, value: Any) -> Any:
        """What stands for a global value; the value itself where nothing needs to."""
        if value is np:
            return self._front
        name, home = getattr(value, "__name__", None), getattr(value, "__module__", None)
        owner = getattr(value, "__self__", None)
        if isinstance(value, _DRAWING) or isinstance(owner, _DRAWING) or name in _RANDOM:
            return _Refusing("draws random numbers")
        if (name if isinstance(value, ModuleType) else home) in _CLOCKS:
            return _Refusing("reads the clock")
        if type(value) is np.ndarray:
            return value.view(Table)
        if isinstance(value, FunctionType) and str(home).split(".")[0] not in _FOREIGN:
            return self._function(value)
        is_numpys = callable(value) and isinstance(name, str) and vars(np).get(name) is value
        return getattr(self._front, str(name)) if is_numpys else value

    def _function(self, function: FunctionType) -> Any:
        rewritten = self._known.get(id(function))
        if rewritten is not None:
            return rewritten
        code, closure = function.__code__, function.__closure__ or ()
        names = {name for part in _codes(code) for name in _looked_up(part, code.co_freevars)}
        namespace: dict[str, Any] = dict(function.__globals__)
        cells = tuple(CellType() for _ in closure)
        copied = FunctionType(
            code, namespace, function.__name__, function.__defaults__, cells or None
        )
        copied.__kwdefaults__ = function.__kwdefaults__
        self._known[id(function)] = copied  # before what it refers to, which may be itself
        for cell, original in zip(cells, closure, strict=True):
            cell.cell_contents = self.of(original.cell_contents)
        for name in names:
            if name in namespace:
                namespace[name] = self.of(namespace[name])
            elif name in ("int", "float", "bool"):
                namespace[name] = Kind(getattr(builtins, name))
        return copied


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes(inner)


def _looked_up(code: CodeType, outer: tuple[str, ...]) -> Iterator[str]:
    """The globals that a function looks up; it must not write to what lies outside of it."""
    for instruction in dis.get_instructions(code):
        is_outer = (
            instruction.opname in ("STORE_DEREF", "DELETE_DEREF") and instruction.argval in outer
        )
        if is_outer or instruction.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            raise Untraceable(f"writes {instruction.argval!r}, which lies outside of it")
        if instruction.opname == "LOAD_GLOBAL":
            yield str(instruction.argval)
