"""What numpy's functions and methods do to recorded values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

import numpy as np

from .recorded import (
    FIRST,
    Numbering,
    Recorded,
    as_value,
    example_of,
    has_recorded,
    is_recorded,
    tape_of,
    written,
)
from .tape import Operand, Untraceable, along_last, elementwise

_WORDS: Final = (
    "concatenate stack hstack vstack dstack column_stack reshape ravel squeeze expand_dims"
    " transpose moveaxis rollaxis swapaxes flip fliplr flipud rot90 roll repeat tile broadcast_to"
    " atleast_1d atleast_2d atleast_3d take split array_split hsplit vsplit dsplit delete diag"
    " diagonal tril triu pad copy",
    "axis axes shift repeats k mode dtype source destination shape newshape axis1 axis2 start"
    " pad_width indices_or_sections reps indices obj",
)
_MOVING: Final = {**dict.fromkeys(_WORDS[0].split(), (0,)), "append": (0, 1), "insert": (0, 2)}
"""Functions that only move elements, and which of their arguments hold these."""
_SETTINGS: Final = frozenset(_WORDS[1].split())
_PADDING: Final = ("constant", "edge", "reflect", "symmetric", "wrap")
_REDUCING: Final = {
    "sum": "sum",
    "prod": "prod",
    "mean": "mean",
    "max": "amax",
    "amax": "amax",
    "min": "amin",
    "amin": "amin",
    "any": "any",
    "all": "all",
    "argmax": "argmax",
    "argmin": "argmin",
}
_LIKE: Final = frozenset(["zeros_like", "ones_like", "full_like", "empty_like"])
_ASKING: Final = frozenset(["shape", "ndim", "size", "result_type", "iscomplexobj", "isrealobj"])


def called(function: Any, args: Any, kwargs: Any) -> Any:
    """A function of numpy's, called with recorded values."""
    name = str(function.__name__)
    if function == np.linalg.norm:
        return _norm(*args, **kwargs)
    if not hasattr(np, name) or getattr(np, name) is not function:
        raise Untraceable(f"calls numpy's {name}, which has no batched form")
    if name in _MOVING:
        return _moved(function, _MOVING[name], args, kwargs)
    if name in _REDUCING:
        return _reduced(function, *args, **kwargs)
    if name in _LIKE or name in _ASKING:
        result = function(*map(example_of, args), **kwargs)
        return constant(tape_of(args), result) if name in _LIKE else result
    if name in _WRITTEN:
        return _WRITTEN[name](*args, **kwargs)
    raise Untraceable(f"calls np.{name}, which has no batched form")


def method(value: Recorded, name: str) -> Any:
    """A method of a recorded array, or what its attribute holds."""
    if name == "T":
        return _moved(np.transpose, (0,), (value,), {})
    if name == "astype":
        return lambda dtype, **settings: converted(value, dtype)
    if name == "fill":
        return lambda number: value.__setitem__(..., number)
    if name in ("reshape", "transpose", "flatten"):  # they take their settings one by one

        def moved(array: Any, *args: Any, **settings: Any) -> Any:
            return getattr(array, name)(*args, **settings)

        moved.__name__ = name
        return lambda *args, **settings: _moved(moved, (0,), (value, *args), settings)
    if name in _MOVING or name in _REDUCING or name in _WRITTEN:
        function = getattr(np, name)
        return lambda *args, **settings: called(function, (value, *args), settings)
    raise Untraceable(f"asks an array for .{name}, which has no batched form")


def array(value: Any, dtype: Any = None, *, is_scalar: bool = False) -> Any:
    """What `np.array` makes of nested lists that hold recorded values.

    With `is_scalar` an array without axes is a number, as `np.float32` gives one.
    """
    with np.errstate(all="ignore"):
        example = np.array(example_of(value), dtype)
    numbers = Numbering(tape_of(value))
    return numbers.taken(np.array(numbers.ids(value)), example[()] if is_scalar else example)


def constant(tape: Any, value: Any) -> Recorded:
    """A constant that may be written into, as a recorded value."""
    numbers = Numbering(tape)
    return numbers.taken(numbers.ids(value), value)


def converted(value: Recorded, dtype: Any) -> Recorded:
    """`astype`: a value in another dtype."""
    with np.errstate(all="ignore"):
        example = example_of(value).astype(dtype)
    numbers = Numbering(tape_of(value))
    return numbers.taken(numbers.ids(value), example)


def matrix_product(left: Any, right: Any, *, example: Any) -> Recorded:
    """`left @ right`; a vector is a row on the left and a column on the right."""
    row = np.reshape(left, (1, -1)) if np.ndim(example_of(left)) == 1 else left
    column = np.reshape(right, (-1, 1)) if np.ndim(example_of(right)) == 1 else right
    sides = [np.zeros(np.shape(example_of(side))) for side in (row, column)]
    dtype = np.asarray(example).dtype
    product = (sides[0] @ sides[1]).astype(dtype)
    register = written(elementwise("matmul"), (row, column), product, [dtype, dtype])
    numbers = Numbering(tape_of(register))
    return numbers.taken(numbers.ids(register), example)


def _moved(function: Any, places: tuple[int, ...], args: Any, kwargs: Any) -> Any:
    data = [args[place] for place in places if place < len(args)]
    rest = [argument for place, argument in enumerate(args) if place not in places]
    if len(data) < len(places) or kwargs.keys() - _SETTINGS or has_recorded([*rest, kwargs]):
        raise Untraceable(f"calls np.{function.__name__} in an unusual way")
    if (function is np.pad or "mode" in kwargs) and _mode(*rest, **kwargs) not in _PADDING:
        raise Untraceable(f"calls np.{function.__name__} in an unusual way")
    numbers = Numbering(tape_of(data))
    ids = list(args)
    examples = list(args)
    for place in places:
        ids[place] = numbers.ids(args[place])
        examples[place] = example_of(args[place])
    with np.errstate(all="ignore"):
        results = function(*examples, **kwargs)
    moved = function(*ids, **{key: value for key, value in kwargs.items() if key != "dtype"})
    is_one = not isinstance(results, (list, tuple))
    pairs = [(moved, results)] if is_one else zip(moved, results, strict=True)
    parts = []
    for ids_of_part, example in pairs:
        part = numbers.taken(ids_of_part, example)
        if is_recorded(data[0]):
            part.look_into(data[0], ids_of_part - FIRST)
        parts.append(part)
    return parts[0] if is_one else type(results)(parts)


def _reduced(
    function: Any, value: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False
) -> Recorded:
    name = _REDUCING[function.__name__]
    value = value if is_recorded(value) else array(value)
    settings = {} if dtype is None else {"dtype": dtype}
    example = function(example_of(value), axis=axis, keepdims=keepdims, **settings)
    depth = np.ndim(example_of(value))
    axes = range(depth) if axis is None else np.atleast_1d(axis).tolist()
    reduced = [axis % depth for axis in axes] if depth else []
    order = [axis for axis in range(depth) if axis not in reduced] + reduced
    shape = np.shape(example_of(value))
    kept_shape = tuple(shape[axis] for axis in order[: depth - len(reduced)])
    last: Any = np.transpose(value, order) if depth else value
    last = np.reshape(last, (*kept_shape, -1))
    own_dtype = np.asarray(example).dtype
    wide: Any = own_dtype
    if name in ("any", "all"):
        wide = np.dtype(bool)
    elif name in ("argmax", "argmin"):
        wide = np.dtype(np.uint8) if last.dtype == bool else last.dtype
    result = np.zeros(kept_shape, own_dtype)
    tape = tape_of(last)
    at = tape.write(along_last(name), [Operand(last.at, last.shape, wide)], kept_shape, own_dtype)
    register = Recorded(tape, at, result)
    numbers = Numbering(tape)
    return numbers.taken(numbers.ids(register), example)


def _mode(width: Any = None, mode: str = "constant", **settings: Any) -> str:
    return mode


def _where(condition: Any, *choices: Any) -> Recorded:
    if len(choices) != 2:
        raise Untraceable("asks where something is, which may be anywhere")
    inputs = [as_value(value) for value in (condition, *choices)]
    example = np.where(*map(example_of, inputs))
    dtype = example.dtype
    return written(elementwise("where"), inputs, example, [np.dtype(bool), dtype, dtype])


def _clipped(value: Any, low: Any = None, high: Any = None, **bounds: Any) -> Any:
    low = bounds.get("a_min", bounds.get("min", low))
    high = bounds.get("a_max", bounds.get("max", high))
    number = as_value(value)
    if low is not None:
        number = np.maximum(number, low)
    return number if high is None else np.minimum(number, high)


def _rounded(value: Any, decimals: int = 0) -> Any:
    if not decimals:
        return np.rint(value)
    return np.rint(value * 10.0**decimals) / 10.0**decimals


def _finite(value: Any, copy: bool = True, nan: float = 0.0) -> Any:
    kind = np.asarray(example_of(value)).dtype.type
    if not issubclass(kind, np.floating):
        return value
    ends = np.finfo(kind)
    bounded = np.maximum(np.minimum(value, ends.max), ends.min)
    return np.where(np.isnan(value), kind(nan), bounded)


def _norm(value: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    is_plain = ord is None or (
        ord == 2 and (isinstance(axis, int) or np.ndim(example_of(value)) == 1)
    )
    if not is_plain:
        raise Untraceable("takes an unusual norm")
    is_float = np.asarray(example_of(value)).dtype.kind == "f"
    wide = value if is_float else converted(value, float)
    return np.sqrt(np.sum(np.square(cast("Any", wide)), axis=axis, keepdims=keepdims))


def _variance(value: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    centre = np.mean(value, axis=axis, keepdims=True)
    return np.mean(np.square(np.subtract(value, centre)), axis=axis, keepdims=keepdims)


def _dot(left: Any, right: Any) -> Any:
    depths = [np.ndim(example_of(left)), np.ndim(example_of(right))]
    if depths[1] > 2:
        raise Untraceable("takes a product over many axes")
    return np.multiply(left, right) if 0 in depths else np.matmul(left, right)


def _cumulated(value: Any, axis: Any = None) -> Any:
    value = np.ravel(value) if axis is None else value
    last: Any = np.moveaxis(value, -1 if axis is None else axis, -1)
    example = np.cumsum(example_of(last), -1)
    sums = written(along_last("cumsum"), (last,), example, [example.dtype])
    return np.moveaxis(cast("Any", sums), -1, -1 if axis is None else axis)


_WRITTEN: Final[dict[str, Callable[..., Any]]] = {
    "where": _where,
    "clip": _clipped,
    "round": _rounded,
    "around": _rounded,
    "nan_to_num": _finite,
    "dot": _dot,
    "var": _variance,
    "std": lambda *args, **settings: np.sqrt(_variance(*args, **settings)),
    "ptp": lambda value, axis=None: np.max(value, axis=axis) - np.min(value, axis=axis),
    "cumsum": _cumulated,
}
