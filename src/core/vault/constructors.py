"""The short list of calls in a pickle that become values, and how each is built safely.

Every entry is a function of ours over checked arguments: sizes are compared with the bytes that
are really there before an array is made of them, dtypes come from a closed grammar, strides must
stay inside their storage. What does not fit stays a stand-in. Where to read next:
`torch_file.py` for tensors stored beside a pickle.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Final, cast

import numpy as np

from ..errors import CheckpointError, LimitExceededError
from .pickle_machine import DAMAGED, Constructor, NotBuiltError, PickleMachine
from .standins import GlobalRef, Opaque, shown
from .storages import Storage, storage_dtype

MAX_DIMS: Final = 32
MAX_FIELDS: Final = 1000
MAX_CODE_POINT: Final = 0x10FFFF
_DTYPE_CODE = re.compile(
    r"[<>=|]?(?:[biufcSUV]\d{1,6}|[?bBhHiIlLqQefdFD]|[mM]8(?:\[(?:[1-9]\d{0,5})?[a-zA-Z]{1,2}\])?)"
)
_DTYPE_NAME = re.compile(r"(?:bool|u?int(?:8|16|32|64)?|float(?:16|32|64)?|complex(?:64|128)?)_?")


def _dtype(machine: PickleMachine, args: tuple[Any, ...]) -> np.dtype[Any]:
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
    made = np.dtype(np.dtype(code.rstrip("_")), copy=True)
    machine.begin_dtype(made)
    return made


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
        if dtype.kind in "SUV" or order in "|=":
            return
        safe = dtype.newbyteorder(cast(Any, order))
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
            }
        )
    # numpy wrote this state itself, for a dtype built from checked parts.
    cast(Any, dtype).__setstate__(safe.__reduce__()[2])


def _fields(names: Any, fields: Any) -> list[tuple[Any, int]]:
    """Dtype and offset of each named field of a record dtype."""
    if not isinstance(names, tuple) or not isinstance(fields, dict) or len(names) > MAX_FIELDS:
        raise NotBuiltError("a record dtype without fields")
    if not all(isinstance(name, str) and len(name) <= MAX_FIELDS for name in names):
        raise NotBuiltError("a record dtype whose fields have no names")
    parts = [fields[name] for name in names]
    if not all(isinstance(part, tuple) and type(part[1]) is int for part in parts):
        raise NotBuiltError("a record dtype whose fields lie nowhere")
    return [(part[0], part[1]) for part in parts]


def _plain(machine: PickleMachine, dtype: Any) -> np.dtype[Any]:
    """`dtype`, used from now on and without objects in it."""
    if not isinstance(dtype, np.dtype) or dtype.hasobject:
        raise NotBuiltError("an array of objects given as raw bytes")
    machine.end_dtype(dtype)
    return dtype


def _shape(shape: Any) -> tuple[int, ...]:
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
    checked, dims = _plain(machine, dtype), _shape(shape)
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


def _frombuffer(machine: PickleMachine, args: tuple[Any, ...]) -> Any:
    data, dtype, shape, order = args
    machine.budget.spend(200, "an array")
    if isinstance(data, np.ndarray):
        machine.budget.spend(_plain_bytes(data), "an array")
        data = data.tobytes()
    return _from_bytes(machine, data, dtype, shape, order)


def _plain_bytes(array: np.ndarray[Any, Any]) -> int:
    if array.dtype.hasobject:
        raise NotBuiltError("the addresses of objects as numbers")
    return array.nbytes


def _reconstruct(machine: PickleMachine, args: tuple[Any, ...]) -> Any:
    machine.budget.spend(200, "an array")
    return np.ndarray((0,), "b")


def _set_array(machine: PickleMachine, array: np.ndarray[Any, Any], state: Any) -> None:
    """What `ndarray.__setstate__` does, on checked arguments."""
    if not isinstance(state, tuple):
        raise NotBuiltError("an unknown array state")
    shape, dtype, fortran, data = state[-4:]
    if array.size:
        raise NotBuiltError("the state of a finished array")
    if isinstance(data, list):
        if not isinstance(dtype, np.dtype) or math.prod(_shape(shape)) != len(data):
            raise NotBuiltError("an object array whose items do not fill it")
        machine.budget.work(len(data), "an object array")
        # Freeing arrays nested in arrays recurses in C, once for each level.
        if any(isinstance(item, np.ndarray) and item.dtype.hasobject for item in data):
            raise NotBuiltError("object arrays inside an object array")
        machine.budget.spend(8 * len(data), "an object array")
        cast(Any, array).__setstate__((1, _shape(shape), np.dtype("O"), bool(fortran), data))
        return
    built = _from_bytes(machine, data, dtype, shape, "F" if fortran else "C")
    machine.budget.spend(built.nbytes, "an array")
    cast(Any, array).__setstate__((1, built.shape, built.dtype, bool(fortran), built.tobytes("A")))


def _scalar(machine: PickleMachine, args: tuple[Any, ...]) -> Any:
    value = _from_bytes(machine, args[1], args[0], (), "C")
    machine.budget.spend(64 + value.nbytes, "a number")
    return value[()]


def _bytes(machine: PickleMachine, args: tuple[Any, ...]) -> bytes:
    """Bytes as Python 3 writes them for old protocols: text and an encoding, or a list."""
    if not args:
        return b""
    source = args[0]
    if isinstance(source, str) and args[1:] in (("latin1",), ("latin-1",)):
        machine.budget.spend(33 + len(source), "bytes")
        return source.encode("latin-1")
    if isinstance(source, (bytes, memoryview)):
        machine.budget.spend(33 + len(source), "bytes")
        return bytes(source)
    raise NotBuiltError("bytes of something else")


def _dict(machine: PickleMachine, args: tuple[Any, ...]) -> dict[Any, Any]:
    filled: dict[Any, Any] = {}
    machine.budget.spend(72, "a dict")
    source = args[0] if args else ()
    if not isinstance(source, (dict, list, tuple)):
        raise NotBuiltError("a dict of something else")
    machine.budget.work(len(source), "a dict")
    if isinstance(source, dict):
        machine.budget.spend(110 * len(source), "a dict")
        filled.update(source)
        return filled
    for pair in source:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise NotBuiltError("a dict of something else")
        machine.fill(filled, list(pair))
    return filled


def _default_dict(machine: PickleMachine, args: tuple[Any, ...]) -> dict[Any, Any]:
    return _dict(machine, args[1:])


def _list(machine: PickleMachine, args: tuple[Any, ...]) -> list[Any]:
    items = args[0] if args else []
    if not isinstance(items, (list, tuple)):
        raise NotBuiltError("a list of something else")
    machine.budget.work(len(items), "a list")
    machine.budget.spend(64 + 8 * len(items), "a list")
    return list(items)


def _set(machine: PickleMachine, args: tuple[Any, ...]) -> set[Any]:
    items = _list(machine, args)
    machine.budget.spend(80 * len(items), "a set")
    return set(map(machine.key, items))


def _frozenset(machine: PickleMachine, args: tuple[Any, ...]) -> frozenset[Any]:
    return frozenset(_set(machine, args))


def _complex(machine: PickleMachine, args: tuple[Any, ...]) -> complex:
    real, imaginary = args
    if not isinstance(real, (int, float)) or not isinstance(imaginary, (int, float)):
        raise NotBuiltError("a complex number of something else")
    return complex(float(real), float(imaginary))


def _tuple(machine: PickleMachine, args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(_list(machine, args))


def _getattr(machine: PickleMachine, args: tuple[Any, ...]) -> GlobalRef:
    """`getattr(cls, "name")` read as the longer name it is; nothing is looked up."""
    owner, name = args
    if not isinstance(owner, GlobalRef) or not isinstance(name, str):
        raise NotBuiltError("an attribute of something unknown")
    return machine.name(owner.module, f"{owner.name}.{name}")


def _builtin_type(machine: PickleMachine, args: tuple[Any, ...]) -> GlobalRef:
    return machine.name("types", args[0])


def _reconstructor(machine: PickleMachine, args: tuple[Any, ...]) -> Opaque:
    cls, _base, contents = args
    made = Opaque(cls)
    machine.budget.spend(320, "an object")
    if isinstance(contents, (dict, list, tuple)):
        machine.budget.work(len(contents), "an object")
        machine.budget.spend(80 * len(contents), "an object")
    if isinstance(contents, dict):
        made.entries.extend(contents.items())
    elif isinstance(contents, (list, tuple)):
        made.items.extend(contents)
    return made


def _new_object(machine: PickleMachine, args: tuple[Any, ...]) -> Any:
    if isinstance(args[0], GlobalRef) and args[0].name == "__newobj__":
        raise NotBuiltError("a call that makes calls")
    machine.budget.spend(48 + 8 * len(args), "arguments")
    return machine.construct(args[0], args[1:])


def _attach_state(machine: PickleMachine, args: tuple[Any, ...]) -> Any:
    """State setters of by-value functions and classes: the state is kept, not applied."""
    target, state = args
    if isinstance(target, Opaque):
        target.state = state
    return target


def _tensor(machine: PickleMachine, args: tuple[Any, ...]) -> np.ndarray[Any, Any]:
    storage, offset, size, stride = args[:4]
    if isinstance(storage, np.ndarray):
        if storage.dtype.kind not in "biufc" or not storage.flags.c_contiguous:
            raise NotBuiltError("a tensor of something else than numbers")
        storage = Storage(storage.reshape(-1), "")
    if not isinstance(storage, Storage):
        raise NotBuiltError("a tensor whose storage is not there")
    values = storage.view(offset, _shape(size), _shape(stride))
    machine.budget.spend(300 + values.nbytes, "a tensor")
    return values


def _typed_tensor(machine: PickleMachine, args: tuple[Any, ...]) -> np.ndarray[Any, Any]:
    storage, dtype = args[0], args[6]
    if not isinstance(storage, Storage) or not isinstance(dtype, GlobalRef):
        raise NotBuiltError("a tensor whose storage is not there")
    return _tensor(machine, (storage.retyped(storage_dtype(dtype.name)), *args[1:4]))


def _first(machine: PickleMachine, args: tuple[Any, ...]) -> Any:
    """A parameter is its data; a tensor made from an array is that array."""
    if not isinstance(args[0], np.ndarray):
        raise NotBuiltError("a tensor without data")
    return args[0]


def _torch_bytes(machine: PickleMachine, args: tuple[Any, ...]) -> Any:
    from .torch_file import decode_torch

    if not isinstance(args[0], (bytes, memoryview)):
        raise NotBuiltError("a torch file without bytes")
    # Paid as if it were copied, so that a few bytes cannot have much decoded again and again.
    machine.budget.spend(1000 + len(args[0]), "a torch file")
    return decode_torch(args[0], machine.nested)


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


def _aliases(table: Mapping[tuple[str, str], Constructor]) -> dict[tuple[str, str], Constructor]:
    """The table under every spelling: numpy 1 and 2, Python 2, the cloudpickle inside Ray."""
    spelled = dict(table)
    renamed = {
        "numpy.core.": ("numpy._core.",),
        "builtins": ("__builtin__",),
        "copyreg": ("copy_reg",),
        "cloudpickle": (
            "cloudpickle.cloudpickle",
            "cloudpickle.cloudpickle_fast",
            "ray.cloudpickle.cloudpickle",
            "ray.cloudpickle.cloudpickle_fast",
            "ray.cloudpickle",
        ),
    }
    for (module, name), constructor in table.items():
        for old, spellings in renamed.items():
            if module.startswith(old):
                for spelling in spellings:
                    spelled[spelling + module[len(old) :], name] = constructor
    return spelled


CONSTRUCTORS: Final = _aliases(
    {
        ("builtins", "bytearray"): _bytes,
        ("builtins", "bytes"): _bytes,
        ("builtins", "complex"): _complex,
        ("builtins", "dict"): _dict,
        ("builtins", "frozenset"): _frozenset,
        ("builtins", "getattr"): _getattr,
        ("builtins", "list"): _list,
        ("builtins", "set"): _set,
        ("builtins", "tuple"): _tuple,
        ("_codecs", "encode"): _bytes,
        ("collections", "Counter"): _dict,
        ("collections", "OrderedDict"): _dict,
        ("collections", "defaultdict"): _default_dict,
        ("collections", "deque"): _list,
        ("copyreg", "__newobj__"): _new_object,
        ("copyreg", "_reconstructor"): _reconstructor,
        ("cloudpickle", "_builtin_type"): _builtin_type,
        ("cloudpickle", "_class_setstate"): _attach_state,
        ("cloudpickle", "_function_setstate"): _attach_state,
        ("numpy", "dtype"): _dtype,
        ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
        ("numpy.core.multiarray", "scalar"): _scalar,
        ("numpy.core.numeric", "_frombuffer"): _frombuffer,
        ("torch", "Size"): _tuple,
        ("torch._utils", "_rebuild_device_tensor_from_numpy"): _first,
        ("torch._utils", "_rebuild_parameter"): _first,
        ("torch._utils", "_rebuild_parameter_with_state"): _first,
        ("torch._utils", "_rebuild_tensor"): _tensor,
        ("torch._utils", "_rebuild_tensor_v2"): _tensor,
        ("torch._utils", "_rebuild_tensor_v3"): _typed_tensor,
        ("torch.storage", "_load_from_bytes"): _torch_bytes,
    }
)
