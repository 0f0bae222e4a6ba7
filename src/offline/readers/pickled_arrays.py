"""The one pickle that nearly all packed columns are, known by its bytes: an array's.

The bytes of the numbers stand between a head and a tail that say nothing but dtype and shape. What
differs in one byte goes through the vault's machine.
"""

from __future__ import annotations

import re
from math import prod
from typing import Any, Final

import numpy as np

from ...core.data.budget import Budget
from ...core.types import Array

_LONGEST_HEAD: Final = 80
_LONGEST_TAIL: Final = 200
_HEAD: Final = re.compile(
    rb"\x80\x05\x95.{8}\x8c[\x12\x13](?:numpy\.core|numpy\._core)\.numeric\x94"
    rb"\x8c\x0b_frombuffer\x94\x93\x94\(\x96(.{8})",
    re.DOTALL,
)
_SIZE: Final = rb"(?:K.|M..|J.{3}[\x00-\x7f])"
_TAIL: Final = re.compile(
    rb"(?:\x95.{8})?\x94\x8c\x05numpy\x94\x8c\x05dtype\x94\x93\x94\x8c\x02([biuf][1248])\x94\x89\x88\x87\x94R\x94"
    rb"\(K\x03\x8c\x01([<|])\x94NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00t\x94b"
    rb"(?:(" + _SIZE + rb")\x85|(" + _SIZE + _SIZE + rb")\x86|(" + _SIZE * 3 + rb")\x87"
    rb"|\((" + _SIZE + rb"{4})t)\x94\x8c\x01C\x94t\x94R\x94\.",
    re.DOTALL,
)
_EACH: Final = re.compile(rb"(?:K(.)|M(..)|J(.{4}))", re.DOTALL)


def array_of_pickle(data: bytes | bytearray, budget: Budget) -> Array | None:
    """The array that a pickle holds, if it is written in the usual way; else None.

    Example:
        >>> import pickle
        >>> array_of_pickle(pickle.dumps(np.zeros(2), 5), Budget()).tolist()
        [0.0, 0.0]
    """
    head = _HEAD.match(data[:_LONGEST_HEAD])
    if head is None:
        return None
    size = int.from_bytes(head[1], "little")
    end = head.end() + size
    if end > len(data) or len(data) - end > _LONGEST_TAIL:
        return None
    tail = _TAIL.fullmatch(data, end)
    if tail is None:
        return None
    dtype = _dtype(tail[2] + tail[1])
    shape = _shape(next(filter(None, tail.groups()[2:])))
    if dtype is None or prod(shape) * dtype.itemsize != size:
        return None
    budget.work(_STEPS, "a pickle")
    budget.spend(size + 200, "an array")
    array = np.frombuffer(data, dtype, size // dtype.itemsize, head.end()).reshape(shape)
    return array if array.flags.writeable else array.copy()


_STEPS: Final = 40


def _dtype(code: bytes) -> np.dtype[Any] | None:
    try:
        return np.dtype(code.decode())
    except TypeError:
        return None


def _shape(sizes: bytes) -> tuple[int, ...]:
    return tuple(int.from_bytes(b"".join(each), "little") for each in _EACH.findall(sizes))
