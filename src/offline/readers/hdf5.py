"""Arrays in HDF5 files, each measured before it is read, by the `offline` extra (h5py).

What lies in other files (links, external and virtual storage) is not followed. Packed chunks are
unpacked here: the library itself would unfold a bomb to its end.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import product
from typing import Any, Final

import numpy as np

from ...core.data.budget import Budget, corrupt
from ...core.data.damage import at
from ...core.errors import LimitExceededError, RlconnectError
from ...core.importing.torch_needed import extra_needed
from ...core.text.first_line import first_line
from ...core.types import Array
from .places import Place

SUFFIXES: Final = (".hdf5", ".h5")
_DEFLATE, _SHUFFLE, _CHECKSUM = 1, 2, 3
_TEXT_BYTES: Final = 1 << 16


@contextmanager
def opened(place: Place) -> Iterator[Any]:
    """The file, to be read."""
    with extra_needed("h5py", f"reading {place.name}"):
        import h5py
    with place.open() as stream, h5py.File(stream, "r") as file:
        yield file


def members(group: Any) -> dict[str, Any]:
    """What lies in a group itself, by name."""
    return {name: member(group, name) for name in group}


def member(group: Any, name: str) -> Any:
    """One of the things in a group; a link to elsewhere is refused."""
    import h5py

    if not isinstance(group.get(name, getlink=True), h5py.HardLink):
        raise corrupt(f"{name!r} is a link to elsewhere", expected="data of this file")
    return group[name]


def is_group(item: Any) -> bool:
    """Whether it holds others, instead of an array."""
    return hasattr(item, "keys")


def read_tree(item: Any, budget: Budget, name: str) -> Any:
    """An array, or dicts of arrays by name; rows of bytes as an array of objects."""
    import h5py

    if not is_group(item):
        is_bytes = h5py.check_vlen_dtype(item.dtype) == np.uint8
        return (_bytes if is_bytes else read_array)(item, budget, name)
    with budget.level(name), at(name):
        budget.work(1 + len(item), name)
        return {key: read_tree(part, budget, key) for key, part in members(item).items()}


def read_array(data: Any, budget: Budget, name: str, rows: slice | None = None) -> Array:
    """One dataset as an array, or some of its rows; texts as an array of objects."""
    import h5py

    if data.is_virtual or data.external or not isinstance(data.shape, tuple):
        raise corrupt(f"{name!r} does not lie in this file", expected="an array")
    if h5py.check_string_dtype(data.dtype) is not None:
        return _texts(data, budget, name)
    if data.dtype.hasobject or data.dtype.kind not in "biuf":
        raise corrupt(f"{name!r} holds no numbers", found=str(data.dtype))
    part = data.shape if rows is None else (rows.stop - rows.start, *data.shape[1:])
    size = int(np.prod(part, dtype=object)) * data.dtype.itemsize
    budget.spend(size, f"{name!r}")
    if not _filters(data) or not size:
        return np.asarray(data[() if rows is None else rows])
    return _unpacked(data, data.dtype, budget, name, rows)


def _filters(data: Any) -> list[int]:
    packing = data.id.get_create_plist()
    return [packing.get_filter(i)[0] for i in range(packing.get_nfilters())]


def _unpacked(
    data: Any, dtype: np.dtype[Any], budget: Budget, name: str, rows: slice | None = None
) -> Array:
    """What lies in chunks, as `dtype`."""
    filters = _filters(data)
    if not set(filters) <= {_DEFLATE, _SHUFFLE, _CHECKSUM}:
        raise corrupt(
            f"{name!r} is packed in a way that is not unpacked here",
            expected="gzip, or not at all",
            found=f"HDF5 filters {filters}",
        )
    first, last = (0, data.shape[0]) if rows is None else (rows.start, rows.stop)
    is_plain = dtype == data.dtype
    array = np.full((last - first, *data.shape[1:]), data.fillvalue if is_plain else 0, dtype)
    chunk = data.chunks
    size = int(np.prod(chunk, dtype=object)) * dtype.itemsize
    budget.spend(2 * size, f"a chunk of {name!r}")
    starts = [range(0, length, step) for length, step in zip(data.shape, chunk, strict=True)]
    starts[0] = range(first // chunk[0] * chunk[0], last, chunk[0])
    for place in product(*starts):
        budget.work(20, name)
        if data.id.get_chunk_info_by_coord(place).byte_offset is None:
            continue
        mask, packed = data.id.read_direct_chunk(place)
        for position in reversed(range(len(filters))):
            if mask >> position & 1:
                continue
            packed = _UNPACK[filters[position]](packed, size, dtype.itemsize)
        if len(packed) != size:
            raise corrupt(f"a chunk of {name!r} has another size than it declares")
        values = np.frombuffer(packed, dtype).reshape(chunk)[max(0, first - place[0]) :]
        begins = [max(0, place[0] - first), *place[1:]]
        steps = [len(values), *chunk[1:]]
        room = array[tuple(slice(at, at + step) for at, step in zip(begins, steps, strict=True))]
        room[...] = values[tuple(map(slice, room.shape))]
    return array


def _inflated(packed: bytes, size: int, _: int) -> bytes:
    try:
        return zlib.decompressobj().decompress(packed, size + 8)
    except zlib.error as error:
        raise corrupt("a chunk is not valid gzip data", found=str(error)) from None


def _unshuffled(packed: bytes, _: int, width: int) -> bytes:
    length = len(packed) // width * width
    rows = np.frombuffer(packed, np.uint8, length).reshape(width, -1)
    return bytes(rows.T.tobytes() + packed[length:])


_UNPACK: Final[Mapping[int, Any]] = {
    _DEFLATE: _inflated,
    _SHUFFLE: _unshuffled,
    _CHECKSUM: lambda packed, size, width: packed[:-4],
}

_REFERENCE: Final = np.dtype([("size", "<u4"), ("place", "<u8"), ("number", "<u4")])
"""What stands in a dataset for a row that has a length of its own and lies elsewhere."""


def _bytes(data: Any, budget: Budget, name: str) -> Array:
    """Rows of bytes, each as long as it is: how Minari keeps images."""
    if data.is_virtual or data.external or len(data.shape or ()) != 1 or not data.chunks:
        raise corrupt(f"{name!r} holds bytes that are not read", found=f"shape {data.shape}")
    count = len(data)
    budget.spend((_REFERENCE.itemsize + 128) * count, f"{name!r}")
    budget.work(20 * count, name)
    sizes = _unpacked(data, _REFERENCE, budget, name)["size"]
    budget.spend(int(sizes.sum(dtype=np.uint64)), f"{name!r}")
    rows_of_bytes = np.empty(count, object)
    for row in range(count):
        rows_of_bytes[row] = data[row].tobytes()
    return rows_of_bytes


def _texts(data: Any, budget: Budget, name: str) -> Array:
    count = int(np.prod(data.shape, dtype=object))
    budget.spend(128 * count, f"{name!r}")
    budget.work(20 * count, name)
    if data.ndim != 1 or _filters(data):
        raise corrupt(f"{name!r} holds texts that are not read", found=f"shape {data.shape}")
    texts = np.empty(data.shape, object)
    for row in range(count):
        text = data[row]
        if len(text) > _TEXT_BYTES:
            raise LimitExceededError(f"a text of {name!r} is {len(text):,} bytes long")
        budget.spend(4 * len(text), f"{name!r}")
        texts[row] = text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
    return texts


def read_attribute(group: Any, name: str) -> Any:
    """A small attribute, as a plain value; None where there is none."""
    import h5py

    if name not in group.attrs:
        return None
    kind = group.attrs.get_id(name)
    if kind.shape not in ((), (1,)):
        raise corrupt(f"the attribute {name!r} is no single value", found=str(kind.shape))
    if h5py.check_string_dtype(kind.dtype) is None and kind.dtype.kind not in "biufSU":
        raise corrupt(f"the attribute {name!r} is no number and no text", found=str(kind.dtype))
    value = group.attrs[name]
    value = value.item() if isinstance(value, (np.generic, np.ndarray)) else value
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


_FOREIGN_ERRORS: Final = (OSError, ValueError, KeyError, RuntimeError, TypeError, OverflowError)
"""What h5py raises over a file that is damaged."""


@contextmanager
def stumbling(name: str) -> Iterator[None]:
    """Tell what the library stumbles over as an error of ours; those that are pass."""
    try:
        yield
    except RlconnectError:
        raise
    except _FOREIGN_ERRORS as error:
        raise corrupt(f"{name} cannot be read as HDF5: {first_line(error)}") from None
