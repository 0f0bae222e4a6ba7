"""Spaces inside the states and pickles of episodes, written and read once per space.

Thousands of episodes share a handful of spaces, and both directions are slow, so both are
remembered: forth by the identity of the space, back by the text of the data. States hold the dicts
RLlib writes; pickles our own lossless ones, or the space itself if it is a class of the user's.
"""

from __future__ import annotations

import copy
import json
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import gymnasium as gym
import numpy as np

from ...core.errors import SpaceError
from ...core.spaces.own_layout import space_from_data, space_to_data
from ...core.spaces.ray_layouts import gym_space_from_dict, gym_space_to_dict
from ...core.spaces.walk import AnySpace, children_of, kind_of

_MOST_REMEMBERED: Final = 256

REWARD_SPACE: Final = gym.spaces.Box(-np.inf, np.inf, (), np.float32)
"""The space of a reward: any single number."""

_Written: TypeAlias = OrderedDict[int, tuple[weakref.ref[Any], Any]]

_states: Final[_Written] = OrderedDict()
_pickles: Final[_Written] = OrderedDict()
_read: Final[OrderedDict[str, Any]] = OrderedDict()

_PLAIN: Final = frozenset({"Box", "Discrete", "MultiDiscrete", "MultiBinary", "Dict", "Tuple"})
_PLAIN_ATTRIBUTES: Final = frozenset(
    {"_np_random", "_shape", "dtype", "low", "high", "bounded_below", "bounded_above"}
    | {"low_repr", "high_repr", "n", "nvec", "spaces", "sort_keys", "start"}
)


def space_to_state(space: AnySpace | None) -> Any:
    """The space as RLlib writes it; None, and a space RLlib has no form for, as they are."""
    if space is None:
        return None
    entry = _states.get(id(space))
    state = entry[1] if entry and entry[0]() is space else _written(_states, space, _ray_form)
    if not isinstance(state, dict):
        return state
    # All but Dict and Tuple are flat: their values are numbers, strings and tuples.
    return state.copy() if "spaces" not in state else copy.deepcopy(state)


def space_from_state(state: Any) -> AnySpace | None:
    """The space a state holds; equal states give the same object. Spaces pass as they are."""
    if isinstance(state, gym.Space) or not isinstance(state, Mapping):  # A Dict is a mapping too.
        unchanged: AnySpace | None = state
        return unchanged
    text = repr(state)
    space: AnySpace | None = _read.get(text)
    if space is None:
        space = gym_space_from_dict(state)
        # A shortened text, as numpy makes of large arrays, would not tell two spaces apart.
        if "..." not in text:
            _remember(_read, text, space)
    return space


def space_to_pickle(space: AnySpace | None) -> Any:
    """What to pickle for a space: a text that gives it back exactly, else the space itself."""
    return _written(_pickles, space, _own_form)


def space_from_pickle(data: Any) -> AnySpace | None:
    """The space that `space_to_pickle` wrote; equal texts give the same object."""
    if not isinstance(data, str):
        unchanged: AnySpace | None = data
        return unchanged
    space: AnySpace | None = _read.get(data)
    if space is None:
        space = space_from_data(json.loads(data))
        _remember(_read, data, space)
    return space


def _ray_form(space: AnySpace) -> Any:
    try:
        return gym_space_to_dict(space)
    except SpaceError:
        return space


def _own_form(space: AnySpace) -> Any:
    return json.dumps(space_to_data(space)) if _is_plain(space) else space


def _is_plain(space: AnySpace) -> bool:
    """Whether the space is gymnasium's own and holds nothing but what its class does."""
    kind = type(space).__name__
    return (
        kind in _PLAIN
        and kind == kind_of(space)
        and type(space).__module__.startswith("gymnasium.")
        and vars(space).keys() <= _PLAIN_ATTRIBUTES
        and getattr(space, "sort_keys", True)
        and all(_is_plain(child) for _, child in children_of(space))
    )


def _written(table: _Written, space: AnySpace | None, write: Callable[[AnySpace], Any]) -> Any:
    if space is None:
        return None
    entry = table.get(id(space))
    if entry is None or entry[0]() is not space:
        form = write(space)
        if form is space:  # Remembering it would keep it alive.
            return space
        entry = weakref.ref(space), form
        _remember(table, id(space), entry)
    return entry[1]


def _remember(table: OrderedDict[Any, Any], key: Any, value: Any) -> None:
    table[key] = value
    if len(table) > _MOST_REMEMBERED:
        table.popitem(last=False)


_read[repr(space_to_state(REWARD_SPACE))] = REWARD_SPACE
