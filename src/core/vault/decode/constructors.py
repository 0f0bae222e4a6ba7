"""The short list of calls in a pickle that become values, and how each is built safely.

Every entry is a function of ours over checked arguments: sizes are compared with the bytes that
are really there before an array is made of them, dtypes come from a closed grammar, strides must
stay inside their storage. What does not fit stays a stand-in. Where to read next:
`numpy_pickles.py` for arrays, `torch_file.py` for tensors stored beside a pickle.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from .numpy_pickles import array_from_buffer, checked_shape, empty_array, new_dtype, scalar
from .pickle_machine import Constructor, NotBuiltError, PickleMachine
from .standins import GlobalRef, Opaque
from .storages import Storage, storage_dtype


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


def _complex(machine: PickleMachine, args: tuple[Any, ...]) -> complex:
    real, imaginary = args
    if not isinstance(real, (int, float)) or not isinstance(imaginary, (int, float)):
        raise NotBuiltError("a complex number of something else")
    return complex(float(real), float(imaginary))


def _getattr(machine: PickleMachine, args: tuple[Any, ...]) -> GlobalRef:
    """`getattr(cls, "name")` read as the longer name it is; nothing is looked up."""
    owner, name = args
    if not isinstance(owner, GlobalRef) or not isinstance(name, str):
        raise NotBuiltError("an attribute of something unknown")
    return machine.name(owner.module, f"{owner.name}.{name}")


def _reconstructor(machine: PickleMachine, args: tuple[Any, ...]) -> Opaque:
    cls, _base, contents = args
    opaque = Opaque(cls)
    machine.budget.spend(320, "an object")
    if isinstance(contents, (dict, list, tuple)):
        machine.budget.work(len(contents), "an object")
        machine.budget.spend(80 * len(contents), "an object")
    if isinstance(contents, dict):
        opaque.entries.extend(contents.items())
    elif isinstance(contents, (list, tuple)):
        opaque.items.extend(contents)
    return opaque


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
    else:
        machine.patch(target)
    return target


def _tensor(machine: PickleMachine, args: tuple[Any, ...]) -> np.ndarray[Any, Any]:
    storage, offset, size, stride = args[:4]
    if isinstance(storage, np.ndarray):
        if storage.dtype.kind not in "biufc" or not storage.flags.c_contiguous:
            raise NotBuiltError("a tensor of something else than numbers")
        storage = Storage(storage.reshape(-1), "")
    if not isinstance(storage, Storage):
        raise NotBuiltError("a tensor whose storage is not there")
    values = storage.view(offset, checked_shape(size), checked_shape(stride))
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
        ("builtins", "frozenset"): lambda machine, args: frozenset(_set(machine, args)),
        ("builtins", "getattr"): _getattr,
        ("builtins", "list"): _list,
        ("builtins", "set"): _set,
        ("builtins", "tuple"): lambda machine, args: tuple(_list(machine, args)),
        ("_codecs", "encode"): _bytes,
        ("collections", "Counter"): _dict,
        ("collections", "OrderedDict"): _dict,
        ("collections", "defaultdict"): lambda machine, args: _dict(machine, args[1:]),
        ("collections", "deque"): _list,
        ("copyreg", "__newobj__"): _new_object,
        ("copyreg", "_reconstructor"): _reconstructor,
        ("cloudpickle", "_builtin_type"): lambda machine, args: machine.name("types", args[0]),
        ("cloudpickle", "_class_setstate"): _attach_state,
        ("cloudpickle", "_function_setstate"): _attach_state,
        ("numpy", "dtype"): new_dtype,
        ("numpy.core.multiarray", "_reconstruct"): empty_array,
        ("numpy.core.multiarray", "scalar"): scalar,
        ("numpy.core.numeric", "_frombuffer"): array_from_buffer,
        ("torch", "Size"): lambda machine, args: tuple(_list(machine, args)),
        ("torch._utils", "_rebuild_device_tensor_from_numpy"): _first,
        ("torch._utils", "_rebuild_parameter"): _first,
        ("torch._utils", "_rebuild_parameter_with_state"): _first,
        ("torch._utils", "_rebuild_tensor"): _tensor,
        ("torch._utils", "_rebuild_tensor_v2"): _tensor,
        ("torch._utils", "_rebuild_tensor_v3"): _typed_tensor,
        ("torch.storage", "_load_from_bytes"): _torch_bytes,
    }
)
