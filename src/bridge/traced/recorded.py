"""An array that writes down what is done to it while numpy does it to an example."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from .tape import Operand, Tape, Untraceable, elementwise, moving, shared

_WORDS: Final = (
    "add subtract multiply divide true_divide floor_divide remainder fmod power negative positive"
    " absolute sign exp exp2 expm1 log log2 log10 log1p sqrt square reciprocal sin cos tan arcsin"
    " arccos arctan arctan2 sinh cosh tanh arcsinh arccosh arctanh hypot floor ceil trunc rint"
    " maximum minimum fmax fmin copysign degrees radians deg2rad rad2deg heaviside"
    " bitwise_and bitwise_or bitwise_xor invert",
    "equal not_equal less less_equal greater greater_equal isnan isinf isfinite signbit",
    "logical_and logical_or logical_xor logical_not",
)
FIRST: Final = 1
"""The number of the first element; see `Numbering`."""
_ELEMENTWISE, _COMPARING, _OF_TRUTHS = (frozenset(words.split()) for words in _WORDS)


class Recorded(np.lib.mixins.NDArrayOperatorsMixin):
    """Stands for a value that is known only when the recorded program runs.

    Its shape and dtype are those of the example that numpy computes beside it; what would need its
    numbers is refused. It lies in a register; what `is_given` came from outside and must stay as it
    is.
    """

    def __init__(self, tape: Tape, at: int, example: Any, *, is_given: bool = False) -> None:
        self._tape, self._example, self._is_given = tape, example, is_given
        self._register, self._writes = at, 0
        self._whole, self._places = self, np.arange(np.size(example))

    # What it is.

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """What it stands for, as `isinstance` sees it."""
        return type(self._example)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(self._example, name):
            raise AttributeError(name)
        if name in ("shape", "dtype", "ndim", "size", "itemsize", "nbytes"):
            return getattr(self._example, name)
        from .functions import method

        return method(self, name)

    @property
    def at(self) -> int:
        """The register that holds it: of a view, what is now in the array it looks into."""
        base = self._whole
        if self._writes != base._writes:
            numbers = Numbering(self._tape)
            places = self._places.reshape(np.shape(self._example))
            view = numbers.taken(numbers.ids(base).reshape(-1)[places], self._example)
            self._register, self._writes = view._register, base._writes
        return self._register

    def __len__(self) -> int:
        return len(self._example)

    def __iter__(self) -> Iterator[Any]:
        return (self[at] for at in range(len(self)))

    def __copy__(self) -> Recorded:
        return Recorded(self._tape, self.at, copy.copy(self._example))

    def __deepcopy__(self, memo: Any) -> Recorded:
        return copy.copy(self)

    # What needs its numbers.

    def _refused(self, *args: Any, **kwargs: Any) -> Any:
        raise Untraceable("looks at a value (an if, a loop, int(), float() or the like)")

    __bool__ = __int__ = __float__ = __index__ = __complex__ = __round__ = __contains__ = _refused

    def __hash__(self) -> int:
        raise Untraceable("looks a value up")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise Untraceable("hands a value to code that needs its numbers")

    # What is written down.

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **settings: Any) -> Any:
        target = settings.pop("out", (None,))[0]
        if method != "__call__" or ufunc.nout != 1 or settings.keys() - {"dtype"}:
            raise Untraceable(f"calls np.{ufunc.__name__} in an unusual way")
        result = computed(ufunc, inputs, settings)
        if target is None:
            return result
        if not is_recorded(target):
            raise Untraceable("writes into an array that it did not make")
        if not isinstance(target, np.ndarray):
            return result  # `number += 1` makes another number
        target[...] = result
        return target

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        from .functions import called

        return called(function, args, kwargs)

    def __getitem__(self, index: Any) -> Any:
        if has_recorded(index):
            raise Untraceable("picks by numbers that it computes")
        example = self._example[index]
        numbers = Numbering(self._tape)
        ids = numbers.ids(self)
        view = numbers.taken(ids[index], example)
        view.look_into(self, ids[index] - FIRST)
        return view

    def look_into(self, other: Any, places: Any) -> None:
        """Be a view of another array, at some places of it, if numpy made it one."""
        both = self._example, other._example
        if all(isinstance(array, np.ndarray) for array in both) and np.may_share_memory(*both):
            self._whole, self._places = other._whole, other._places[np.asarray(places).reshape(-1)]
            self._writes = self._whole._writes

    def __setitem__(self, index: Any, value: Any) -> None:
        base = self._whole
        if base._is_given:
            raise Untraceable("writes into the array it was given")
        is_mask = is_recorded(index) and _looks(index._example) == (np.shape(self._example), bool)
        if is_mask and np.ndim(example_of(value)) == 0:
            index, value = ..., np.where(index, value, self)
        elif has_recorded(index):
            raise Untraceable("writes at places that it computes")
        numbers = Numbering(self._tape)
        ids = numbers.ids(base).reshape(-1)
        places = self._places.reshape(np.shape(self._example))[index]
        ids[places] = numbers.ids(value)
        self._example[index] = example_of(value)
        base._register = numbers.taken(ids.reshape(np.shape(base._example)), base._example).at
        base._writes += 1


def is_recorded(value: Any) -> bool:
    """Whether a value is recorded; `isinstance` asks what it stands for."""
    return type(value) is Recorded


def has_recorded(value: Any) -> bool:
    """Whether a value is recorded, or holds one that is."""
    if is_recorded(value):
        return True
    if isinstance(value, dict):
        value = list(value.values())
    return isinstance(value, (list, tuple)) and any(map(has_recorded, value))


def example_of(value: Any) -> Any:
    """A value with examples in the place of what is recorded."""
    if is_recorded(value):
        return value._example
    if isinstance(value, (list, tuple)) and has_recorded(value):
        return type(value)(map(example_of, value))
    return value


def computed(ufunc: Any, inputs: Any, settings: dict[str, Any]) -> Recorded:
    """What a function of numpy's computes element by element, written down."""
    name = ufunc.__name__
    inputs = [as_value(value) for value in inputs]
    examples = [example_of(value) for value in inputs]
    with np.errstate(all="ignore"):
        example = ufunc(*examples, **settings)
    if name == "matmul":
        from .functions import matrix_product

        return matrix_product(*inputs, example=example)
    if name in _OF_TRUTHS:
        dtype = np.dtype(bool)
    elif name in _COMPARING:
        dtype = np.result_type(*examples)
    elif name in _ELEMENTWISE:
        dtype = np.asarray(example).dtype
    else:
        raise Untraceable(f"calls np.{name}, which has no batched form")
    return written(elementwise(name), inputs, example, [dtype] * len(inputs))


def written(
    call: Callable[..., Any], inputs: Any, example: Any, dtypes: list[np.dtype[Any]]
) -> Recorded:
    """A step that broadcasts its inputs against each other."""
    tape, depth = tape_of(inputs), np.ndim(example)
    operands = []
    for value, dtype in zip(inputs, dtypes, strict=True):
        if is_recorded(value):
            shape = np.shape(value._example)
            full_shape = (1,) * (depth - len(shape)) + shape
            operands.append(Operand(value.at, full_shape, shared(dtype)))
        else:
            operands.append(Operand.of(value, dtype))
    at = tape.write(call, operands, np.shape(example), np.asarray(example).dtype)
    return Recorded(tape, at, example)


def as_value(value: Any) -> Any:
    """A value that numpy would take for an array: lists as such, numbers as they are."""
    if not isinstance(value, (list, tuple)):
        return value
    if not has_recorded(value):
        return np.asarray(value)
    from .functions import array

    return array(value)


def tape_of(values: Any) -> Tape:
    """The tape of the first recorded value."""
    if is_recorded(values):
        tape: Tape = values._tape
        return tape
    return tape_of(next(filter(has_recorded, values)))


def _looks(example: Any) -> tuple[Any, Any]:
    return np.shape(example), np.asarray(example).dtype


class Numbering:
    """A number for each element of some values, so that numpy itself says where each one goes.

    What only moves elements is run on these numbers. 0 stands for a zero that a function fills in.
    """

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self._next = FIRST
        self._pieces: list[tuple[int, Any]] = [(0, np.zeros(1, bool))]

    def ids(self, value: Any) -> Any:
        """Numbers in the place of a value's elements; lists of values become lists of numbers."""
        if isinstance(value, (list, tuple)) and has_recorded(value):
            return type(value)(map(self.ids, value))
        piece = value if is_recorded(value) else np.asarray(value)
        shape = np.shape(example_of(piece))
        size = int(np.prod(shape))
        first, self._next = self._next, self._next + size
        self._pieces.append((first, piece))
        return np.arange(first, first + size).reshape(shape)

    def taken(self, ids: Any, example: Any) -> Recorded:
        """The elements that some numbers stand for, written down, with an example of them."""
        flat = np.asarray(ids).reshape(-1)
        shape, dtype = _looks(example)
        firsts = np.array([first for first, _ in self._pieces])
        owners = np.searchsorted(firsts, flat, "right") - 1
        index = np.zeros_like(flat)
        operands: list[Operand] = []
        width = 0
        for owner in dict.fromkeys(owners.tolist()):
            first, piece = self._pieces[owner]
            index = np.where(owners == owner, flat - first + width, index)
            operands.append(_flat(piece, dtype))
            width += operands[-1].shape[0]
        start = int(index[0]) if len(index) else 0
        is_run = np.array_equal(index, np.arange(start, start + len(index)))
        is_whole = is_run and len(index) == width
        if is_whole and len(operands) == 1 and operands[0].constant is None:
            source = self._pieces[int(owners[0])][1]
            if _looks(source._example) == _looks(example):
                return Recorded(self._tape, source.at, example)
        if not operands:
            operands.append(Operand.of(np.zeros(0), dtype))
        if not is_run:
            operands.append(Operand.of(index, np.int64))
        place = None if is_whole else slice(start, start + len(index))
        call = moving(shape, place, has_index=not is_run)
        return Recorded(self._tape, self._tape.write(call, operands, shape, dtype), example)


def _flat(piece: Any, dtype: np.dtype[Any]) -> Operand:
    if is_recorded(piece):
        return Operand(piece.at, (int(np.prod(np.shape(piece._example))),), shared(dtype))
    return Operand.of(np.asarray(piece).reshape(-1), dtype)
