"""Torch's flat storages as numpy arrays, and tensors as bounded views of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ...errors import CorruptCheckpointError

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
