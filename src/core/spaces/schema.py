"""Every kind of space once: its fields, and how one is made of fields that nobody trusts.

A layout (our own data, Ray's dicts, attributes in pickles, Minari's JSON) is a class of `Fields`
that says how it spells and holds them. Everything is checked before a space is made: what is wrong
ends in a CheckpointError, and so does what is too large, before memory is taken.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Final, cast

import gymnasium as gym
import numpy as np

from ..data.budget import Budget, checked_dtype, checked_int, checked_shape, corrupt
from ..data.keys import KeyGuard
from ..errors import CorruptCheckpointError, LimitExceededError, RlconnectError
from ..types import Array
from .rllib_spaces import FlexDict, Repeated, Simplex
from .walk import AnySpace, kind_of

FIELDS: Final = {
    "Box": ("dtype", "shape", "low", "high", "bounded_below", "bounded_above"),
    "Discrete": ("n", "start", "dtype"),
    "MultiDiscrete": ("dtype", "shape", "nvec", "start"),
    "MultiBinary": ("n",),
    "Text": ("min_length", "max_length", "charset"),
    "Dict": ("spaces",),
    "FlexDict": ("spaces",),
    "Tuple": ("spaces",),
    "OneOf": ("spaces",),
    "Sequence": ("feature_space", "stack"),
    "Graph": ("node_space", "edge_space"),
    "Simplex": ("dtype", "shape", "concentration"),
    "Repeated": ("child_space", "max_len"),
}
"""What a space of each kind is made of, by the names of its attributes."""

SPACE_BYTES: Final = 4096
"""What a space is charged besides its arrays: its memory, and the time it takes to make it."""

_INT64: Final[np.dtype[Any]] = np.dtype(np.int64)
_MAX_COPYING: Final = 2
_COPY_COST: Final = 10  # gymnasium seeds each copied leaf anew, which is slow


def field_of(space: Any, name: str) -> Any:
    """A field of a space: a number, a shape, a dtype, an array, a space, or several spaces."""
    if name == "charset":
        return space.character_list
    value: Any = getattr(space, name, 0 if name == "start" else None)
    if type(value) in (int, tuple, np.ndarray) and name != "n":
        return value
    if name == "dtype":
        return np.dtype(value)
    if name == "stack":
        return bool(value)
    if name == "n" and isinstance(value, (tuple, list, np.ndarray)) and np.ndim(value):
        return tuple(int(size) for size in value)
    is_count = name in ("n", "min_length", "max_length", "max_len")
    return int(value) if is_count or isinstance(value, np.integer) else value


class Fields(abc.ABC):
    """The fields of one space in a file, in some layout."""

    spelled: ClassVar[Mapping[str, str]] = {}
    """What the layout calls fields that have another name in it."""

    def __init__(self, kind: str, data: Mapping[Any, Any], budget: Budget) -> None:
        self.kind = kind
        self.data = data
        self.budget = budget
        self.what = f"a {kind}"

    def get(self, name: str, default: Any = None) -> Any:
        """A field as the file holds it."""
        return self.data.get(self.spelled.get(name, name), default)

    def dtype(self, kinds: str, default: Any = None) -> np.dtype[Any]:
        """The dtype, one of some kinds."""
        return checked_dtype(self.get("dtype", default), self.what, kinds)

    def shape(self) -> tuple[int, ...]:
        """The shape."""
        return checked_shape(self.get("shape"), self.what)

    def flags(self, name: str) -> Array | None:
        """Which sides of a Box count as bounded, where the bounds alone do not tell."""
        return None

    @abc.abstractmethod
    def array(self, name: str, dtype: np.dtype[Any] | None = None) -> Array:
        """An array of numbers; of a dtype where the layout leaves that to the space."""

    @abc.abstractmethod
    def space(self, value: Any) -> Any:
        """A space inside this one."""

    def listed(self) -> list[Any]:
        """The spaces of a Tuple or OneOf."""
        spaces = self.get("spaces")
        if not isinstance(spaces, (list, tuple)):
            raise corrupt(f"{self.what} has no spaces", expected="a list", found=spaces)
        return [self.space(child) for child in spaces]

    def pairs(self) -> list[tuple[Any, Any]]:
        """The keys and spaces of a Dict in their order."""
        spaces = self.get("spaces")
        if not isinstance(spaces, Mapping):
            raise corrupt(f"{self.what} has no spaces", expected="a mapping", found=spaces)
        return [(key, self.space(child)) for key, child in spaces.items()]

    def child(self, name: str) -> AnySpace:
        """The space in a field."""
        return self.checked(self.space(self.get(name)))

    def checked(self, space: Any) -> AnySpace:
        """A space itself; anything else is corrupt."""
        if not isinstance(space, gym.Space):
            kind = type(space).__name__
            raise corrupt(f"{self.what} holds something that is no space", found=kind)
        return space

    def made(self) -> AnySpace:
        """The space."""
        self.budget.spend(SPACE_BYTES, self.what)
        try:
            return _MAKE[self.kind](self)
        except RlconnectError:
            raise
        except (ValueError, TypeError, AssertionError, OverflowError) as error:
            raise corrupt("gymnasium refuses a space", found=str(error)) from error


def _box(fields: Fields) -> AnySpace:
    dtype, shape = fields.dtype("biuf"), fields.shape()
    low, high = fields.array("low", dtype), fields.array("high", dtype)
    bounded = [fields.flags(side) for side in ("bounded_below", "bounded_above")]
    parts = (("low", low), ("high", high), *(("bounded", side) for side in bounded))
    for name, part in parts:
        if part is not None:
            _same_shape(name, part, shape)
    fields.budget.spend(2 * low.size * (dtype.itemsize + 1), "a Box")
    low, high = _as_dtype(low, dtype), _as_dtype(high, dtype)
    if dtype.kind == "f" and bool(np.isnan(low).any() or np.isnan(high).any()):
        raise corrupt("the bounds of a Box contradict themselves", found="not a number")
    if bool((low > high).any()):
        raise corrupt("the bounds of a Box contradict themselves", expected="low <= high")
    space: Any = gym.spaces.Box(low, high, shape, _dtype_argument(dtype))
    below, above = bounded
    space.bounded_below = np.array(-np.inf < low if below is None else below, np.bool_)
    space.bounded_above = np.array(high < np.inf if above is None else above, np.bool_)
    return cast("AnySpace", space)


def _discrete(fields: Fields) -> AnySpace:
    dtype = fields.dtype("iu", _INT64)
    count = checked_int(fields.get("n"), "the size of a Discrete")
    first = checked_int(fields.get("start", 0), "its start")
    limits = np.iinfo(dtype)
    if not 1 <= count <= limits.max or not limits.min <= first <= limits.max - count + 1:
        raise corrupt(
            "a Discrete does not fit its dtype", expected=str(dtype), found=(count, first)
        )
    extra: dict[str, Any] = {} if dtype == _INT64 else {"dtype": dtype.type}
    return gym.spaces.Discrete(count, start=first, **extra)


def _multi_discrete(fields: Fields) -> AnySpace:
    nvec = fields.array("nvec")
    dtype = fields.dtype("iu", _INT64)
    start = None if fields.get("start") is None else fields.array("start")
    fields.budget.spend(2 * nvec.size * dtype.itemsize, "a MultiDiscrete")
    nvec = _as_dtype(nvec, dtype)
    if bool((nvec < 1).any()):
        raise corrupt("a MultiDiscrete has an element without choices", expected="nvec >= 1")
    if start is not None:
        _same_shape("start", start, nvec.shape)
        start = _as_dtype(start, dtype)
        if bool((start > np.iinfo(dtype).max - (nvec - 1)).any()):
            raise corrupt("a MultiDiscrete does not fit its dtype", expected=str(dtype))
    return gym.spaces.MultiDiscrete(nvec, _dtype_argument(dtype), start=start)


def _multi_binary(fields: Fields) -> AnySpace:
    n = fields.get("n")
    if isinstance(n, np.ndarray) and n.ndim == 1:
        n = n.tolist()
    listed = isinstance(n, (list, tuple))
    shape = checked_shape(list(n) if listed else [n], "a MultiBinary")
    if 0 in shape:
        raise corrupt("a MultiBinary has no elements", expected="sizes >= 1", found=n)
    return gym.spaces.MultiBinary(shape if listed else shape[0])


def _text(fields: Fields) -> AnySpace:
    shortest = checked_int(fields.get("min_length", 1), "min_length")
    longest = checked_int(fields.get("max_length"), "max_length")
    if not 0 <= shortest <= longest < 2**63:
        raise corrupt("the lengths of a Text contradict each other", found=(shortest, longest))
    charset = fields.get("charset")
    if isinstance(charset, (set, frozenset)):
        charset = sorted(charset, key=str)
    elif not isinstance(charset, (str, list, tuple)):
        raise corrupt("a Text has no characters", expected="text or a set", found=charset)
    if not all(isinstance(character, str) and len(character) == 1 for character in charset):
        raise corrupt("a Text has characters that are none", expected="single characters")
    fields.budget.spend(256 * len(charset), "a Text")
    return gym.spaces.Text(longest, min_length=shortest, charset="".join(charset))


def _dict(fields: Fields) -> AnySpace:
    ordered: dict[Any, AnySpace] = {}
    check = KeyGuard(fields.budget).check
    for key, child in fields.pairs():
        if not isinstance(key, (str, int, float, tuple, frozenset)):
            raise corrupt("a Dict space has an unusable key", expected="text", found=key)
        try:
            is_new = check(key) not in ordered
        except CorruptCheckpointError:
            raise corrupt("a Dict space has an unusable key", found=key) from None
        if not is_new:
            raise corrupt("a Dict space has a key twice", found=key)
        ordered[key] = fields.checked(child)
    pairs = [*ordered.items()]  # gymnasium 1.0 sorts an OrderedDict, but never pairs
    return FlexDict(pairs) if fields.kind == "FlexDict" else gym.spaces.Dict(pairs)


def _one_of(fields: Fields) -> AnySpace:
    children = list(map(fields.checked, fields.listed()))
    one_of: Any = getattr(gym.spaces, "OneOf", None)
    if one_of is None or not children:
        raise corrupt("a OneOf space cannot be made", expected="gymnasium >= 1.0 and some spaces")
    return cast("AnySpace", one_of(children))


def _sequence(fields: Fields) -> AnySpace:
    stack = fields.get("stack", False)
    if not isinstance(stack, (bool, np.bool_)):
        raise corrupt("a Sequence does not say if it stacks", expected="true or false", found=stack)
    if not stack:
        return gym.spaces.Sequence(fields.child("feature_space"), stack=False)
    with _copied(fields):
        space = fields.child("feature_space")
    return gym.spaces.Sequence(_copied_once(space), stack=True)


def _graph(fields: Fields) -> AnySpace:
    with _copied(fields):
        nodes = fields.child("node_space")
        edges = None if fields.get("edge_space") is None else fields.child("edge_space")
    return gym.spaces.Graph(_copied_once(nodes), None if edges is None else _copied_once(edges))


def _simplex(fields: Fields) -> AnySpace:
    dtype, shape = fields.dtype("f", np.dtype(np.float32)), fields.shape()
    if not shape:
        raise corrupt("a Simplex needs an axis", found=shape)
    fields.budget.spend(8 * shape[-1], "a Simplex")
    shares = None if fields.get("concentration") is None else fields.array("concentration")
    if shares is not None:
        _same_shape("concentration", shares, shape[-1:])
        if shares.dtype.kind not in "iuf" or not bool((shares > 0).all()):
            raise corrupt("a Simplex has no valid concentration", expected="positive numbers")
    return Simplex(shape, shares, dtype)


def _repeated(fields: Fields) -> AnySpace:
    longest = checked_int(fields.get("max_len"), "the length of a Repeated")
    if not 0 <= longest < 2**63:
        raise corrupt("a Repeated has no valid length", expected=">= 0", found=longest)
    return Repeated(fields.child("child_space"), longest)


_MAKE: Final[dict[str, Callable[[Fields], AnySpace]]] = {
    "Box": _box,
    "Discrete": _discrete,
    "MultiDiscrete": _multi_discrete,
    "MultiBinary": _multi_binary,
    "Text": _text,
    "Dict": _dict,
    "FlexDict": _dict,
    "Tuple": lambda fields: gym.spaces.Tuple(list(map(fields.checked, fields.listed()))),
    "OneOf": _one_of,
    "Sequence": _sequence,
    "Graph": _graph,
    "Simplex": _simplex,
    "Repeated": _repeated,
}


@contextmanager
def _copied(fields: Fields) -> Iterator[None]:
    """Charge again for inner spaces: gymnasium keeps a batched copy of them."""
    before = fields.budget.left
    yield
    fields.budget.spend(_COPY_COST * (before - fields.budget.left), fields.what)


def _copied_once(space: AnySpace) -> AnySpace:
    if _copying_levels(space) >= _MAX_COPYING:
        # Each such level holds its child twice: 64 of them would be 2**64 spaces.
        raise LimitExceededError(
            "stacked Sequences and Graphs lie inside each other too often",
            expected=f"at most {_MAX_COPYING} levels",
        )
    return space


def _copying_levels(space: Any) -> int:
    kind = kind_of(space)
    copies = kind == "Graph" or (kind == "Sequence" and space.stack)
    return int(copies) + max(map(_copying_levels, spaces_in(space)), default=0)


def _same_shape(what: str, array: Array, shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        expected = f"shape {shape}"
        raise corrupt(f"{what} does not fit its space", expected=expected, found=array.shape)


def _as_dtype(array: Array, dtype: np.dtype[Any]) -> Array:
    """The same numbers in another dtype of the same kind, precision aside."""
    if array.dtype == dtype:
        return array
    kinds = array.dtype.kind + dtype.kind
    if kinds not in ("ff", "ii", "uu", "iu", "ui", "if", "uf", "bb"):
        raise corrupt("the bounds of a space have another dtype", expected=str(dtype))
    with np.errstate(over="ignore"):
        cast = array.astype(dtype)
    if kinds[1] in "iu" and not np.array_equal(cast, array):
        raise corrupt("the bounds of a space do not fit its dtype", expected=str(dtype))
    return cast


def _dtype_argument(dtype: np.dtype[Any]) -> Any:
    return dtype.type if dtype.isnative else dtype


def charge_tree(space: AnySpace, budget: Budget) -> None:
    """Charge for a space whose parts were built elsewhere, shared parts as often as they appear.

    A pickle can put one child into a Tuple twice, that Tuple into another twice, and so on: few
    objects, and 2**60 leaves for whoever walks them.
    """
    budget.spend(SPACE_BYTES * _tree_size(space, {}, budget), "a space")


def _tree_size(space: Any, counted: dict[int, int], budget: Budget) -> int:
    if id(space) not in counted:
        with budget.level("a space"):
            sizes = [_tree_size(child, counted, budget) for child in spaces_in(space)]
            counted[id(space)] = 1 + sum(sizes)
    return counted[id(space)]


def spaces_in(space: Any) -> list[AnySpace]:
    """All spaces right below a space, whatever they are there for."""
    inner: list[AnySpace] = []
    for name in (*FIELDS.get(kind_of(space), ()), "original_space"):
        part = vars(space).get(name)
        if name == "spaces":
            inner += part.values() if isinstance(part, Mapping) else part
        elif isinstance(part, gym.Space):
            inner.append(part)
    return inner
