"""How much memory and time decoding 10 MB takes, each file in a process of its own.

    python tests/core/vault/attacks/memory.py [--all]

Prints JSON: by file, peak bytes above the start, seconds of processor time, how it ended. Without
`--all` only the files that come closest to the bounds.
"""

import json
import os
import pickle
import resource
import struct
import sys
import tempfile
import time
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from attacks.arrays import zip_file
from attacks.assembly import (
    call,
    dtype,
    get,
    group,
    name,
    number,
    padded,
    program,
    put,
    raw,
    repeated,
    text,
)
from rlconnect.core.errors import CheckpointError
from rlconnect.core.vault.decode.constructors import CONSTRUCTORS
from rlconnect.core.vault.decode.load_limits import Budget, Limits
from rlconnect.core.vault.decode.msgpack_file import decode_msgpack
from rlconnect.core.vault.decode.pickle_machine import PickleMachine
from rlconnect.core.vault.decode.torch_file import decode_torch

SIZE = 10_000_000
NEAREST = [
    *("honest", "empty lists", "empty sets", "marks", "unknown objects", "sparse memo"),
    *("dicts of one", "zlib of storages"),
]


def _row(item, count):
    return padded(b"\x80\x04(" + item * count + b"l.", SIZE)


def _packed(item, width):
    count = (SIZE - 5) // width
    return b"\xdd" + struct.pack(">I", count) + item * count


def _bomb():
    """A zip of 90 KB whose one storage unfolds to 90 MB of zeros."""
    numbers = 22_500_000
    id_ = group(
        *(text("storage"), name("torch", "FloatStorage"), text("0"), text("cpu"), number(numbers))
    )
    tensor = call(
        name("torch._utils", "_rebuild_tensor_v2"),
        *(id_ + b"Q", number(0), group(number(numbers)), group(number(1)), b"\x89", b"}"),
    )
    members = {"a/data.pkl": program(tensor), "a/data/0": bytes(4 * numbers)}
    return zip_file(members, zipfile.ZIP_DEFLATED)


def _honest():
    """Many short rows of numbers and words, as a log or a config of lists holds them."""
    rows = [(i, i / 7, f"agent_{i % 1000}_{i}") for i in range(SIZE // 36)]
    return pickle.dumps(rows, 4)


def _files():
    f4 = dtype("f4")
    yield "honest", "pickle", _honest
    yield "honest floats", "pickle", lambda: pickle.dumps([i * 1.1 for i in range(SIZE // 9)], 4)
    yield "honest words", "pickle", lambda: pickle.dumps([f"k{i}" for i in range(SIZE // 11)], 4)
    for what, item, count in [
        ("empty lists", b"]", 2_400_000),
        ("empty dicts", b"}", 2_400_000),
        ("empty sets", b"\x8f", 2_400_000),
        ("tuples of one", b"N\x85", 1_200_000),
        ("tuples in tuples", b"N\x85\x85", 800_000),
        ("short strings", b"\x8c\x01a", 2_400_000),
        ("short bytes", b"C\x01a", 2_400_000),
        ("dicts of one", b"}NNs", 600_000),
        ("lists of one", b"]Na", 800_000),
        ("sets of one", b"(N\x91", 800_000),
        ("unknown objects", b"(ia\nb\n", 300_000),
        ("small numbers", b"M\x00\x05", 2_400_000),
        ("booleans", b"\x88", 2_400_000),
        ("lines", b"I7\n", 2_400_000),
        ("text lines", b"S''\n", 2_400_000),
        ("unicode lines", b"V\n", 2_400_000),
        ("long numbers", b"\x8a\x10" + b"\x77" * 16, 500_000),
        ("names", b"ca\nb\n", 1_200_000),
        ("marks", b"(", 2_400_000),
        ("persistent ids", b"NQ", 1_200_000),
        ("states", b"Nb", 1_200_000),
    ]:
        yield what, "pickle", lambda item=item, count=count: _row(item, count)
    yield "memo", "pickle", lambda: padded(b"]" + b"\x94" * 2_400_000 + b".", SIZE)
    yield (
        "sparse memo",
        "pickle",
        lambda: padded(
            b"]" + b"".join(b"r" + struct.pack("<I", 3 * i + 9) for i in range(1_000_000)) + b".",
            SIZE,
        ),
    )
    yield (
        "number keys",
        "pickle",
        lambda: padded(
            b"}(" + b"".join(b"J" + struct.pack("<I", i) + b"N" for i in range(800_000)) + b"u.",
            SIZE,
        ),
    )
    yield (
        "wide text",
        "pickle",
        lambda: (
            b"X" + struct.pack("<I", SIZE - 8) + ("\U0001f600".encode() * ((SIZE - 8) // 4)) + b"."
        ),
    )
    for what, function, arguments in [
        ("dtypes", name("numpy", "dtype"), group(text("f4"))),
        ("bad dtypes", name("numpy", "dtype"), group(text("f9"))),
        ("empty arrays", name("numpy.core.multiarray", "_reconstruct"), b")"),
        ("ordered dicts", name("collections", "OrderedDict"), b")"),
        ("calls", name("a", "b"), b")"),
        ("attributes", name("builtins", "getattr"), group(name("a", "b"), text("c"))),
        ("scalars", name("numpy.core.multiarray", "scalar"), group(f4, raw(b"abcd"))),
        ("torch pickles", name("torch.storage", "_load_from_bytes"), group(raw(b"N."))),
        (
            "buffers",
            name("numpy.core.numeric", "_frombuffer"),
            group(raw(b"abcd"), f4, group(number(1)), text("C")),
        ),
        ("long lists", name("builtins", "list"), group(b"(" + b"N" * 100_000 + b"l")),
        ("copies", name("builtins", "bytes"), group(raw(b"a" * 4000))),
    ]:
        yield what, "pickle", lambda f=function, a=arguments: padded(repeated(f, a, 400_000), SIZE)
    tensor = call(
        name("torch._utils", "_rebuild_tensor"),
        get(0),
        *(number(0), group(number(1000)), group(number(1))),
    )
    source = call(
        name("numpy.core.numeric", "_frombuffer"),
        *(raw(bytes(4000)), f4, group(number(1000)), text("C")),
    )
    yield (
        "tensors",
        "pickle",
        lambda: padded(b"\x80\x04" + source + put(0) + b"0(" + tensor * 60_000 + b"l.", SIZE),
    )
    yield "msgpack numbers", "msgpack", lambda: _packed(b"\x01", 1)
    yield "msgpack empty lists", "msgpack", lambda: _packed(b"\x90", 1)
    yield "msgpack lists of one", "msgpack", lambda: _packed(b"\x91\xc0", 2)
    yield "msgpack maps of one", "msgpack", lambda: _packed(b"\x81\xa0\xc0", 3)
    yield "msgpack words", "msgpack", lambda: _packed(b"\xa1a", 2)
    yield "msgpack bytes", "msgpack", lambda: _packed(b"\xc4\x01a", 3)
    yield "msgpack extensions", "msgpack", lambda: _packed(b"\xd4\x01a", 3)
    yield "zlib of storages", "torch", _bomb


def decode(path, kind):
    """Read and decode one file, as `open_checkpoint` does."""
    data = path.read_bytes()
    budget = Budget(Limits(), max(len(data), SIZE))

    def machine(content):
        return PickleMachine(content, budget, constructors=CONSTRUCTORS)

    if kind == "msgpack":
        return decode_msgpack(data, budget)
    return decode_torch(data, machine) if kind == "torch" else machine(data).load()


def measure(path, kind):
    """Peak memory, time and end of decoding one file, in a child that does nothing else."""
    receiver, sender = os.pipe()
    child = os.fork()
    if child == 0:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start = time.process_time()
        try:
            decode(path, kind)
            ended = "data"
        except CheckpointError as error:
            ended = type(error).__name__
        seconds = time.process_time() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        found = {"peak": peak * 1024, "seconds": round(seconds, 2), "ended": ended}
        os.write(sender, json.dumps(found).encode())
        os._exit(0)
    os.close(sender)
    os.waitpid(child, 0)
    with os.fdopen(receiver) as told:
        return json.loads(told.read())


def _write(make, path):
    """Make the file in a child as well: its memory must not be there to be used again."""
    child = os.fork()
    if child == 0:
        path.write_bytes(make())
        os._exit(0)
    os.waitpid(child, 0)


if __name__ == "__main__":
    results = {}
    with tempfile.TemporaryDirectory() as scratch:
        for what, kind, make in _files():
            if "--all" in sys.argv or what in NEAREST:
                file = Path(scratch) / "file"
                _write(make, file)
                results[what] = measure(file, kind)
    print(json.dumps(results, indent=1))
