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

from ..errors import CheckpointError
from .pickle_machine import DAMAGED, Constructor, NotBuiltError, PickleMachine
from .standins import GlobalRef, Opaque
from .storages import Storage, storage_dtype

MAX_DIMS: Final = 32
_DTYPE_CODE = re.compile(
    r"[<>=|]?(?:[biufcSUV]\d{1,6}|[?bBhHiIlLqQefdFD]|[mM]8(?:\[\d{0,6}[a-zA-Z]{1,2}\])?)"
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
        raise NotBuiltError(f"no plain dtype: {str(code)[:40]!r}")
    # A copy: its byte order is set by the state that follows, never on a shared dtype.
    return np.dtype(np.dtype(code.rstrip("_")), copy=True)


def _set_dtype(dtype: np.dtype[Any], state: Any) -> None:
    version, order, subarray, names, fields = state[:5]
    if not isinstance(version, int) or order not in ("<", ">", "=", "|"):
        raise NotBuiltError("an unknown dtype state")
    if dtype.hasobject or subarray is not None:
        raise NotBuiltError("a dtype of objects or sub-arrays")
    if names is None and fields is None:
        if dtype.kind in "SUV" or order in "|=":
            return
        safe = dtype.newbyteorder(order)
    else:
        parts = [fields[name] for name in names]
        itemsize = state[5]
        if dtype.kind != "V" or not 0 <= itemsize <= 1 << 20:
            raise NotBuiltError("a record dtype that contradicts itself")
        safe = np.dtype(
            {
                "names": [str(name) for name in names],
                "formats": [_plain(part[0]) for part in parts],
                "offsets": [int(part[1]) for part in parts],
                "itemsize": int(itemsize),
            }
        )
    # numpy wrote this state itself, for a dtype built from checked parts.
    cast(Any, dtype).__setstate__(safe.__reduce__()[2])


def _plain(dtype: Any) -> np.dtype[Any]:
    if not isinstance(dtype, np.dtype) or dtype.hasobject:
        raise NotBuiltError("an array of objects given as raw bytes")
    return dtype


def _shape(shape: Any) -> tuple[int, ...]:
    if isinstance(shape, int):
        shape = (shape,)
    if not isinstance(shape, (tuple, list)) or len(shape) > MAX_DIMS:
        raise NotBuiltError("no shape")
    if not all(type(size) is int and 0 <= size < 2**62 for size in shape):
        raise NotBuiltError(f"a shape of {str(shape)[:60]}")
    return tuple(shape)


def _from_bytes(data: Any, dtype: Any, shape: Any, order: Any) -> np.ndarray[Any, np.dtype[Any]]:
    """An array over `data`, which must hold just the bytes that dtype and shape declare."""
    checked, dims = _plain(dtype), _shape(shape)
    if isinstance(data, str):  # protocol 2 and older keep bytes as latin-1 text
        data = data.encode("latin-1")
    if not isinstance(data, (bytes, memoryview)):
        raise NotBuiltError(f"an array made of a {type(data).__name__}")
    declared = math.prod(dims) * checked.itemsize
    if declared != len(data):
        raise NotBuiltError(f"an array of {declared:,} bytes made of {len(data):,}")
    if declared == 0:
        return np.zeros(dims, checked)
    flat = np.frombuffer(data, dtype=checked)
    return flat.reshape(dims, order="F" if order == "F" else "C")


def _frombuffer(machine: PickleMachine, args: tuple[Any, ...]) -> Any:
    data, dtype, shape, order = args
    if isinstance(data, np.ndarray):
        data = data.tobytes()
    machine.budget.spend(120, "an array")
    return _from_bytes(data, dtype, shape, order)


def _reconstruct(machine: PickleMachine, args: tuple[Any, ...]) -> Any:
    machine.budget.spend(120, "an array")
    return np.ndarray((0,), "b")


def _set_array(machine: PickleMachine, array: np.ndarray[Any, Any], state: Any) -> None:
    """What `ndarray.__setstate__` does, on checked arguments."""
    shape, dtype, fortran, data = state[-4:]
    if array.size:
        raise NotBuiltError("the state of a finished array")
    if isinstance(data, list):
        if not isinstance(dtype, np.dtype) or math.prod(_shape(shape)) != len(data):
            raise NotBuiltError("an object array whose items do not fill it")
        machine.budget.spend(8 * len(data), "an object array")
        cast(Any, array).__setstate__((1, _shape(shape), np.dtype("O"), False, data))
        return
    built = _from_bytes(data, dtype, shape, "F" if fortran else "C")
    machine.budget.spend(built.nbytes, "an array")
    cast(Any, array).__setstate__((1, built.shape, built.dtype, bool(fortran), built.tobytes("A")))


def _scalar(machine: PickleMachine, args: tuple[Any, ...]) -> Any:
    return _from_bytes(args[1], args[0], (), "C")[()]


def _bytes(machine: PickleMachine, args: tuple[Any, ...]) -> bytes:
    """Bytes as Python 3 writes them for old protocols: text and an encoding, or a list."""
    if not args:
        return b""
    source = args[0]
    if isinstance(source, str) and args[1:] in (("latin1",), ("latin-1",)):
        machine.budget.spend(len(source), "bytes")
        return source.encode("latin-1")
    if isinstance(source, (bytes, memoryview)):
        return bytes(source)
    raise NotBuiltError("bytes of something else")


def _dict(machine: PickleMachine, args: tuple[Any, ...]) -> dict[Any, Any]:
    filled: dict[Any, Any] = {}
    machine.budget.spend(64, "a dict")
    if args:
        pairs = args[0].items() if isinstance(args[0], dict) else args[0]
        flat = [part for key, value in pairs for part in (key, value)]
        machine.fill(filled, flat)
    return filled


def _default_dict(machine: PickleMachine, args: tuple[Any, ...]) -> dict[Any, Any]:
    return _dict(machine, args[1:])


def _list(machine: PickleMachine, args: tuple[Any, ...]) -> list[Any]:
    items = args[0] if args else []
    if not isinstance(items, (list, tuple)):
        raise NotBuiltError("a list of something else")
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
    machine.budget.spend(250, "an object")
    if isinstance(contents, dict):
        made.entries.extend(contents.items())
    elif isinstance(contents, (list, tuple)):
        made.items.extend(contents)
    return made


def _new_object(machine: PickleMachine, args: tuple[Any, ...]) -> Any:
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
        storage = Storage(storage.reshape(-1), "")
    if not isinstance(storage, Storage):
        raise NotBuiltError("a tensor whose storage is not there")
    shape = _shape(size)
    machine.budget.spend(math.prod(shape) * max(4, storage.raw.itemsize), "a tensor")
    return storage.view(offset, shape, _shape(stride))


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
    return decode_torch(args[0], machine.nested)


def set_state(machine: PickleMachine, target: Any, state: Any) -> None:
    """Apply the state a pickle sets on a value built here; state of plain values is dropped."""
    try:
        if type(target) is np.ndarray:
            _set_array(machine, target, state)
        elif isinstance(target, np.dtype):
            _set_dtype(target, state)
    except CheckpointError:
        raise
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
