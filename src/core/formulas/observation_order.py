"""In which order the parts of a nested observation are laid out.

RLlib has two orders. The old stack follows the space for Dict spaces, but pairs by position: a
plain dict is sorted by key first, an OrderedDict is taken as it comes. Policies were trained on
that, so it is kept; where RLlib fails, values go by key. The new stack sorts keys.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np
from gymnasium import spaces

from ..errors import SpaceError
from ..types import Nest
from .actions import is_composite_space
from .leaf_encoders import FlatEncoder, LeafEncoder, OneHotEncoder

Pick: TypeAlias = Callable[[Nest], Sequence[Any]]
"""Lists the values of an observation, one per encoder."""

Parts: TypeAlias = tuple[Sequence[spaces.Space[Any]], Callable[[Nest], Sequence[Any]]]
"""The parts of a space, and what takes an observation apart into theirs."""

Split: TypeAlias = Callable[[Sequence[Nest]], list[Sequence[Any]]]
"""Lists the values of many observations, one list per encoder."""


def tuple_values(space: spaces.Tuple[Any]) -> Callable[[Nest], Sequence[Any]]:
    """A function that splits observations of a Tuple space, and refuses other lengths."""
    count = len(space)

    def values_of(value: Nest) -> Sequence[Any]:
        if len(value) != count:
            raise SpaceError(
                "an observation has another number of parts",
                expected=str(space),
                found=f"{len(value)} parts",
            )
        return list(value)

    return values_of


def paired_parts(space: spaces.Dict) -> Parts:
    """The parts of a Dict space, and what takes an observation apart in the old stack's order."""
    keys = list(space.spaces)
    forms = {key: _form(part) for key, part in space.spaces.items()}

    def pairing(order: Sequence[Any]) -> Sequence[Any]:
        # By position a value may meet another part of the space than its own. RLlib can live with
        # that only where the two are of one form; where it fails, values go by key.
        pairs = zip(keys, order, strict=True)
        return order if all(forms[key] == forms[other] for key, other in pairs) else keys

    usual = pairing(sorted_keys(space))

    def values_of(value: Nest) -> Sequence[Any]:
        try:
            if len(value) != len(keys):
                raise KeyError
            order = pairing(list(value)) if isinstance(value, OrderedDict) else usual
            return [value[key] for key in order]
        except (KeyError, TypeError, IndexError):
            raise keys_differ(space, value) from None

    return [*space.spaces.values()], values_of


def _form(space: spaces.Space[Any]) -> Any:
    if isinstance(space, spaces.Dict):
        return {key: _form(part) for key, part in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return [_form(part) for part in space.spaces]
    sizes = np.ravel(getattr(space, "nvec", getattr(space, "n", 0))).tolist()
    return type(space), space.shape, sizes


def sorted_keys(space: spaces.Dict) -> list[Any]:
    """The keys of a Dict space in the new stack's order."""
    try:
        return sorted(space.spaces)
    except TypeError:  # Keys of different types have no order but their own.
        return list(space.spaces)


def _flat_keys(space: spaces.Dict, removed: Collection[str]) -> list[Any]:
    """The keys whose values have numbers to lay out; where there are none, they may be missing."""
    keys = [key for key in sorted_keys(space) if key not in removed]
    return [key for key in keys if 0 not in (space[key].shape or ())]


def keys_differ(space: spaces.Dict, value: Nest) -> SpaceError:
    """The error for an observation without the keys of its space."""
    keys = sorted(map(str, value)) if isinstance(value, Mapping) else type(value).__name__
    return SpaceError(
        "an observation has other keys than its space",
        expected=str(sorted(map(str, space.spaces))),
        found=str(keys),
    )


def leaves_of(
    space: spaces.Space[Any],
    encoder_of: Callable[[Any], LeafEncoder],
    dict_parts: Callable[[spaces.Dict], Parts],
) -> tuple[tuple[LeafEncoder, ...], Pick]:
    """The encoders of a space's leaves, and what lists the values of an observation for them.

    `dict_parts` gives the parts of a Dict space in their order, and what takes their values.
    """
    if isinstance(space, spaces.Dict):
        parts, values_of = dict_parts(space)
    elif isinstance(space, spaces.Tuple):
        parts, values_of = space.spaces, tuple_values(space)
    else:
        return (encoder_of(space),), lambda value: [value]
    children = [leaves_of(part, encoder_of, dict_parts) for part in parts]
    encoders = tuple(encoder for child, _ in children for encoder in child)
    if not any(map(is_composite_space, parts)):
        return encoders, values_of
    # A leaf is used directly: calling a function for each would double the time.
    pairs = zip(parts, children, strict=True)
    picks = [pick if is_composite_space(part) else None for part, (_, pick) in pairs]

    def pick_leaves(value: Nest) -> list[Any]:
        leaves: list[Any] = []
        for pick, part in zip(picks, values_of(value), strict=True):
            if pick is None:
                leaves.append(part)
            else:
                leaves += pick(part)
        return leaves

    return encoders, pick_leaves


def sorted_parts(space: spaces.Dict, removed: Collection[str] = ()) -> Parts:
    """The parts of a Dict space that have numbers, in the new stack's order."""
    keys = _flat_keys(space, removed)

    def values_of(value: Nest) -> list[Any]:
        try:
            return [value[key] for key in keys]
        except (KeyError, TypeError, IndexError):
            raise keys_differ(space, value) from None

    return [space[key] for key in keys], values_of


def sorted_encoder(space: Any) -> LeafEncoder:
    """The encoder of a leaf in the new stack."""
    if isinstance(space, (spaces.Discrete, spaces.MultiDiscrete)):
        return OneHotEncoder.of(space, wraps=True)
    if space.shape is None or not np.issubdtype(space.dtype or np.object_, np.number):
        raise SpaceError("this space cannot be flattened", found=str(space))
    return FlatEncoder(space.shape)


def sorted_split(space: spaces.Space[Any], removed: frozenset[str] = frozenset()) -> Split:
    """A function that lists the values of observations by leaf, in the order of `sorted_parts`.

    Top-level keys that are `removed` are left out.
    """
    children: list[tuple[Any, spaces.Space[Any]]]
    if isinstance(space, spaces.Dict):
        children = [(key, space[key]) for key in _flat_keys(space, removed)]
    elif isinstance(space, spaces.Tuple):
        children = list(enumerate(space.spaces))
    else:
        return lambda values: [values]
    parts = [
        (itemgetter(key), sorted_split(child) if is_composite_space(child) else None)
        for key, child in children
    ]
    count = len(space) if isinstance(space, spaces.Tuple) else None

    def split(values: Sequence[Nest]) -> list[Sequence[Any]]:
        if count is not None and {*map(len, values)} != {count}:
            raise SpaceError("observations have other numbers of parts", expected=str(space))
        columns: list[Sequence[Any]] = []
        for part, further in parts:
            first_parts = [*map(part, values)]
            if further is None:
                columns.append(first_parts)
            else:
                columns += further(first_parts)
        return columns

    return split
