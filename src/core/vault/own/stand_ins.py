"""Stand-ins as plain data and back: what our own format keeps of classes and objects it never made.

    {"__stand_in__": "name", "module": "numpy", "name": "float32"}
    {"__stand_in__": "object", "of": ..., "arguments": [...], "keywords": ..., "state": ...,
     "items": [...], "entries": [[key, value], ...]}
    {"__stand_in__": "dtype", "name": "<f4"}

Code that lies in the file, what would run programs, and parts that contain themselves are left out,
each with its place told.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ..audit.kinds import kind_of
from ..audit.wrappings import HEAD, bytes_in_text, starts_pickle
from ..decode.standins import GlobalRef, Opaque, PersistentRef, class_path

MARK: Final = "__stand_in__"
_DEEPEST: Final = 50
_EMPTY: Final = {MARK: "left out"}
Note = Callable[[str, str], None]


class PlainStandIns:
    """Decoded data as data that our own format holds.

    `note` is told the place and the name of everything that is left out.
    """

    def __init__(self, note: Note) -> None:
        self._note = note
        self._open: set[int] = set()

    def plain(self, value: Any, place: str = "") -> Any:
        """`value` with each stand-in as a dict."""
        if isinstance(value, (str, bytes, memoryview)):
            content = bytes(value) if isinstance(value, memoryview) else value
            raw = bytes_in_text(content) if isinstance(content, str) else content
            return self._left_out(place, "pickled bytes") if starts_pickle(raw[:HEAD]) else content
        if value is None or isinstance(value, (bool, int, float, complex, np.generic)):
            return value
        if isinstance(value, np.dtype):
            return {MARK: "dtype", "name": value.str}
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            return value
        if isinstance(value, GlobalRef):
            return self._name(value, place)
        if id(value) in self._open or len(self._open) > _DEEPEST:
            return self._left_out(place, "data that contains itself")
        self._open.add(id(value))
        try:
            return self._container(value, place)
        finally:
            self._open.discard(id(value))

    def _container(self, value: Any, place: str) -> Any:
        if isinstance(value, dict):
            return {
                self._key(key, place): self.plain(part, f"{place}/{str(key)[:60]}")
                for key, part in value.items()
            }
        if isinstance(value, (list, tuple)):
            return type(value)(self.plain(part, f"{place}/{i}") for i, part in enumerate(value))
        if isinstance(value, (set, frozenset)):
            plain_parts = [part for part in value if not isinstance(part, (GlobalRef, Opaque))]
            if len(plain_parts) < len(value):
                self._note(place, "classes in a set")
            return type(value)(plain_parts)
        if isinstance(value, np.ndarray):
            items = [self.plain(part, f"{place}/{i}") for i, part in enumerate(value.flat)]
            array = np.empty(len(items), object)
            array[:] = items
            return array.reshape(value.shape)
        if isinstance(value, Opaque):
            return self._object(value, place)
        kind = "a reference to data elsewhere" if isinstance(value, PersistentRef) else "an object"
        return self._left_out(place, kind)

    def _name(self, ref: GlobalRef, place: str) -> Any:
        if kind_of(ref.module, ref.name)[0] == "runner":
            return self._left_out(place, ref.path)
        return {MARK: "name", "module": ref.module, "name": ref.name}

    def _object(self, value: Opaque, place: str) -> Any:
        ref = value.ref
        if value.is_by_value:
            self._note(place, f"{value.by_value_name} (code)")
            return {MARK: "code", "name": value.by_value_name}
        if not isinstance(ref, GlobalRef) or kind_of(ref.module, ref.name)[0] == "runner":
            return self._left_out(place, class_path(value) or "an object")
        parts = {
            "arguments": value.args,
            "keywords": value.kwargs,
            "state": value.state,
            "items": value.items,
            "entries": [list(pair) for pair in value.entries],
        }
        data = {key: self.plain(part, place) for key, part in parts.items() if part}
        return {MARK: "object", "of": self._name(ref, place), **data}

    def _key(self, key: Any, place: str) -> Any:
        if isinstance(key, (GlobalRef, Opaque)):
            self._note(place, f"{class_path(key)} as a key")
            return class_path(key)
        return key

    def _left_out(self, place: str, what: str) -> dict[str, str]:
        self._note(place, what)
        return dict(_EMPTY)


def live_stand_ins(value: Any) -> Any:
    """Data of `PlainStandIns` with its stand-ins again; inert as before."""
    if isinstance(value, dict):
        if MARK in value:
            return _stand_in(value)
        return {key: live_stand_ins(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(live_stand_ins, value))
    if isinstance(value, np.ndarray) and value.dtype.hasobject:
        array = np.empty(value.size, object)
        array[:] = [live_stand_ins(part) for part in value.flat]
        return array.reshape(value.shape)
    return value


def _stand_in(data: dict[str, Any]) -> Any:
    kind = data[MARK]
    if kind == "name":
        return GlobalRef(str(data.get("module")), str(data.get("name")))
    if kind == "dtype":
        return str(data.get("name"))
    if kind == "code":
        module, _, name = str(data.get("name")).rpartition(".")
        return GlobalRef(module, name)
    if kind != "object":
        return None
    arguments = live_stand_ins(data.get("arguments", ()))
    opaque = Opaque(live_stand_ins(data.get("of")), tuple(arguments))
    opaque.kwargs = live_stand_ins(data.get("keywords", {}))
    opaque.state = live_stand_ins(data.get("state"))
    opaque.items = list(live_stand_ins(data.get("items", ())))
    opaque.entries = [tuple(pair) for pair in live_stand_ins(data.get("entries", ()))]
    return opaque
