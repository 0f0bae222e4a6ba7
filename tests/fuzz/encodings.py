"""Trees in and out of files: pickles that may name anything, msgpack, JSON, our own folders.

Trees are read by the library's own readers. They are written without looking up a single name.
"""

import base64
import hashlib
import io
import json
import pickle
import zlib
from pathlib import Path
from typing import ClassVar

import numpy as np
from rlconnect.core.data.budget import Budget
from rlconnect.core.data.msgpack_arrays import encode_msgpack_object
from rlconnect.core.vault.decode.load_limits import DEFAULT_LIMITS
from rlconnect.core.vault.decode.msgpack_file import decode_msgpack
from rlconnect.core.vault.decode.standins import GlobalRef, Opaque, PersistentRef
from rlconnect.core.vault.decoding import Decoding
from rlconnect.core.vault.own.manifest import MANIFEST, UNSIGNED, sign
from rlconnect.offline.readers.packed import unpack

from tests.fuzz.trees import deep

try:
    import pyarrow as pa
    from pyarrow import parquet
except ImportError:
    pa = parquet = None

_Pickler = vars(pickle)["_Pickler"]  # the one written in Python: it has a table of types


def encoding_of(path):
    """How a file is read: "pickle", "msgpack", "json", "lines", "rows", "raw"; None for no tree."""
    if path.suffix in (".hdf5", ".arrow"):
        return "raw"
    if path.suffix == ".parquet":
        return "rows"
    if path.suffix == ".json" and path.name.startswith("output-"):
        return "lines"
    if path.suffix in (".pkl", ".pt", "") or path.name.startswith("checkpoint-"):
        return "pickle"
    if path.suffix in (".msgpack", ".msgpck"):
        return "msgpack"
    return "json" if path.suffix == ".json" else None


def read_tree(data, encoding):
    """The data of a file."""
    if encoding == "json":
        return json.loads(data)
    if encoding == "raw":
        return data
    if encoding == "lines":
        return [opened(json.loads(line)) for line in data.splitlines() if line.strip()]
    if encoding == "rows":
        rows = parquet.read_table(io.BytesIO(data)).to_pylist()
        return [
            {k: decode_msgpack(v, Budget()) if k == "item" else v for k, v in row.items()}
            for row in rows
        ]
    decoding = Decoding(Path("."), DEFAULT_LIMITS)
    kind = "torch" if data[:2] == b"PK" else encoding
    return decoding.decode_bytes(data, "sample", kind)


def written(tree, encoding):
    """A tree as bytes."""
    if encoding == "json":
        return json.dumps(json_tree(tree)).encode("utf-8", "surrogatepass")
    if encoding == "lines":
        lines = tree if isinstance(tree, list) else [tree]
        return b"\n".join(written(packed(line), "json") for line in lines)
    if encoding == "rows":
        rows = [{k: _msgpack(v) if k == "item" else v for k, v in row.items()} for row in tree]
        file = io.BytesIO()
        parquet.write_table(pa.Table.from_pylist(rows), file)
        return file.getvalue()
    if encoding == "msgpack":
        return _msgpack(tree)
    return pickled(tree)


# Recorded samples: columns of JSON lines may be packed pickles

PACKED = "$packed"


def opened(tree):
    """Lines with what their packed columns hold."""
    if isinstance(tree, dict):
        return {key: opened(part) for key, part in tree.items()}
    if isinstance(tree, str) and len(tree) > 60:
        return {PACKED: unpack(tree, Budget(), "a column")}
    return tree


def packed(tree):
    """The reverse, by zlib."""
    if isinstance(tree, dict) and set(tree) == {PACKED}:
        return base64.b64encode(zlib.compress(pickled(tree[PACKED]))).decode()
    return {key: packed(part) for key, part in tree.items()} if isinstance(tree, dict) else tree


# Pickles


def pickled(tree):
    """A pickle of a tree; stand-ins become the references and calls they stand for."""
    file = io.BytesIO()
    with deep():
        _TreePickler(file, protocol=4).dump(tree)
    return file.getvalue()


class _TreePickler(_Pickler):
    dispatch: ClassVar = {**_Pickler.dispatch}

    def save_reference(self, ref):
        self.save(ref.module)
        self.save(ref.name)
        self.write(pickle.STACK_GLOBAL)
        self.memoize(ref)

    def save_opaque(self, thing):
        self.save(thing.ref)
        if thing.kwargs and isinstance(thing.args, tuple):
            self.save(thing.args)
            self.save(thing.kwargs)
            self.write(pickle.NEWOBJ_EX)
        else:
            self.save(thing.args)
            self.write(pickle.REDUCE)
        if id(thing) not in self.memo:
            self.memoize(thing)
        for key, value in thing.entries if isinstance(thing.entries, list) else ():
            self.save(key)
            self.save(value)
            self.write(pickle.SETITEM)
        for value in thing.items if isinstance(thing.items, list) else ():
            self.save(value)
            self.write(pickle.APPEND)
        if thing.state is not None:
            self.save(thing.state)
            self.write(pickle.BUILD)

    def save_persistent(self, ref):
        self.save(ref.id)
        self.write(pickle.BINPERSID)

    def save_view(self, view):
        self.save(bytes(view))

    dispatch[GlobalRef] = save_reference
    dispatch[Opaque] = save_opaque
    dispatch[PersistentRef] = save_persistent
    dispatch[memoryview] = save_view


# msgpack and JSON hold no references: these become the dicts and texts that stand for them there.


def _msgpack(tree):
    import msgpack

    def default(value):
        if isinstance(value, (GlobalRef, Opaque)):
            return as_text(value)
        if isinstance(value, np.ndarray) and value.dtype.hasobject:
            return value.tolist()
        if isinstance(value, (tuple, set, frozenset)):
            return list(value)
        if isinstance(value, int):
            return str(value)
        found = encode_msgpack_object(value)
        return str(value) if found is value else found

    return msgpack.packb(_keyed(tree), default=default, strict_types=False)


def _keyed(tree):
    """The tree with keys that msgpack can hold, and whole numbers of 64 bits."""
    if isinstance(tree, dict):
        return {
            key if isinstance(key, (str, int, float, bytes, bool)) else str(key): _keyed(part)
            for key, part in tree.items()
        }
    if isinstance(tree, (list, tuple)):
        return [_keyed(part) for part in tree]
    if isinstance(tree, int) and not -(2**63) <= tree < 2**64:
        return str(tree)
    return tree.encode("utf-8", "replace") if _is_odd(tree) else tree


def _is_odd(tree):
    return isinstance(tree, str) and any("\ud800" <= letter <= "\udfff" for letter in tree)


def json_tree(tree):
    """The tree as JSON can hold it."""
    if isinstance(tree, dict):
        return {str(key): json_tree(part) for key, part in tree.items()}
    if isinstance(tree, (list, tuple)):
        return [json_tree(part) for part in tree]
    if isinstance(tree, (GlobalRef, Opaque)):
        return as_text(tree)
    if isinstance(tree, np.ndarray):
        return json_tree(tree.tolist())
    if tree is None or isinstance(tree, (str, bool, int, float)):
        return tree
    return str(tree)


def as_text(value):
    """What a text format has for a class or an object."""
    if isinstance(value, GlobalRef):
        return {"__class__": value.path}
    return {"__class__": value.path, "args": json_tree(value.args), "state": json_tree(value.state)}


def sign_folder(folder):
    """Put the right sizes and checksums into the manifest of one of our own folders."""
    file = folder / MANIFEST
    if not file.is_file():
        return
    content = json.loads(file.read_text(encoding="utf-8"))
    if not isinstance(content, dict):
        return
    listed = content.get("files")
    for name, entry in listed.items() if isinstance(listed, dict) else ():
        data = (folder / name).read_bytes() if (folder / name).is_file() else b""
        if isinstance(entry, dict):
            entry.update(size=len(data), sha256=hashlib.sha256(data).hexdigest())
    file.write_bytes(signed(content))


def signed(content):
    """The text of a manifest with its own checksum."""
    return sign(json.dumps({**content, "checksum": UNSIGNED}).encode())
