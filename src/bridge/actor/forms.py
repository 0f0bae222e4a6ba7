"""What was given to an actor: one observation, or a batch of them, as arrays with a row each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from ...core import array_namespace as xp
from ...core import nest
from ...core.arrays.batching import batch
from ...core.errors import SpaceError
from ...core.types import Nest


class ObservationForm:
    """How observations of one space look, alone and in batches.

    If it `is_exact`, they have the shape of the space; otherwise, where something unknown changes
    them before anybody looks, only as many axes.

    Example:
        >>> form = ObservationForm(spaces.Box(-1, 1, (2,)))
        >>> form.rows(np.zeros(2))[1], form.rows(np.zeros((5, 2)))[1]
        (True, False)
    """

    def __init__(self, space: spaces.Space[Any], *, is_exact: bool = True) -> None:
        self.space = space
        self._is_exact = is_exact
        self.shape = space.shape if _is_plain(space) else None
        self._dtype = space.dtype

    def rows(self, obs: Nest) -> tuple[Nest, bool]:
        """Observations with a leading axis, and whether there was none."""
        if self.shape is not None:
            if type(obs) is not np.ndarray and not xp.is_tensor(obs):
                obs = self._listed(obs)
            shape = obs.shape
            if shape == self.shape:
                return obs[None], True
            if shape[1:] == self.shape and len(shape) == len(self.shape) + 1:
                return obs, False
            if not self._is_exact and 0 <= len(shape) - len(self.shape) <= 1:
                is_one = len(shape) == len(self.shape)
                return (obs[None], True) if is_one else (obs, False)
            raise self._misfit(f"shape {tuple(shape)}")
        if isinstance(obs, list):
            return batch(obs), False
        if isinstance(self.space, spaces.Dict) and not isinstance(obs, Mapping):
            raise self._misfit(type(obs).__name__)
        path, leaf_space = _first_leaf(self.space)
        try:
            arrays = _arrays(obs, self.space)
            leaf = arrays
            for key in path:
                leaf = leaf[key]
        except (KeyError, IndexError, TypeError, ValueError):
            raise self._misfit(f"no entry {list(path)}") from None
        is_one = np.ndim(leaf) == len(leaf_space.shape or ())
        if is_one:
            arrays = nest.map_structure(lambda part: part[None], arrays)
        return arrays, is_one

    def fits(self, obs: Any) -> bool:
        """Whether a dict of observations is one of this space, rather than one an agent."""
        return isinstance(self.space, spaces.Dict) and set(obs) == set(self.space.spaces)

    def _listed(self, obs: Any) -> Any:
        if isinstance(obs, (list, tuple)) and obs and xp.is_tensor(obs[0]):
            return xp.namespace(obs[0]).stack(list(obs))
        try:
            numbers = np.asarray(obs)
        except ValueError:
            raise self._misfit("a ragged list") from None
        if numbers.dtype.kind not in "biufc":
            raise self._misfit(f"{type(obs).__name__} of {numbers.dtype}")
        return numbers.astype(self._dtype) if isinstance(obs, list) else numbers

    def _misfit(self, found: str) -> SpaceError:
        return SpaceError(
            "this observation is not of the actor's space",
            expected=f"{self.space}, or a batch of such",
            found=found,
            hint="adapt(policy, env=...) lets a policy act in another environment.",
        )


def _is_plain(space: Any) -> bool:
    return isinstance(
        space, (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)
    )


def _arrays(obs: Any, space: Any) -> Nest:
    """An observation built like a space, whose leaves are arrays; lists of numbers are, too."""
    if isinstance(space, spaces.Dict):
        return {key: _arrays(obs[key], part) for key, part in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(_arrays(obs[at], part) for at, part in enumerate(space.spaces))
    if _is_plain(space) and not isinstance(obs, (np.ndarray, Mapping)) and not xp.is_tensor(obs):
        return np.asarray(obs, space.dtype if isinstance(obs, (list, tuple)) else None)
    return nest.map_structure(xp.as_array, obs)


def _first_leaf(space: Any) -> tuple[tuple[Any, ...], Any]:
    if isinstance(space, spaces.Dict):
        key = next(iter(space.spaces))
        path, leaf = _first_leaf(space.spaces[key])
        return (key, *path), leaf
    if isinstance(space, spaces.Tuple):
        path, leaf = _first_leaf(space.spaces[0])
        return (0, *path), leaf
    return (), space
