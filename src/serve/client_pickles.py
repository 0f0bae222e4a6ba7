"""The pickles of Ray's `PolicyClient`: requests read as data, answers written for any numpy."""

from __future__ import annotations

import struct
from typing import Any, Final

import numpy as np

from ..core.data.budget import Budget, Limits
from ..core.errors import RlconnectError
from ..core.types import Array
from ..core.vault.decode.constructors import CONSTRUCTORS
from ..core.vault.decode.pickle_machine import NotBuiltError, PickleMachine, Trace
from ..core.vault.decode.standins import GlobalRef
from ..core.vault.decode.walk import named_places
from .errors import ServeError

_ENUMS: Final = (
    ("ray.rllib.env.policy_client", "Commands"),
    ("ray.rllib.env.external.rllink", "RLlink"),
)
_LIMITS: Final = Limits(
    max_operations=200_000, max_depth=32, base_memory=1 << 20, max_nested_files=0
)


def _command(machine: PickleMachine, args: tuple[Any, ...]) -> str:
    """A member of one of the two Enums, as its text."""
    if len(args) != 1 or type(args[0]) is not str:
        raise NotBuiltError("a command that is no text")
    return args[0]


def _member(machine: PickleMachine, args: tuple[Any, ...]) -> str:
    """A member by its name, as Python 3.11 writes one."""
    cls, *names = args
    if type(cls) is not GlobalRef or (cls.module, cls.name) not in _ENUMS:
        raise NotBuiltError("a look-up")
    return _command(machine, tuple(names))


_BUILT: Final = {
    **{
        name: build
        for name, build in CONSTRUCTORS.items()
        if name[0].split(".")[0] in ("numpy", "_codecs") or name[1] in ("bytearray", "bytes")
    },
    **dict.fromkeys(_ENUMS, _command),
    ("builtins", "getattr"): _member,
}
_NAMED: Final = {*_BUILT, ("numpy", "ndarray")}


def read_request(body: bytes) -> Any:
    """The value of a pickle in which nothing is imported, looked up or called.

    Raises:
        ServeError: It is no pickle, unfolds to too much, or names what no request needs.

    Example:
        >>> import pickle
        >>> read_request(pickle.dumps({"command": "GET_ACTION"}))
        {'command': 'GET_ACTION'}
    """
    trace = Trace()
    try:
        value = PickleMachine(
            memoryview(body), Budget(_LIMITS, len(body)), constructors=_BUILT, trace=trace
        ).load()
    except RlconnectError as error:
        raise ServeError(400, "bad_pickle", error.summary) from None
    foreign = next((pair for pair in trace.references if pair not in _NAMED), None)
    if foreign is not None:
        raise ServeError(
            400, "unsafe_pickle", f"the pickle names {'.'.join(foreign)[:120]!a}",
            hint="arrays, numbers, texts, lists and dicts are taken; nothing is run.",
        )  # fmt: skip
    for _, part in named_places(value):
        raise ServeError(400, "unsafe_pickle", f"the pickle calls {part.path[:120]!a} otherwise")
    return value


def write_answer(value: Any) -> bytes:
    """A pickle of plain values and arrays that every numpy loads.

    Example:
        >>> import pickle
        >>> pickle.loads(write_answer({"action": [1, 2.5, "a"]}))
        {'action': [1, 2.5, 'a']}
    """
    parts = [b"\x80\x03"]
    _write(value, parts.append)
    return b"".join(parts) + b"."


def _write(value: Any, write: Any) -> None:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool):
        write(b"N" if value is None else b"\x88" if value else b"\x89")
    elif isinstance(value, int):
        write(b"I%d\n" % value)
    elif isinstance(value, float):
        write(b"G" + struct.pack(">d", value))
    elif isinstance(value, str):
        text = value.encode("utf-8", "surrogatepass")
        write(b"X" + struct.pack("<I", len(text)) + text)
    elif isinstance(value, np.ndarray):
        _write_array(value, write)
    elif isinstance(value, dict):
        write(b"}(")
        for key, item in value.items():
            _write(key, write)
            _write(item, write)
        write(b"u")
    elif isinstance(value, (list, tuple)):
        write(b"(")
        for item in value:
            _write(item, write)
        write(b"t" if isinstance(value, tuple) else b"l")
    else:
        raise TypeError(f"no answer holds a {type(value).__name__}")


def _write_array(array: Array, write: Any) -> None:
    """An array as numpy 1 writes it; numpy 2 reads that, too."""
    data = array.astype(array.dtype.newbyteorder("<")).tobytes()
    code = array.dtype.newbyteorder("<").str.encode()
    write(b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nI0\n\x85C\x01bt")
    write(b"R(I1\n")
    _write(array.shape, write)
    write(b"cnumpy\ndtype\nX" + struct.pack("<I", len(code)) + code + b"\x85R\x89")
    write(b"B" + struct.pack("<I", len(data)) + data + b"tb")
