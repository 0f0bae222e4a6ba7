"""Gymnasium spaces from parts nobody trusts: everything is checked before it is constructed.

The readers of the three layouts (`space_codec`, `space_layouts`, `space_pickles`) bring the parts
into plain form and build here. What is wrong ends in a CheckpointError; what is too large ends in
one before memory is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, cast

import gymnasium as gym
import numpy as np

from ..data.budget import Budget, checked_int, checked_shape, corrupt
from ..data.keys import KeyGuard
from ..errors import CorruptCheckpointError, LimitExceededError
from ..types import Array
from .rllib_spaces import FlexDict, Repeated, Simplex
from .walk import AnySpace, children_of, kind_of

SPACE_BYTES: Final = 4096
"""What a space is charged besides its arrays: its memory, and the time it takes to make it."""

_MAX_COPYING: Final = 2
_COPY_COST: Final = 10  # gymnasium seeds each copied leaf anew, which is slow
_INT64: Final[np.dtype[Any]] = np.dtype(np.int64)


def build_box(
    low: Array,
    high: Array,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    budget: Budget,
    bounded: tuple[Array | None, Array | None] = (None, None),
) -> AnySpace:
    """A Box with exactly these bounds.

    Args:
        low: Lower bounds of `shape`.
        high: Upper bounds of `shape`.
        shape: The shape.
        dtype: A real number dtype.
        budget: What may be allocated.
        bounded: Which sides count as bounded below and above, where the bounds alone do not tell:
            an integer Box made with infinite bounds.
    """
    _same_shape("low", low, shape)
    _same_shape("high", high, shape)
    for flags in bounded:
        if flags is not None:
            _same_shape("the bounded sides", flags, shape)
    budget.spend(SPACE_BYTES + 2 * low.size * (dtype.itemsize + 1), "a Box")
    low, high = _as_dtype(low, dtype), _as_dtype(high, dtype)
    if dtype.kind == "f" and bool(np.isnan(low).any() or np.isnan(high).any()):
        raise corrupt("the bounds of a Box contradict themselves", found="not a number")
    if bool((low > high).any()):
        raise corrupt("the bounds of a Box contradict themselves", expected="low <= high")
    space: Any = _made(lambda: gym.spaces.Box(low, high, shape, _dtype_argument(dtype)))
    implied = (-np.inf < low, high < np.inf)
    for side, given, told in zip(("bounded_below", "bounded_above"), bounded, implied, strict=True):
        flags = told if given is None else given
        setattr(space, side, np.array(flags, np.bool_))
    return cast("AnySpace", space)


def build_discrete(n: Any, start: Any, budget: Budget, dtype: np.dtype[Any] = _INT64) -> AnySpace:
    """A Discrete space of `n` elements from `start` on."""
    count, first = checked_int(n, "the size of a Discrete"), checked_int(start, "its start")
    budget.spend(SPACE_BYTES, "a Discrete")
    limits = np.iinfo(dtype)
    if not 1 <= count <= limits.max or not limits.min <= first <= limits.max - count + 1:
        raise corrupt(
            "a Discrete does not fit its dtype", expected=str(dtype), found=(count, first)
        )
    extra: dict[str, Any] = {} if dtype == _INT64 else {"dtype": dtype.type}
    return _made(lambda: gym.spaces.Discrete(count, start=first, **extra))


def build_multi_discrete(
    nvec: Array, start: Array | None, dtype: np.dtype[Any], budget: Budget
) -> AnySpace:
    """A MultiDiscrete space with `nvec` choices per element."""
    budget.spend(SPACE_BYTES + 2 * nvec.size * dtype.itemsize, "a MultiDiscrete")
    nvec = _as_dtype(nvec, dtype)
    if bool((nvec < 1).any()):
        raise corrupt("a MultiDiscrete has an element without choices", expected="nvec >= 1")
    if start is not None:
        _same_shape("start", start, nvec.shape)
        start = _as_dtype(start, dtype)
        if bool((start > np.iinfo(dtype).max - (nvec - 1)).any()):
            raise corrupt("a MultiDiscrete does not fit its dtype", expected=str(dtype))
    kind = _dtype_argument(dtype)
    return _made(lambda: gym.spaces.MultiDiscrete(nvec, kind, start=start))


def build_multi_binary(n: Any, budget: Budget) -> AnySpace:
    """A MultiBinary space of `n` elements, or of a shape."""
    if isinstance(n, np.ndarray) and n.ndim == 1:
        n = n.tolist()
    listed = isinstance(n, (list, tuple))
    shape = checked_shape(list(n) if listed else [n], "a MultiBinary")
    if 0 in shape:
        raise corrupt("a MultiBinary has no elements", expected="sizes >= 1", found=n)
    budget.spend(SPACE_BYTES, "a MultiBinary")
    return gym.spaces.MultiBinary(shape if listed else shape[0])


def build_text(min_length: Any, max_length: Any, charset: Any, budget: Budget) -> AnySpace:
    """A Text space; the order of a text or list of characters is kept, that of a set is sorted."""
    shortest, longest = checked_int(min_length, "min_length"), checked_int(max_length, "max_length")
    if not 0 <= shortest <= longest < 2**63:
        raise corrupt("the lengths of a Text contradict each other", found=(shortest, longest))
    if isinstance(charset, (set, frozenset)):
        characters = sorted(charset, key=str)
    elif isinstance(charset, (str, list, tuple)):
        characters = list(charset)
    else:
        raise corrupt("a Text has no characters", expected="text or a set", found=charset)
    if not all(isinstance(character, str) and len(character) == 1 for character in characters):
        raise corrupt("a Text has characters that are none", expected="single characters")
    budget.spend(SPACE_BYTES + 256 * len(characters), "a Text")
    text = "".join(characters)
    return gym.spaces.Text(longest, min_length=shortest, charset=text)


def build_tuple(spaces: Iterable[Any], budget: Budget) -> AnySpace:
    """A Tuple of spaces."""
    children = [_child(child, "a Tuple") for child in spaces]
    budget.spend(SPACE_BYTES, "a Tuple")
    return gym.spaces.Tuple(children)


def build_dict(
    pairs: Iterable[tuple[Any, Any]], budget: Budget, *, is_flexible: bool = False
) -> AnySpace:
    """A Dict, or a FlexDict, of spaces in the order given."""
    ordered: dict[Any, AnySpace] = {}
    check = KeyGuard(budget).check
    for key, child in pairs:
        if not isinstance(key, (str, int, float, tuple, frozenset)):
            raise corrupt("a Dict space has an unusable key", expected="text", found=key)
        try:
            is_new = check(key) not in ordered
        except CorruptCheckpointError:
            raise corrupt("a Dict space has an unusable key", found=key) from None
        if not is_new:
            raise corrupt("a Dict space has a key twice", found=key)
        ordered[key] = _child(child, "a Dict")
    budget.spend(SPACE_BYTES, "a Dict")
    pairs = [*ordered.items()]  # gymnasium 1.0 sorts an OrderedDict, but never pairs
    return FlexDict(pairs) if is_flexible else gym.spaces.Dict(pairs)


def build_one_of(spaces: Sequence[Any], budget: Budget) -> AnySpace:
    """A OneOf of spaces."""
    children = [_child(child, "a OneOf") for child in spaces]
    one_of: Any = getattr(gym.spaces, "OneOf", None)
    if one_of is None or not children:
        raise corrupt("a OneOf space cannot be made", expected="gymnasium >= 1.0 and some spaces")
    budget.spend(SPACE_BYTES, "a OneOf")
    return cast("AnySpace", one_of(children))


def build_sequence(child: Callable[[], Any], stack: Any, budget: Budget) -> AnySpace:
    """A Sequence; `child` builds its feature space."""
    if not isinstance(stack, (bool, np.bool_)):
        raise corrupt("a Sequence does not say if it stacks", expected="true or false", found=stack)
    with _copied(budget, "a Sequence", is_copied=bool(stack)):
        space = _child(child(), "a Sequence")
    if stack:
        _check_copying(space)
    return _made(lambda: gym.spaces.Sequence(space, stack=bool(stack)))


def build_graph(node: Callable[[], Any], edge: Callable[[], Any], budget: Budget) -> AnySpace:
    """A Graph; `node` and `edge` build its spaces, the latter may give None."""
    with _copied(budget, "a Graph", is_copied=True):
        nodes, edges = _child(node(), "a Graph"), edge()
    _check_copying(nodes)
    if edges is not None:
        _check_copying(_child(edges, "a Graph"))
    return _made(lambda: gym.spaces.Graph(nodes, edges))


def build_simplex(
    shape: tuple[int, ...], concentration: Any, dtype: np.dtype[Any], budget: Budget
) -> AnySpace:
    """A Simplex with these Dirichlet parameters, or ones if None."""
    if not shape or dtype.kind != "f":
        raise corrupt("a Simplex needs an axis and a float dtype", found=(shape, str(dtype)))
    budget.spend(SPACE_BYTES + 8 * shape[-1], "a Simplex")
    if concentration is not None:
        _same_shape("concentration", concentration, shape[-1:])
        if concentration.dtype.kind not in "iuf" or not bool((concentration > 0).all()):
            raise corrupt("a Simplex has no valid concentration", expected="positive numbers")
    return Simplex(shape, concentration, dtype)


def build_repeated(child: Any, max_len: Any, budget: Budget) -> AnySpace:
    """A Repeated of up to `max_len` children."""
    longest = checked_int(max_len, "the length of a Repeated")
    if not 0 <= longest < 2**63:
        raise corrupt("a Repeated has no valid length", expected=">= 0", found=longest)
    budget.spend(SPACE_BYTES, "a Repeated")
    return Repeated(_child(child, "a Repeated"), longest)


@contextmanager
def _copied(budget: Budget, what: str, *, is_copied: bool) -> Iterator[None]:
    """Charge again for what is built inside: gymnasium keeps a batched copy of it."""
    before = budget.left
    yield
    budget.spend(SPACE_BYTES + (_COPY_COST * (before - budget.left) if is_copied else 0), what)


def _check_copying(space: AnySpace) -> None:
    if _copying_levels(space) >= _MAX_COPYING:
        # Each such level holds its child twice: 64 of them would be 2**64 spaces.
        raise LimitExceededError(
            "stacked Sequences and Graphs lie inside each other too often",
            expected=f"at most {_MAX_COPYING} levels",
        )


def _copying_levels(space: Any) -> int:
    kind = kind_of(space)
    copies = kind == "Graph" or (kind == "Sequence" and space.stack)
    return int(copies) + max(map(_copying_levels, _parts(space)), default=0)


def _child(space: Any, what: str) -> AnySpace:
    if not isinstance(space, gym.Space):
        raise corrupt(f"{what} holds something that is no space", found=type(space).__name__)
    return space


def _same_shape(what: str, array: Any, shape: tuple[int, ...]) -> None:
    found = array.shape if isinstance(array, np.ndarray) else type(array).__name__
    if found != shape:
        raise corrupt(f"{what} does not fit its space", expected=f"shape {shape}", found=found)


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


def _made(make: Callable[[], AnySpace]) -> AnySpace:
    """What `make` constructs; a refusal of gymnasium becomes a CorruptCheckpointError."""
    try:
        return make()
    except (ValueError, TypeError, AssertionError, OverflowError) as error:
        raise corrupt("gymnasium refuses a space", found=str(error)) from error


def charge_tree(space: AnySpace, budget: Budget) -> None:
    """Charge for a space whose parts were built elsewhere, shared parts as often as they appear.

    A pickle can put one child into a Tuple twice, that Tuple into another twice, and so on: few
    objects, and 2**60 leaves for whoever walks them.
    """
    budget.spend(SPACE_BYTES * _tree_size(space, {}, budget), "a space")


def _tree_size(space: Any, known: dict[int, int], budget: Budget) -> int:
    if id(space) not in known:
        with budget.level("a space"):
            known[id(space)] = 1 + sum(_tree_size(child, known, budget) for child in _parts(space))
    return known[id(space)]


def _parts(space: Any) -> list[AnySpace]:
    """All spaces right below a space, whatever they are there for."""
    below = [child for _, child in children_of(space)]
    below += list(space.spaces) if kind_of(space) == "OneOf" else []
    names = ("feature_space", "node_space", "edge_space", "child_space", "original_space")
    below += [vars(space)[name] for name in names if isinstance(vars(space).get(name), gym.Space)]
    return below
