"""Files `torch.save` wrote, read without torch: zip archives, the older stream, plain pickles.

zip      `<name>/data.pkl` with persistent ids ("storage", class, key, device, count), and
         the numbers of each storage in `<name>/data/<key>`, not compressed
stream   five pickles (magic number, protocol, platform, the object, storage keys), then
         for each key its count as int64 and the numbers
pickle   what people call `.pt` and wrote with `pickle.dump`
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Callable
from typing import Any, Final

from ...errors import CheckpointError, CorruptCheckpointError
from .constructors import Storage, storage_dtype
from .pickle_machine import DAMAGED, PickleMachine
from .standins import GlobalRef, shown
from .zip_archives import opened_zip

STREAM_MAGIC: Final = 0x1950A86A20F9469CFC6C
# Reading the directory and one small member takes as long as this many plain opcodes.
MEMBER_STEPS: Final = 60
CHUNK: Final = 1 << 20
MachineMaker = Callable[[bytes | memoryview], PickleMachine]


def decode_torch(data: bytes | memoryview, machine_for: MachineMaker) -> Any:
    """The object in a torch file; tensors are numpy arrays, bfloat16 widened to float32."""
    if bytes(data[:4]) == b"PK\x03\x04":
        return _decode_zip(bytes(data), machine_for)
    machine = machine_for(data)
    first = machine.load()
    if first != STREAM_MAGIC:
        return first
    return _decode_stream(machine)


def _storage_id(id_: Any) -> tuple[str, str, int]:
    try:
        tag, kind, key, _location, count = id_[:5]
    except (TypeError, ValueError):
        raise CorruptCheckpointError("a tensor storage without an id") from None
    if (
        tag not in ("storage", b"storage")
        or not isinstance(kind, GlobalRef)
        or not isinstance(key, str)
    ):
        raise CorruptCheckpointError(f"an unknown kind of tensor storage: {shown(tag)}")
    if type(count) is not int or count < 0:
        raise CorruptCheckpointError("a tensor storage of a negative size")
    return storage_dtype(kind.name.rpartition(".")[2]), key, count


def _decode_zip(data: bytes, machine_for: MachineMaker) -> Any:
    machine = machine_for(b"")
    try:
        with opened_zip(data, machine.budget.limits) as archive:
            machine.budget.work(len(archive.infolist()) * MEMBER_STEPS, "the archive")
            return _decode_archive(archive, machine)
    except CheckpointError:
        raise
    except (*DAMAGED, zipfile.BadZipFile, zlib.error, OSError, RuntimeError) as error:
        raise CorruptCheckpointError(
            f"the torch archive cannot be read ({str(error)[:200]})",
            hint="the file is cut or damaged; take another copy or an earlier checkpoint.",
        ) from None


def _decode_archive(archive: zipfile.ZipFile, machine: PickleMachine) -> Any:
    listed = archive.infolist()
    members = {info.filename: info for info in listed}
    if len(members) != len(listed):
        raise CorruptCheckpointError("the archive holds two members of one name")
    pickles = [name for name in members if name.rpartition("/")[2] == "data.pkl"]
    if not pickles:
        raise CorruptCheckpointError(
            "the archive holds no data.pkl",
            hint="it is a zip file that torch did not write.",
        )
    folder = pickles[0][: -len("data.pkl")]
    storages: dict[str, Storage] = {}

    def content(name: str, largest: int | None = None) -> memoryview:
        info = members.get(name)
        if info is None:
            raise CorruptCheckpointError(f"the archive lacks {name[:80]!r}")
        if largest is not None and info.file_size != largest:
            raise CorruptCheckpointError(
                f"{name[:80]!r} does not have the size the archive's pickle declares",
                expected=f"{largest:,} bytes",
                found=f"{info.file_size:,}",
            )
        machine.budget.spend(info.file_size, name[:80])
        buffer, filled = bytearray(info.file_size), 0
        with archive.open(info) as member:
            while part := member.read(CHUNK):  # at once, `zipfile` would hold it twice
                buffer[filled : filled + len(part)] = part
                filled += len(part)
        if filled != len(buffer):
            raise CorruptCheckpointError(f"{name[:80]!r} in the archive is cut")
        return memoryview(buffer).toreadonly()

    def resolve(id_: Any) -> Storage:
        dtype, key, count = _storage_id(id_)
        if key not in storages:
            itemsize = 2 if dtype == "bfloat16" else int(dtype[2:])
            raw = content(f"{folder}data/{key}", count * itemsize)
            storages[key] = Storage.from_bytes(raw, dtype, count)
        return storages[key]

    machine.data = content(pickles[0])
    machine.persistent = resolve
    return machine.load()


def _decode_stream(machine: PickleMachine) -> Any:
    """The older layout: the numbers follow the pickle that refers to them.

    The object is decoded twice: once to learn which storages there are, and again when they
    have been found behind it.
    """
    for _protocol_and_platform in range(2):
        machine.load(machine.position)
    start = machine.position
    referred: dict[str, tuple[str, int]] = {}

    def note(id_: Any) -> Any:
        dtype, key, count = _storage_id(id_)
        referred[key] = (dtype, count)
        return Storage.from_bytes(b"", dtype)

    machine.persistent = note
    budget_left, skipped = machine.budget.left, len(machine.trace.skipped)
    objects, patched = len(machine.trace.objects), len(machine.trace.patched)
    machine.load(start)
    machine.budget.left = budget_left
    del machine.trace.skipped[skipped:]
    del machine.trace.objects[objects:], machine.trace.patched[patched:]
    keys = machine.load(machine.position)
    storages: dict[str, Storage] = {}
    for key in keys if isinstance(keys, list) else []:
        if key not in referred:
            raise CorruptCheckpointError("the torch file lists a storage nobody refers to")
        dtype, count = referred[key]
        (declared,) = struct.unpack("<q", machine.take(8))
        if declared != count:
            raise CorruptCheckpointError("a torch storage contradicts its own size")
        itemsize = 2 if dtype == "bfloat16" else int(dtype[2:])
        storages[key] = Storage.from_bytes(machine.take(count * itemsize), dtype, count)
    machine.persistent = lambda id_: storages[_storage_id(id_)[1]]
    return machine.load(start)
