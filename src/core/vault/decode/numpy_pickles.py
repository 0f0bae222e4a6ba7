"""Arrays, dtypes and numbers as numpy pickles them, built from checked arguments.

Dtypes come from a closed grammar, sizes are compared with the bytes that are really there, and a
dtype in use never changes: numpy would change it in place, under the arrays made of it.
"""

from __future__ import annotations

import math
import re
from typing import Any, Final, cast

import numpy as np

from ...errors import CheckpointError, LimitExceededError
from .pickle_machine import DAMAGED, NotBuiltError, PickleMachine
from .standins import GlobalRef, shown

MAX_DIMS: Final = 32
MAX_FIELDS: Final = 1000
MAX_CODE_POINT: Final = 0x10FFFF
_DTYPE_CODE: Final = re.compile(
    r"[<>=|]?(?:[biufcSUV]\d{1,6}|[?bBhHiIlLqQefdFD]|[mM]8(?:\[(?:[1-9]\d{0,5})?[a-zA-Z]{1,2}\])?)"
)
_DTYPE_NAME: Final = re.compile(
    r"(?:bool|u?int(?:8|16|32|64)?|float(?:16|32|64)?|complex(?:64|128)?)_?"
)
_UNIT: Final = re.compile(rb"Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as|generic")
# In the flags of a dtype: a record laid out as a C compiler would.
_ALIGNED: Final = 0x80


def new_dtype(machine: PickleMachine, args: tuple[Any, ...]) -> np.dtype[Any]:
    """`numpy.dtype(code, ...)` for codes of plain numbers, text and times."""
    code = args[0]
    if isinstance(code, GlobalRef) and code.module in ("numpy", "builtins"):
        code = code.name
    if code in ("O", "O8", "|O", "object"):
        return np.dtype("O")
    if not isinstance(code, str) or not (
        _DTYPE_CODE.fullmatch(code) or _DTYPE_NAME.fullmatch(code)
    ):
        raise NotBuiltError(f"no plain dtype: {shown(code)}")
    machine.budget.spend(200, "a dtype")
    # A copy: its byte order is set by the state that follows, never on a shared dtype.
    dtype = np.dtype(np.dtype(code.rstrip("_")), copy=True)
    machine.begin_dtype(dtype)
    return dtype


def _set_dtype(machine: PickleMachine, dtype: np.dtype[Any], state: Any) -> None:
    """Byte order or fields of a new dtype.

    numpy changes the dtype in place, so that is done once and before anything uses it: under a
    live array it would move the bounds of the array's memory.
    """
    if dtype == np.dtype("O"):
        return  # numpy's own, shared by all; its state says nothing
    if not machine.end_dtype(dtype):
        raise NotBuiltError("a state for a dtype that is in use")
    if not isinstance(state, tuple):
        raise NotBuiltError("an unknown dtype state")
    version, order, subarray, names, fields = state[:5]
    if type(version) is not int or order not in ("<", ">", "=", "|"):
        raise NotBuiltError("an unknown dtype state")
    if dtype.hasobject or subarray is not None:
        raise NotBuiltError("a dtype of objects or sub-arrays")
    if names is None and fields is None:
        if dtype.kind in "SV" or order in "|=":
            return
        safe = _with_unit(dtype, state).newbyteorder(cast(Any, order))
    else:
        parts, itemsize = _fields(names, fields), state[5]
        if dtype.kind != "V" or type(itemsize) is not int or not 0 <= itemsize <= 1 << 20:
            raise NotBuiltError("a record dtype that contradicts itself")
        machine.budget.spend(400 * len(parts), "a dtype")
        safe = np.dtype(
            {
                "names": list(names),
                "formats": [_plain(machine, part[0]) for part in parts],
                "offsets": [part[1] for part in parts],
                "itemsize": itemsize,
                "aligned": state[7:8] != (0,) and bool(state[7] & _ALIGNED),
            }
        )
    # numpy wrote this state itself, for a dtype built from checked parts.
    cast(Any, dtype).__setstate__(safe.__reduce__()[2])


def _with_unit(dtype: np.dtype[Any], state: tuple[Any, ...]) -> np.dtype[Any]:
    """A dtype of times with the unit that its state tells; any other as it is."""
    if dtype.kind not in "mM" or len(state) < 9:
        return dtype
    _, (unit, count, divisor, _event) = state[8]
    if not isinstance(unit, bytes) or not _UNIT.fullmatch(unit) or divisor != 1:
        raise NotBuiltError("times of an unknown unit")
    if unit == b"generic":
        return dtype
    if type(count) is not int or not 0 < count < 10**6:
        raise NotBuiltError("times of an unknown unit")
    return np.dtype(f"{dtype.kind}8[{count}{unit.decode()}]")


def _fields(names: Any, fields: Any) -> list[tuple[Any, int]]:
    if not isinstance(names, tuple) or not isinstance(fields, dict) or len(names) > MAX_FIELDS:
        raise NotBuiltError("a record dtype without fields")
    if not all(isinstance(name, str) and len(name) <= MAX_FIELDS for name in names):
        raise NotBuiltError("a record dtype whose fields have no names")
    parts = [fields[name] for name in names]
    if not all(isinstance(part, tuple) and type(part[1]) is int for part in parts):
        raise NotBuiltError("a record dtype whose fields lie nowhere")
    return [(part[0], part[1]) for part in parts]


def _plain(machine: PickleMachine, dtype: Any) -> np.dtype[Any]:
    """`dtype` itself if it holds no objects; it must not change from now on."""
    if not isinstance(dtype, np.dtype) or dtype.hasobject:
        raise NotBuiltError("an array of objects given as raw bytes")
    machine.end_dtype(dtype)
    return dtype


def checked_shape(shape: Any) -> tuple[int, ...]:
    """`shape` as sizes that can be, or NotBuiltError."""
    if isinstance(shape, int):
        shape = (shape,)
    if not isinstance(shape, (tuple, list)) or len(shape) > MAX_DIMS:
        raise NotBuiltError("no shape")
    if not all(type(size) is int and 0 <= size < 2**62 for size in shape):
        raise NotBuiltError(f"a shape of {shown(shape)}")
    return tuple(shape)


def _from_bytes(
    machine: PickleMachine, data: Any, dtype: Any, shape: Any, order: Any
) -> np.ndarray[Any, np.dtype[Any]]:
    """An array over `data`, which must hold just the bytes that dtype and shape declare."""
    checked, dims = _plain(machine, dtype), checked_shape(shape)
    if isinstance(data, str):  # protocol 2 and older keep bytes as latin-1 text
        machine.budget.spend(33 + len(data), "an array")
        data = data.encode("latin-1")
    if not isinstance(data, (bytes, memoryview)):
        raise NotBuiltError(f"an array made of a {type(data).__name__}")
    declared = math.prod(dims) * checked.itemsize
    if declared != len(data):
        raise NotBuiltError(f"an array of {declared:,} bytes made of {len(data):,}")
    if declared == 0:
        if math.prod(dims):
            raise NotBuiltError("items of no size")
        return np.zeros(dims, checked)
    flat = np.frombuffer(data, dtype=checked)
    if checked.kind == "U" and int(flat.view(f"{checked.byteorder}u4").max()) > MAX_CODE_POINT:
        raise NotBuiltError("characters beyond Unicode")
    return flat.reshape(dims, order="F" if order == "F" else "C")


def array_from_buffer(machine: PickleMachine, args: tuple[Any, ...]) -> Any:
    """`_frombuffer(data, dtype, shape, order)`, as protocol 5 writes arrays."""
    data, dtype, shape, order = args
    machine.budget.spend(200, "an array")
    if isinstance(data, np.ndarray):
        if data.dtype.hasobject:
            raise NotBuiltError("the addresses of objects as numbers")
        machine.budget.spend(data.nbytes, "an array")
        data = data.tobytes()
    built = _from_bytes(machine, data, dtype, shape, order)
    if not machine.owns(data):
        return built
    array: Any = np.ndarray((0,), "b")  # which may be written, as nobody else has its bytes
    array.__setstate__((1, built.shape, built.dtype, order == "F", data))
    return array


def empty_array(machine: PickleMachine, args: tuple[Any, ...]) -> Any:
    """`_reconstruct(...)`: an empty array that the state which follows fills."""
    machine.budget.spend(200, "an array")
    return np.ndarray((0,), "b")


def _set_array(machine: PickleMachine, array: np.ndarray[Any, Any], state: Any) -> None:
    """`ndarray.__setstate__` on checked arguments."""
    if not isinstance(state, tuple):
        raise NotBuiltError("an unknown array state")
    shape, dtype, fortran, data = state[-4:]
    if array.size:
        raise NotBuiltError("the state of a finished array")
    if isinstance(data, list):
        if not isinstance(dtype, np.dtype) or math.prod(checked_shape(shape)) != len(data):
            raise NotBuiltError("an object array whose items do not fill it")
        machine.budget.work(len(data), "an object array")
        # Freeing arrays nested in arrays recurses in C, once for each level.
        if any(isinstance(item, np.ndarray) and item.dtype.hasobject for item in data):
            raise NotBuiltError("object arrays inside an object array")
        machine.budget.spend(8 * len(data), "an object array")
        cast(Any, array).__setstate__((1, checked_shape(shape), np.dtype("O"), bool(fortran), data))
        return
    built = _from_bytes(machine, data, dtype, shape, "F" if fortran else "C")
    machine.budget.spend(built.nbytes, "an array")
    raw = data if machine.owns(data) else built.tobytes("A")
    cast(Any, array).__setstate__((1, built.shape, built.dtype, bool(fortran), raw))


def scalar(machine: PickleMachine, args: tuple[Any, ...]) -> Any:
    """`scalar(dtype, bytes)`: one number."""
    value = _from_bytes(machine, args[1], args[0], (), "C")
    machine.budget.spend(64 + value.nbytes, "a number")
    return value[()]


def set_state(machine: PickleMachine, target: Any, state: Any) -> None:
    """Apply the state a pickle sets on an array or dtype built here."""
    try:
        if type(target) is np.ndarray:
            _set_array(machine, target, state)
        elif isinstance(target, np.dtype):
            _set_dtype(machine, target, state)
    except LimitExceededError:
        raise
    except CheckpointError as error:
        machine.skip(f"{type(target).__name__}: {error.summary[:160]}")
    except (NotBuiltError, *DAMAGED) as error:
        machine.skip(f"{type(target).__name__}: {str(error)[:160] or type(error).__name__}")
