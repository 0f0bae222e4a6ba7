"""Decoded data without stand-ins: what JSON output and our own format can hold.

A class by reference becomes `{"__class__": "module.Name"}`, an object
`{"__class__": ..., "arguments": [...], "state": {...}}`, a function held by value its name. Data
that unfolds without end (a list holding itself, references shared a million times) is cut.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np

from .decode.standins import REF_KEY, GlobalRef, Opaque, class_path

CUT = "..."


class Plainer:
    """Turns decoded data into plain data, within a number of parts.

    Beyond `most` parts or `deepest` levels everything becomes "..."; an array becomes a line that
    describes it, unless `arrays` keeps them.

    Example:
        >>> Plainer()(GlobalRef("a.b", "C"))
        {'__class__': 'a.b.C'}
    """

    def __init__(self, most: int = 200_000, *, arrays: bool = True, deepest: int = 60) -> None:
        self.left = most
        self.arrays = arrays
        self.deepest = deepest

    def __call__(self, value: Any, depth: int = 0) -> Any:
        """The plain form of `value`."""
        self.left -= 1
        if self.left < 0 or depth > self.deepest:
            return CUT
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, dict):
            return {self._key(k): self(v, depth + 1) for k, v in self._some(value.items())}
        if isinstance(value, (list, tuple, set, frozenset)):
            parts = sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value
            plain = [self(part, depth + 1) for part in self._some(parts)]
            return tuple(plain) if isinstance(value, tuple) else plain
        return self._leaf(value, depth)

    def _leaf(self, value: Any, depth: int) -> Any:
        if isinstance(value, GlobalRef):
            return {REF_KEY: value.path}
        if isinstance(value, Opaque):
            return self._object(value, depth)
        if isinstance(value, np.ndarray):
            if self.arrays and not value.dtype.hasobject:
                return value
            return f"array {value.shape} {value.dtype}"
        if isinstance(value, np.generic):
            return value if self.arrays else value.item()
        if isinstance(value, (bytes, memoryview)):
            return bytes(value) if self.arrays else f"{len(value):,} bytes"
        if isinstance(value, np.dtype):
            return str(value)
        return value if isinstance(value, complex) else repr(value)[:200]

    def _object(self, value: Opaque, depth: int) -> dict[str, Any]:
        data: dict[str, Any] = {REF_KEY: class_path(value) or "unknown"}
        if value.is_by_value:
            return {**data, "held": "by value"}
        if value.args:
            data["arguments"] = [self(part, depth + 1) for part in value.args]
        if value.kwargs:
            data["keywords"] = self(value.kwargs, depth + 1)
        if value.state is not None:
            data["state"] = self(value.state, depth + 1)
        if value.items:
            data["items"] = self(value.items, depth + 1)
        if value.entries:
            data["entries"] = [
                [self(key, depth + 1), self(part, depth + 1)] for key, part in value.entries
            ]
        return data

    def _key(self, key: Any) -> Any:
        if isinstance(key, (str, int, float, bool, type(None))):
            return key
        if isinstance(key, (GlobalRef, Opaque)):
            return class_path(key)
        return repr(key)[:200]

    def _some(self, parts: Any) -> list[Any]:
        return list(islice(parts, max(0, self.left + 1)))
