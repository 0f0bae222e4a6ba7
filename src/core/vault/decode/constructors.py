"""The short list of calls in a pickle that become values, and how each is built safely.

Every entry is a function of ours over checked arguments: sizes are compared with the bytes that
are really there before an array is made of them, dtypes come from a closed grammar, strides must
stay inside their storage. What does not fit stays a stand-in. Where to read next:
`numpy_pickles.py` for arrays, `torch_file.py` for tensors stored beside a pickle.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ...errors import CorruptCheckpointError
from .numpy_pickles import array_from_buffer, checked_shape, empty_array, new_dtype, scalar
from .pickle_machine import Constructor, NotBuiltError, PickleMachine
from .standins import GlobalRef, Opaque

# By the name torch gives the dtype ("float32") and its storage class ("FloatStorage").
DTYPES: Final[dict[str, str]] = {
    "float32": "<f4", "FloatStorage": "<f4", "float": "<f4",
    "float64": "<f8", "DoubleStorage": "<f8", "double": "<f8",
    "float16": "<f2", "HalfStorage": "<f2", "half": "<f2",
    "int64": "<i8", "LongStorage": "<i8", "long": "<i8",
    "int32": "<i4", "IntStorage": "<i4", "int": "<i4",
    "int16": "<i2", "ShortStorage": "<i2", "short": "<i2",
    "int8": "|i1", "CharStorage": "|i1",
    "uint8": "|u1", "ByteStorage": "|u1", "UntypedStorage": "|u1",
    "uint16": "<u2", "uint32": "<u4", "uint64": "<u8",
    "bool": "|b1", "BoolStorage": "|b1",
    "complex64": "<c8", "ComplexFloatStorage": "<c8",
    "complex128": "<c16", "ComplexDoubleStorage": "<c16",
    "bfloat16": "bfloat16", "BFloat16Storage": "bfloat16",
}  # fmt: skip


def storage_dtype(name: str) -> str:
    """The numpy code of a torch dtype or storage class; bfloat16, which numpy lacks, by name."""
    try:
        return DTYPES[name]
    except KeyError:
        raise CorruptCheckpointError(f"no torch dtype or storage named {name[:60]!r}") from None


@dataclass(frozen=True)
class Storage:
    """The flat numbers behind one or more tensors.

    `raw` has one axis; it is of uint16 for bfloat16, of bytes while untyped. `dtype` is what
    `storage_dtype` said; empty when the array's own is right.
    """

    raw: np.ndarray[Any, np.dtype[Any]]
    dtype: str

    @classmethod
    def from_bytes(cls, data: bytes | memoryview, dtype: str, count: int | None = None) -> Storage:
        """A storage over bytes, which must hold just `count` numbers where that is declared."""
        code = "<u2" if dtype == "bfloat16" else dtype
        itemsize = np.dtype(code).itemsize
        if len(data) % itemsize or (count is not None and count * itemsize != len(data)):
            raise CorruptCheckpointError(
                "a tensor storage does not have the size it declares",
                expected=f"{(count or 0) * itemsize:,} bytes",
                found=f"{len(data):,}",
            )
        return cls(np.frombuffer(data, dtype=code), dtype)

    def retyped(self, dtype: str) -> Storage:
        """The same bytes as another dtype."""
        return Storage.from_bytes(self.raw.view(np.uint8).data, dtype)

    def view(
        self, offset: Any, shape: tuple[int, ...], strides: tuple[int, ...]
    ) -> np.ndarray[Any, np.dtype[Any]]:
        """The tensor at `offset`, as a contiguous array; it must lie inside the storage.

        An expanded tensor (stride 0) may not be larger than its storage: honest state
        dictionaries hold none, and it is how a few bytes would become gigabytes.
        """
        count = math.prod(shape)
        if len(shape) != len(strides) or type(offset) is not int or offset < 0:
            raise CorruptCheckpointError("a tensor whose shape and strides do not match")
        reach = sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
        if not count:
            return np.zeros(shape, "<f4" if self.dtype == "bfloat16" else self.raw.dtype)
        if offset + reach >= len(self.raw) or count > len(self.raw):
            raise CorruptCheckpointError(
                "a tensor reaches beyond its storage",
                expected=f"at most {len(self.raw):,} numbers",
                found=f"shape {shape}, strides {strides}, offset {offset}",
            )
        # A stride along one item is never taken; huge ones would not fit an address.
        steps = [stride if size > 1 else 0 for size, stride in zip(shape, strides, strict=True)]
        bytestrides = tuple(step * self.raw.itemsize for step in steps)
        part = self.raw[offset:]
        values = np.lib.stride_tricks.as_strided(part, shape, bytestrides, writeable=False)
        values = np.ascontiguousarray(values).reshape(shape)
        if self.dtype == "bfloat16":
            widened: np.ndarray[Any, np.dtype[Any]] = (values.astype(np.uint32) << 16).view("<f4")
            return widened
        return values


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
