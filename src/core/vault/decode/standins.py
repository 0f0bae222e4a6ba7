"""What a checkpoint names and we do not build: inert values that keep the facts as data.

A class or function by reference becomes a `GlobalRef`, an object of such a class an `Opaque`
that keeps module, name, arguments and state. Nothing here can be called, imported or executed;
the two types are all that a file's own classes ever turn into.
"""

from __future__ import annotations

import operator
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

REF_KEY = "__class__"  # how plain data (see `plain.py`) says that it stands for a class
BY_VALUE_FUNCTIONS = frozenset({"_make_function", "_make_skel_func"})
BY_VALUE_CLASSES = frozenset({"_make_skeleton_class", "_make_skeleton_enum"})


MAX_SHOWN = 200

_SHORT = reprlib.Repr()
_SHORT.maxlevel = 3
_SHORT.maxother = _SHORT.maxstring = 80


def shown(value: Any) -> str:
    """`value` on one short line, whatever it is: shared lists can be endless when written out.

    Example:
        >>> shown([[[[[1]]]], "two", 3.0])
        "[[[[...]]], 'two', 3.0]"
    """
    return _SHORT.repr(value)[:MAX_SHOWN]


@dataclass(frozen=True, repr=False, slots=True)
class GlobalRef:
    """A class, function or constant that a file names by module and qualified name.

    Example:
        >>> GlobalRef("ray.rllib.algorithms.ppo.ppo", "PPOConfig")
        <ray.rllib.algorithms.ppo.ppo.PPOConfig>
    """

    module: str
    name: str

    @property
    def path(self) -> str:
        """Module and name in one dotted string."""
        return f"{self.module}.{self.name}"

    def __repr__(self) -> str:
        return f"<{self.path}>"


class Opaque:
    """An object of a class we do not build: its class, arguments, state and contents.

    Example:
        >>> point = Opaque(GlobalRef("geometry", "Point"), (1, 2))
        >>> point.state = {"colour": "red"}
        >>> point
        <geometry.Point object>
    """

    __slots__ = ("args", "entries", "items", "kwargs", "ref", "state")

    def __init__(self, ref: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> None:
        self.ref = ref
        self.args = args
        self.kwargs: Any = kwargs or {}
        self.state: Any = None
        self.items: list[Any] = []
        self.entries: list[tuple[Any, Any]] = []

    @property
    def path(self) -> str:
        """Dotted name of the class or callable, as far as the file says it."""
        if isinstance(self.ref, GlobalRef):
            return self.ref.path
        if isinstance(self.ref, Opaque):
            return "<an object of an object>"
        if isinstance(self.ref, (str, bytes, int, float)):
            return shown(self.ref)
        # What it holds may hold this object again, many times over.
        return f"<an object of a {type(self.ref).__name__}>"

    @property
    def is_by_value(self) -> bool:
        """True if this is a function or class whose code is in the file."""
        return isinstance(self.ref, GlobalRef) and (
            self.ref.name in BY_VALUE_FUNCTIONS or self.ref.name in BY_VALUE_CLASSES
        )

    @property
    def by_value_name(self) -> str:
        """Module and name of the function or class held by value, as far as known."""
        module, name = "", ""
        for source in self._state_dicts():
            module = _text(source.get("__module__")) or module
            name = _text(source.get("__qualname__")) or _text(source.get("__name__")) or name
        if not name and self.is_by_value and self.ref.name in BY_VALUE_FUNCTIONS:
            code = self.args[0] if self.args else None
            if isinstance(code, Opaque):
                strings = [arg for arg in code.args if isinstance(arg, str)]
                name = strings[1] if len(strings) > 1 else ""
        if not name and len(self.args) > 1:
            name = _text(self.args[1])
        return f"{module[:MAX_SHOWN]}.{name[:MAX_SHOWN]}".strip(".") or "<unnamed>"

    def mapping(self) -> dict[str, Any]:
        """The object's state as a mapping by attribute name; empty where there is none."""
        saved = [*(part.items() for part in self._state_dicts()), self.entries]
        return {key: value for key, value in chain.from_iterable(saved) if isinstance(key, str)}

    def _state_dicts(self) -> list[Mapping[Any, Any]]:
        parts = self.state if isinstance(self.state, tuple) else (self.state,)
        return [part for part in parts[:2] if isinstance(part, dict)]

    def __repr__(self) -> str:
        if self.is_by_value:
            kind = "function" if self.ref.name in BY_VALUE_FUNCTIONS else "class"
            return f"<{kind} {self.by_value_name}, held by value>"
        return f"<{self.path} object>"


@dataclass(eq=False, repr=False, slots=True)
class PersistentRef:
    """Something outside the pickle that it points to by an id only its writer knew."""

    id: Any

    def __repr__(self) -> str:
        return "<persistent reference>"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def mapping_of(value: Any) -> dict[str, Any]:
    """`value` as a mapping: a dict as it is, a stand-in by its state, anything else empty."""
    if isinstance(value, dict):
        return value
    return value.mapping() if isinstance(value, Opaque) else {}


def integer(value: Any) -> int | None:
    """`value` as an int, if it is a whole number of Python's or numpy's that fits 64 bits."""
    if isinstance(value, bool) or not hasattr(type(value), "__index__"):
        return None
    number = operator.index(value)
    return number if -(1 << 63) <= number < 1 << 63 else None


def class_path(value: Any) -> str:
    """Dotted class name a value stands for: of a reference, a by-value class or plain text."""
    if isinstance(value, str):
        return value
    if isinstance(value, GlobalRef):
        return value.path
    if isinstance(value, Opaque):
        return value.by_value_name if value.is_by_value else value.path
    if isinstance(value, dict) and isinstance(value.get(REF_KEY), str):
        return str(value[REF_KEY])
    return ""


def version_text(value: Any) -> str:
    """The text of a version, which may be a string, a number or a pickled `Version`."""
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        return str(value)[:MAX_SHOWN]
    if not isinstance(value, Opaque):
        return ""
    if value.args and isinstance(value.args[0], str):
        return value.args[0][:MAX_SHOWN]
    release: Any = None
    state = value.mapping()
    for key in ("_version", "_release", "release"):
        saved = state.get(key)
        if isinstance(saved, Opaque):
            release = saved.args[1] if len(saved.args) > 1 else saved.mapping().get("release")
        elif isinstance(saved, (tuple, list)):
            release = saved
        if release:
            break
    if release is None and isinstance(value.state, tuple):
        release = next((part for part in value.state if isinstance(part, tuple) and part), None)
    if not isinstance(release, (tuple, list)):
        return ""
    numbers = [number for number in release[:8] if isinstance(number, int)]
    return ".".join(str(number) for number in numbers if -1 < number < 2**63)
