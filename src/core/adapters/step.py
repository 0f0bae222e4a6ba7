"""One step of an adapter: settings as data, bound to a space a formula over arrays."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Final, TypeAlias, TypeVar

import numpy as np
from gymnasium import spaces
from typing_extensions import Self, dataclass_transform

from ..data.array_codec import array_from_data, array_to_data
from ..data.budget import allowance, one_load
from ..errors import PieceError, SpaceError
from ..registry import Registry
from ..spaces.own_layout import space_from_data, space_to_data
from ..spaces.walk import children_of
from ..types import Array, Nest

Formula = Callable[..., Any]
"""`(value, *constants) -> value`; of a step with memory `(value, memory, is_first, *constants) ->
(value, memory)`. Values have any leading axes, those of a step with memory exactly one."""


@dataclass(frozen=True)
class Bound:
    """A step that knows the space it works on.

    Args:
        space: What comes out.
        formula: A pure function over numpy arrays or torch tensors.
        constants: Arrays the formula takes after the value; a tensor module holds them as buffers.
        memory: What one environment remembers at first, if the step has a memory.
        arrays: The formula with its constants for numpy alone, where it has a quicker form.
    """

    space: spaces.Space[Any]
    formula: Formula
    constants: tuple[Array, ...] = ()
    memory: Array | None = None
    arrays: Callable[[Any], Any] | None = None


class Step(abc.ABC):
    """Base of adapter steps; subclasses are frozen dataclasses with plain settings.

    Settings are numbers, texts, tuples, dicts and arrays, so every step can be written down.
    """

    kind: ClassVar[str]
    """The name it is written down by."""
    is_portable: ClassVar[bool] = True
    """Whether its data says all there is; False where a Python function takes part."""

    def __post_init__(self) -> None:
        """Keep each setting as its annotation says: plain, and comparable."""
        for each in fields(self):  # type: ignore[arg-type]  # each step is a dataclass
            kept_as, value = _KEPT_AS.get(str(each.type)), getattr(self, each.name)
            if kept_as is not None and value is not None:
                object.__setattr__(self, each.name, kept_as(value))

    @abc.abstractmethod
    def bind(self, space: spaces.Space[Any]) -> Bound:
        """Fit the step to a space.

        Raises:
            SpaceError: The step cannot work on that space.
        """

    def to_data(self) -> dict[str, Any]:
        """The step as plain data."""
        settings = {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]
        return {"step": self.kind, **{name: _plain(value) for name, value in settings.items()}}

    @classmethod
    def _from_settings(cls, settings: Mapping[str, Any]) -> Self:
        types = {each.name: str(each.type) for each in fields(cls)}  # type: ignore[arg-type]
        read = {name: _READ_AS.get(types[name], _live) for name in settings}
        return cls(**{name: read[name](value) for name, value in settings.items()})

    def mismatch(self, expected: str, space: spaces.Space[Any], hint: str = "") -> SpaceError:
        """The error for a space this step cannot work on."""
        return SpaceError(
            f"{type(self).__name__} cannot work on this space",
            expected=expected,
            found=str(space),
            hint=hint or "place the step where such a space comes in, or use At(path, step).",
        )

    def _box(self, space: spaces.Space[Any], expected: str = "a Box") -> spaces.Box:
        if not isinstance(space, spaces.Box):
            raise self.mismatch(expected, space)
        return space

    def _discrete(self, space: spaces.Space[Any]) -> spaces.Discrete:
        if not isinstance(space, spaces.Discrete):
            raise self.mismatch("a Discrete", space)
        return space

    def _dict(self, space: spaces.Space[Any]) -> spaces.Dict:
        if not isinstance(space, spaces.Dict):
            raise self.mismatch("a Dict", space)
        return space

    def _features(self, space: spaces.Space[Any]) -> spaces.Box:
        box = self._box(space)
        if not box.shape:
            raise self.mismatch("a Box of at least one axis", space)
        return box

    def _vector(self, space: spaces.Space[Any]) -> spaces.Box:
        box = self._box(space, "a Box of one axis")
        if len(box.shape) != 1:
            raise self.mismatch("a Box of one axis", space, "flatten it first.")
        return box


Numbers: TypeAlias = Any
"""A number, or one for each element of the last axis."""


def _each(value: Any) -> Any:
    return [value] if isinstance(value, (str, int, float, np.generic)) else value


def _ints(value: Any) -> tuple[int, ...]:
    return tuple(int(each) for each in _each(value))


def _floats(value: Any) -> tuple[float, ...]:
    return tuple(float(each) for each in _each(value))


def _numbers(value: Any) -> Any:
    array = np.asarray(value, np.float64)
    return float(array) if array.ndim == 0 else tuple(array.reshape(-1).tolist())


_KEPT_AS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "Sequence[int]": _ints,
    "Sequence[int] | None": _ints,
    "Sequence[float]": _floats,
    "Sequence[Sequence[float]]": lambda rows: tuple(map(_floats, rows)),
    "Sequence[str]": lambda keys: tuple(_each(keys)),
    "Sequence[str] | None": lambda keys: tuple(_each(keys)),
    "tuple[str | int, ...]": lambda path: tuple(_each(path)),
    "Numbers": _numbers,
}

_S = TypeVar("_S", bound=Step)

_NUMBER: Final = 40
"""What a step takes for a number of a setting: many keep them as a tuple."""

steps: Final[Registry[Step]] = Registry("adapter step")
"""Every kind of step by the name it is written down by."""


@dataclass_transform(frozen_default=True)
def step(kind: str) -> Callable[[type[_S]], type[_S]]:
    """Make a class a frozen dataclass and a known kind of step."""

    def decorated(cls: type[_S]) -> type[_S]:
        cls.kind = kind
        step_class = dataclass(frozen=True)(cls)
        steps.register(kind, step_class)
        return step_class

    return decorated


def step_from_data(data: Any) -> Step:
    """The inverse of a step's `to_data`.

    Raises:
        UnknownNameError: No step has that name.
        PieceError: Its settings are not what that step takes.

    Example:
        >>> step_from_data({"step": "select_features", "indices": [1, 0]})
        SelectFeatures(indices=(1, 0))
    """
    if not isinstance(data, Mapping) or not isinstance(data.get("step"), str):
        raise PieceError("no adapter step", expected="{'step': NAME, ...}", found=repr(data)[:80])
    settings = {str(name): value for name, value in data.items() if name != "step"}
    cls: Any = steps.get(data["step"])
    names = [each.name for each in fields(cls)]
    unknown = sorted(settings.keys() - set(names))
    if unknown:
        raise PieceError(
            f"adapter step {data['step']!r} has no setting {unknown[0]!r}",
            expected=f"one of {names}",
        )
    try:
        with one_load():
            step: Step = cls._from_settings(settings)
    except TypeError as error:
        raise PieceError(
            f"adapter step {data['step']!r} lacks settings", expected=f"{names}", found=str(error)
        ) from None
    return step


@step("at")
class At(Step):
    """Another step on one part of a Dict or Tuple.

    Args:
        path: Keys and positions from the outside in.
        inner: The step that works there.

    Example:
        >>> from rlconnect.core.adapters import Scale
        >>> space = spaces.Dict({"speed": spaces.Box(0, 9, (1,))})
        >>> bound = At(("speed",), Scale(0.5)).bind(space)
        >>> bound.formula({"speed": np.array([5.0])}, *bound.constants)
        {'speed': array([2.5])}
    """

    path: tuple[str | int, ...]
    inner: Step

    @property
    def is_portable(self) -> bool:  # type: ignore[override]
        """True if the step inside is."""
        return self.inner.is_portable

    def bind(self, space: spaces.Space[Any]) -> Bound:
        """Bind the step inside to the part, and the part back into the whole."""
        inner = self.inner.bind(part_of(space, self.path))
        path = self.path

        def formula(value: Nest, *rest: Any) -> Any:
            if inner.memory is None:
                return _replaced(value, path, lambda part: inner.formula(part, *rest))
            memories = []

            def remembering(part: Any) -> Any:
                changed, memory = inner.formula(part, *rest)
                memories.append(memory)
                return changed

            return _replaced(value, path, remembering), memories[0]

        new_space = _with_part(space, path, inner.space)
        return Bound(new_space, formula, inner.constants, inner.memory)


def box_between(low: Array, high: Array, dtype: Any = None) -> spaces.Box:
    """A Box between two arrays of bounds, in their dtype unless another is given."""
    kind: Any = np.dtype(low.dtype if dtype is None else dtype).type
    return spaces.Box(low.astype(kind), high.astype(kind), dtype=kind)


def part_of(space: spaces.Space[Any], path: tuple[str | int, ...]) -> spaces.Space[Any]:
    """The part of a nested space that a path leads to."""
    part = space
    for place, key in enumerate(path):
        parts = dict(children_of(part))
        if not parts:
            raise SpaceError(
                f"there is nothing at {list(path)}",
                expected="a Dict or Tuple",
                found=f"{part} at {list(path[:place])}",
            )
        if key not in parts:
            raise SpaceError(
                f"there is no {key!r} at {list(path[:place])}", expected=f"one of {list(parts)}"
            )
        part = parts[key]
    return part


def _with_part(
    space: spaces.Space[Any], path: tuple[str | int, ...], part: spaces.Space[Any]
) -> spaces.Space[Any]:
    if not path:
        return part
    parts: dict[Any, Any] = dict(children_of(space))
    parts[path[0]] = _with_part(parts[path[0]], path[1:], part)
    return spaces.Dict(parts) if isinstance(space, spaces.Dict) else spaces.Tuple(parts.values())


def _replaced(value: Nest, path: tuple[str | int, ...], change: Callable[[Any], Any]) -> Nest:
    if not path:
        return change(value)
    changed = _replaced(value[path[0]], path[1:], change)
    if isinstance(value, Mapping):
        return {**value, path[0]: changed}
    return tuple(changed if place == path[0] else part for place, part in enumerate(value))


_READ_AS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "Step": step_from_data,
    "Sequence[Step]": lambda data: tuple(map(step_from_data, data)),
    "spaces.Space[Any] | None": lambda data: None if data is None else space_from_data(data),
}
"""Settings that are more than plain data, by their annotations."""


def _plain(value: Any) -> Any:
    if isinstance(value, Step):
        return value.to_data()
    if isinstance(value, spaces.Space):
        return space_to_data(value)
    if isinstance(value, np.ndarray):
        return array_to_data(value)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (tuple, list)):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return value


def _live(value: Any) -> Any:
    if isinstance(value, Mapping) and "dtype" in value and "shape" in value:
        array = array_from_data(value)
        allowance().spend(_NUMBER * array.size, "a setting")
        return array
    if isinstance(value, list):
        return tuple(_live(each) for each in value)
    return value
