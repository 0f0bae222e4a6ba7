"""Batches of the old stack as JSON lines, in RLlib's columns.

Numbers of outcomes and ids are plain lists; all other arrays are packed as RLlib packs them, so
that they keep their dtypes: base64 of an LZ4 frame of a pickle. The pickle is put together here and
holds nothing but an array's dtype, shape and bytes.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Collection, Mapping
from typing import Any, Final

import numpy as np

from ...core.errors import ConfigError
from ...core.types import Array
from ...legacy.batches.multi_agent_batch import MultiAgentBatch
from ...legacy.batches.sample_batch import SampleBatch
from ..readers.old_batches import MULTI, SINGLE

_PLAIN: Final = frozenset(
    {"rewards", "terminateds", "truncateds", "eps_id", "agent_index", "unroll_id", "t", "infos"}
    | {"seq_lens", "prev_rewards"}
)
_FRAME: Final = b"\x04\x22\x4d\x18\x60\x70\x73"  # blocks of up to 4 MiB, no checksums
_BLOCK: Final = 1 << 22
_AS_IT_IS: Final = 1 << 31


def line_of(batch: SampleBatch | MultiAgentBatch, packed: Collection[str] | None = None) -> bytes:
    """A batch as one line of JSON.

    Without `packed`, all columns but those of outcomes and ids are.
    """
    if isinstance(batch, MultiAgentBatch):
        parts = {policy: _columns(part, packed) for policy, part in batch.policy_batches.items()}
        made = {"type": MULTI, "count": batch.count, "policy_batches": parts}
    else:
        made = {"type": SINGLE, **_columns(batch, packed)}
    try:
        return json.dumps(made, separators=(",", ":"), default=as_plain).encode() + b"\n"
    except TypeError as error:  # of keys
        raise ConfigError("infos cannot be written as JSON", found=str(error)) from None


def _columns(batch: Mapping[str, Any], packed: Collection[str] | None) -> dict[str, Any]:
    return {
        name: _packed(batch[name])
        if (name not in _PLAIN if packed is None else name in packed) and _is_numbers(batch[name])
        else _listed(batch[name])
        for name in batch
    }


def _listed(column: Any) -> Any:
    if isinstance(column, Mapping):
        return {key: _listed(part) for key, part in column.items()}
    if isinstance(column, tuple):
        return [_listed(part) for part in column]
    return column.tolist() if isinstance(column, np.ndarray) else list(column)


def as_plain(value: Any) -> Any:
    """Numbers and arrays in infos as JSON has them."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    raise ConfigError(f"infos with a {type(value).__name__} cannot be written as JSON")


def _is_numbers(column: Any) -> bool:
    if isinstance(column, Mapping):
        return all(map(_is_numbers, column.values()))
    if isinstance(column, tuple):
        return all(map(_is_numbers, column))
    return isinstance(column, np.ndarray) and column.dtype.kind in "biuf"


def _packed(column: Any) -> str:
    data = b"\x80\x05" + _pickled(column) + b"."
    return base64.b64encode(_framed(data)).decode()


def _framed(data: bytes) -> bytes:
    try:
        import pyarrow as pa
    except ImportError:
        blocks = [data[start : start + _BLOCK] for start in range(0, len(data), _BLOCK)]
        sized = [struct.pack("<I", len(block) | _AS_IT_IS) + block for block in blocks]
        return _FRAME + b"".join(sized) + bytes(4)
    packed: bytes = pa.compress(data, "lz4", asbytes=True)
    return packed


def _pickled(column: Any) -> bytes:
    """Opcodes that leave an array, or dicts and tuples of arrays, on the stack."""
    if isinstance(column, Mapping):
        items = b"".join(_text(str(key)) + _pickled(part) for key, part in column.items())
        return b"}(" + items + b"u"
    if isinstance(column, tuple):
        return b"(" + b"".join(map(_pickled, column)) + b"t"
    return _array(column)


def _array(array: Array) -> bytes:
    held = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
    data = held.tobytes()
    order = b"|" if held.dtype.itemsize == 1 else b"<"
    dtype = (
        _named("numpy", "dtype")
        + (_text(held.dtype.str[1:]) + b"\x89\x88\x87R")
        + (b"(K\x03" + _text(order.decode()) + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb")
    )
    shape = b"(" + b"".join(b"\x8a\x08" + struct.pack("<q", size) for size in held.shape) + b"t"
    numbers = b"\x96" + struct.pack("<Q", len(data)) + data
    made = _named("numpy.core.numeric", "_frombuffer")
    return made + b"(" + numbers + dtype + shape + _text("C") + b"tR"


def _named(module: str, name: str) -> bytes:
    return _text(module) + _text(name) + b"\x93"


def _text(text: str) -> bytes:
    data = text.encode()
    return b"X" + struct.pack("<I", len(data)) + data
