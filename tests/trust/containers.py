"""Hostile containers of every format that is read: bombs, lies, damage and pickles in them."""

import base64
import bz2
import gzip
import io
import json
import lzma
import pickle
import struct
import tarfile
import zipfile
import zlib

import numpy as np

from tests.fuzz.gadgets import FIRED

MIB = 1 << 20
BOMB = 400
"""MiB that a bomb unfolds to: more than any file of a few KB may take."""

ROWS = {
    "type": "SampleBatch",
    "obs": [[0.0], [1.0]],
    "new_obs": [[1.0], [2.0]],
    "actions": [1, 0],
    "rewards": [0.5, 1.0],
    "dones": [False, True],
    "eps_id": [7, 7],
}
COLUMNS = ("observations", "actions", "rewards", "terminals")
ARCHIVE_DOORS = ("load", "audit")


class Gadget:
    """Leaves a trace when it is unpickled."""

    def __reduce__(self):
        return FIRED.append, ("unpickled",)


def containers():
    """File name, doors, and the bytes; those of one bomb, damage or lie each."""
    for make in (archives, lines, packed_columns, arrays, tables):
        yield from make()


def damaged(data, rng):
    """Cuts and flips of a valid file."""
    yield data[: rng.randrange(1, len(data))]
    for _ in range(2):
        flipped = bytearray(data)
        for _ in range(rng.randrange(1, 4)):
            flipped[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        yield bytes(flipped)
    spliced = bytearray(data)
    spliced[(at := rng.randrange(len(data))) : at + 8] = b"\xff" * 8
    yield bytes(spliced)


def deflated(block, times):
    """Raw deflate data of a block that is repeated, without packing it each time."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    one = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    again = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    return one + again * (times - 1) + packer.flush()


def zip_of(name, packed, crc, size, method=8):
    """A zip with one member, whose data and sizes are given."""
    facts = (method, 0, 0, crc, len(packed), size, len(name))
    local = b"PK\x03\x04" + struct.pack("<HHHHHIIIHH", 20, 0, *facts, 0) + name
    entry = b"PK\x01\x02" + struct.pack("<HHHHHHIIIHHHHHII", 20, 20, 0, *facts, 0, 0, 0, 0, 0, 0)
    end = struct.pack("<HHHHIIH", 0, 0, 1, 1, len(entry + name), len(local + packed), 0)
    return local + packed + entry + name + b"PK\x05\x06" + end


def zip_bomb(name, block, times):
    """A zip of one member that is a block, many times; its checksum, which comes last, is wrong."""
    return zip_of(name, deflated(block, times), 0, len(block) * times)


def tar_parts(name, size, kind=tarfile.REGTYPE):
    """What stands before and behind the content of a tar with one member."""
    member = tarfile.TarInfo(name)
    member.size, member.type = size, kind
    return member.tobuf(tarfile.USTAR_FORMAT), bytes(-size % 512 + 1024)


def small_zip(files):
    """A zip of a few files."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


PACKERS = {
    "tgz": gzip.compress,
    "tar.bz2": bz2.compress,
    "tar.xz": lambda data: lzma.compress(data, preset=0),
    "tar": bytes,
}


def archives():
    """Checkpoints in one file."""
    block = bytes(MIB)
    yield "zeros.zip", ARCHIVE_DOORS, zip_bomb(b"policy_state.pkl", block, BOMB)
    for label, (size, crc) in {"long": (10, 0), "short": (1 << 30, 0)}.items():
        packed = deflated(block, 2)
        yield f"{label}.zip", ARCHIVE_DOORS, zip_of(b"policy_state.pkl", packed, crc, size)
    for method in (9, 14, 93):
        yield f"method-{method}.zip", ARCHIVE_DOORS, zip_of(b"a.pkl", b"\xff" * 99, 0, 99, method)
    entry = zip_of(b"a", b"", 0, 0)[31:-22]
    directory = entry * 100_000
    end = struct.pack("<HHHHIIH", 0, 0, 1, 1, len(directory), 0, 0)
    yield "entries.zip", (*ARCHIVE_DOORS, "data"), directory + b"PK\x05\x06" + end
    gadget = {"policy_state.pkl": pickle.dumps(Gadget()), "rllib_checkpoint.json": b"{}"}
    yield "pickle.zip", ARCHIVE_DOORS, small_zip(gadget)
    yield "nested.zip", ARCHIVE_DOORS, small_zip({"a.zip": zip_bomb(b"a.pkl", block, BOMB)})
    for ending, pack in PACKERS.items():
        kinds = {"tgz": b"0xLZ", "tar": b""}.get(ending, b"0")
        for kind in (bytes([each]) for each in kinds):
            head, tail = tar_parts("policy_state.pkl", BOMB * MIB, kind)
            data = pack(head) + pack(block) * BOMB + pack(tail)
            yield f"zeros-{kind.decode()}.{ending}", ("open",), data
        content = gadget["policy_state.pkl"]
        head, tail = tar_parts("policy_state.pkl", len(content))
        yield f"pickle.{ending}", ARCHIVE_DOORS, pack(head + content + tail)
        for kind, label in ((tarfile.SYMTYPE, "link"), (tarfile.LNKTYPE, "hard"), (b"6", "pipe")):
            member = tarfile.TarInfo("policy_state.pkl")
            member.type, member.linkname = kind, "/etc/passwd"
            data = pack(member.tobuf(tarfile.USTAR_FORMAT) + bytes(1024))
            yield f"{label}.{ending}", ("open",), data
        head, tail = tar_parts("../../outside.pkl", 0)
        yield f"outside.{ending}", ("open",), pack(head + tail)


def lines():
    """Lines of JSON, packed as files and as members."""
    start = b'{"type":"SampleBatch","obs":['
    blocks = {
        "line": b"0," * (MIB // 2),
        "lists": b"[]," * (MIB // 3),
        "texts": b'"",' * (MIB // 3),
        "quotes": b'"' * MIB,
        "backslashes": b"\\" * MIB,
        "deep": b"[" * MIB,
        "empty": b"\n" * MIB,
        "noise": b"x\n" * (MIB // 2),
        "objects": b"{}\n" * (MIB // 3),
    }
    for label, block in blocks.items():
        head = b"" if label in ("empty", "noise", "objects") else start
        yield f"{label}.json.gz", ("data",), gzip.compress(head) + gzip.compress(block) * BOMB
        yield f"{label}.zip", ("data",), zip_bomb(b"a.json", block, BOMB)
    good = json.dumps(ROWS).encode()
    yield "many.zip", ("data",), small_zip({f"{number}.json": good for number in range(2000)})
    yield "good.json.gz", ("data",), gzip.compress(good)
    yield "good.zip", ("data",), small_zip({"a.json": good})


def lz4_frame(block, times):
    """An LZ4 frame of blocks that each copy one byte, as often as a block may."""
    body = b"\x1f" + block[:1] + b"\x01\x00" + b"\xff" * (MIB * 4 // 255 - 4) + b"\x00"
    body += b"\x50" + block[:1] * 5
    one = struct.pack("<I", len(body)) + body
    return b"\x04\x22\x4d\x18\x40\x70\xdf" + one * times + b"\0\0\0\0"


def packed_columns():
    """Columns of JSON lines: base64 of a pickle, plain, by zlib or by LZ4."""
    block = bytes(MIB)
    zeros = b"\x78\xda" + deflated(block, BOMB) + struct.pack(">I", zlib.adler32(bytes(BOMB * MIB)))
    head = pickle.dumps(np.zeros((BOMB * MIB // 4, 1), np.float32)[:0], 5)
    gadget = pickle.dumps(Gadget())
    packed = {
        "zlib": zeros,
        "lz4": lz4_frame(block, BOMB // 4),
        "zlib-cut": zeros[: len(zeros) // 2],
        "zlib-array": zlib.compress(head),
        "pickle": gadget,
        "zlib-pickle": zlib.compress(gadget),
        "lz4-pickle": b"\x04\x22\x4d\x18\x60\x40\x82"
        + struct.pack("<I", len(gadget) | 1 << 31)
        + gadget
        + b"\0\0\0\0",
        "memo": b"\x80\x05" + b"N\x94" * 100_000 + b".",
        "deep": b"\x80\x05" + b"]\x94" * 100_000 + b"a" * 99_999 + b".",
        "twice": b"\x80\x05]\x94" + b"(h\x00h\x00e]\x94" * 1000 + b".",
    }
    for label, data in packed.items():
        text = json.dumps({**ROWS, "obs": base64.b64encode(data).decode()})
        yield f"{label}.json", ("data",), text.encode()


def arrays():
    """Arrays of `.npz` and HDF5 files."""
    block = bytes(MIB)
    for shape in (f"({BOMB * MIB},)", "(99999999999,)", "(0, 99999999999)", "(True, 4)", "(-1, 4)"):
        for dtype in ("|u1", "|O", "<U0") if shape[1] == "0" else ("|u1",):
            text = f"{{'descr': '{dtype}', 'fortran_order': True, 'shape': {shape}, }}\n".encode()
            header = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text
            data = zip_bomb(b"rewards.npy", header.ljust(MIB, b"\0"), BOMB)
            yield f"{len(shape)}{dtype[1:]}.npz", ("arrays", "data"), data
    files = {f"{name}.npy": npy(np.zeros(99, "u1")) for name in COLUMNS}
    yield "good.npz", ("arrays", "data"), small_zip(files)
    gadget = np.empty(1, object)
    gadget[0] = Gadget()
    yield "pickle.npz", ("arrays", "data", "audit"), small_zip({"rewards.npy": npy(gadget)})
    steps = np.zeros(1 << 22, "u1")
    for label, ends in {"step": steps, "episode": steps + 1}.items():
        columns = {f"{name}.npy": npy(ends if name == "terminals" else steps) for name in COLUMNS}
        yield f"{label}.npz", ("data",), small_zip(columns)
    chunk = zlib.compress(block)
    yield "zeros.h5", ("data",), hdf5(lambda file: [stored(file, n, BOMB, chunk) for n in COLUMNS])
    yield "long.h5", ("data",), hdf5(lambda file: [stored(file, n, 1, chunk * 9) for n in COLUMNS])
    yield "holes.h5", ("data",), hdf5(lambda file: [stored(file, n, BOMB, None) for n in COLUMNS])
    yield "columns.h5", ("data",), hdf5(lambda file: [plain(file, f"c{n}") for n in range(2000)])
    yield "groups.h5", ("data",), hdf5(lambda file: [nested(file, n) for n in range(300)])
    yield "good.h5", ("data",), hdf5(lambda file: [plain(file, name) for name in COLUMNS])


def npy(array):
    """An array as `numpy.save` writes it."""
    data = io.BytesIO()
    np.save(data, array)
    return data.getvalue()


def hdf5(fill):
    """An HDF5 file."""
    import h5py

    data = io.BytesIO()
    with h5py.File(data, "w") as file:
        fill(file)
    return data.getvalue()


def stored(file, name, times, chunk):
    """A dataset of many chunks of 1 MiB, packed before; without one it has only holes."""
    made = file.create_dataset(name, (times * MIB,), "u1", chunks=(MIB,), compression="gzip")
    for number in range(times if chunk else 0):
        made.id.write_direct_chunk((number * MIB,), chunk)


def plain(file, name):
    """A small dataset."""
    file.create_dataset(name, data=np.zeros(3, np.float32))


def nested(file, number):
    """An episode as Minari writes them, with a group in a group."""
    plain(file, f"episode_{number}/observations/a/b/c")


def tables():
    """Parquet and Arrow files, packed by each of their codecs."""
    import pyarrow as pa
    from pyarrow import parquet

    names = ("obs", "actions", "rewards", "terminateds", "eps_id")
    rows = pa.table({name: pa.array(np.zeros(3 * MIB, np.uint8)) for name in names})
    few = pa.table({name: pa.array(np.zeros(9)) for name in names})
    gadget = pa.table({"item": pa.array([pickle.dumps(Gadget())] * 3, pa.binary())})
    for codec in ("zstd", "gzip", "none"):
        for label, table in {"rows": rows, "few": few, "pickle": gadget}.items():
            data = io.BytesIO()
            parquet.write_table(table, data, compression=codec)
            yield f"{label}-{codec}.parquet", ("data",), data.getvalue()
    columns = {name: np.zeros(8 * MIB) for name in (*COLUMNS[:3], "terminations", "truncations")}
    for codec in ("zstd", "lz4"):
        data = io.BytesIO()
        options = pa.ipc.IpcWriteOptions(compression=codec)
        table = pa.table(columns)
        with pa.ipc.new_file(data, table.schema, options=options) as writer:
            writer.write_table(table)
        yield f"zeros-{codec}.arrow", ("data",), data.getvalue()
