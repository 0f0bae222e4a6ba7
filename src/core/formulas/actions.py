"""Actions against their space: clip, unsquash from [-1, 1], normalise to it.

One leaf of a space becomes `ActionBounds`, a whole space an `ActionPlan`: compiled once, then one
vectorised expression per leaf and step. Leading axes are free, so the same call serves one action
and a batch; tensors are served too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from .. import array_namespace as xp
from .. import nest
from ..types import Array, Nest


def get_base_struct_from_space(space: Nest) -> Nest:
    """The space as plain dicts and tuples of the spaces that hold no others.

    Example:
        >>> get_base_struct_from_space(spaces.Tuple([spaces.Discrete(2), spaces.Discrete(3)]))
        (Discrete(2), Discrete(3))
    """
    if isinstance(space, (spaces.Dict, Mapping)):
        parts = space.spaces if isinstance(space, spaces.Dict) else space
        return {key: get_base_struct_from_space(part) for key, part in parts.items()}
    if isinstance(space, (spaces.Tuple, tuple, list)):
        return tuple(get_base_struct_from_space(part) for part in space)
    return space


def is_composite_space(space: Any) -> bool:
    """True if a space holds others as its parts: a Dict or a Tuple.

    Example:
        >>> is_composite_space(spaces.Tuple([spaces.Discrete(2)]))
        True
    """
    return isinstance(space, (spaces.Dict, spaces.Tuple))


def flatten_space(space: Any) -> list[Any]:
    """The spaces in a Dict or Tuple that hold no others, in the order of leaves.

    Example:
        >>> flatten_space(spaces.Dict(b=spaces.Discrete(2), a=spaces.Discrete(3)))
        [Discrete(3), Discrete(2)]
    """
    return nest.flatten(get_base_struct_from_space(space)) if is_composite_space(space) else [space]


def get_original_space(space: Any) -> Any:
    """The space that a preprocessed one was made of; itself where there is none."""
    return getattr(space, "original_space", space)


@dataclass(frozen=True, slots=True, eq=False)
class ActionBounds:
    """The bounds of one Box leaf, and what stretching an action over them takes.

    `half` is (high - low) / 2 where [-1, 1] is stretched over the bounds, else None; `one` is 1 in
    the dtype of the space, which numpy takes in faster than a number. With `is_offset`, of integer
    boxes, unsquashing adds the lower bound.
    """

    low: Any
    high: Any
    half: Any
    one: Any
    is_offset: bool

    @classmethod
    def of(cls, space: spaces.Space[Any]) -> ActionBounds | None:
        """The bounds of a Box; None for a leaf that nothing here changes."""
        if not isinstance(space, spaces.Box):
            return None
        is_bounded = bool(np.all(space.bounded_below) and np.all(space.bounded_above))
        # RLlib stretches boxes of these two dtypes only; a float16 box is left alone.
        is_stretched = is_bounded and space.dtype in (np.float32, np.float64)
        with np.errstate(over="ignore"):  # Bounds near the dtype's limits: the clip below holds.
            half = (space.high - space.low) / space.low.dtype.type(2) if is_stretched else None
        is_offset = is_bounded and np.issubdtype(space.dtype or np.float32, np.integer)
        one = np.ones((), space.dtype)
        return cls(space.low, space.high, half, one, is_offset)

    def on(self, device: Any) -> ActionBounds:
        """The same bounds as tensors on `device`."""
        half = None if self.half is None else xp.on_device(self.half, device)
        low, high = xp.on_device(self.low, device), xp.on_device(self.high, device)
        return ActionBounds(low, high, half, self.one, self.is_offset)

    def clip(self, action: Any) -> Any:
        """Cut `action` off at the bounds."""
        return xp.clip(action, self.low, self.high)

    def unsquash(self, action: Any) -> Any:
        """Stretch [-1, 1] over the bounds; shift an integer action to start at the lower one."""
        if self.half is None:
            return xp.constant(self.low, action) + action if self.is_offset else action
        # Clipped after stretching, so an overshoot lands on the bound.
        if isinstance(action, np.ndarray) and action.dtype == self.low.dtype:
            stretched: Any = self.low + (action + self.one) * self.half
            return stretched.clip(self.low, self.high)
        low, half, one = self._constants(action)
        return xp.clip(low + (action + one) * half, self.low, self.high)

    def normalize(self, action: Any) -> Any:
        """Map the bounds to [-1, 1]. Integer and unbounded boxes are unchanged."""
        if self.half is None:
            return action
        low, half, one = self._constants(action)
        return (action - low) / half - one

    def _constants(self, action: Any) -> tuple[Any, Any, Any]:
        # numpy 1.26 makes a single float32 and a number of Python's a float64.
        is_float = isinstance(action, (np.ndarray, np.floating)) and action.dtype.kind == "f"
        one: Any = action.dtype.type(1) if is_float else 1.0
        return xp.constant(self.low, action), xp.constant(self.half, action), one


class ActionPlan:
    """Clip, unsquash and normalise for one action space, compiled once.

    The space may be a struct of spaces, as `get_base_struct_from_space` gives it.

    Example:
        >>> plan = ActionPlan(spaces.Box(0.0, 10.0, (2,)))
        >>> plan.unsquash(np.array([[-1.0, 0.0], [0.5, 7.0]], np.float32))
        array([[ 0. ,  5. ],
               [ 7.5, 10. ]], dtype=float32)
    """

    def __init__(self, space: Nest) -> None:
        self.bounds: Nest = nest.map_structure(ActionBounds.of, get_base_struct_from_space(space))
        self._is_leaf = nest.is_leaf(self.bounds)
        leaves = [leaf for leaf in nest.flatten(self.bounds) if leaf is not None]
        self.clips: bool = bool(leaves)
        """Whether `clip` can change anything."""
        self.unsquashes: bool = any(leaf.is_offset or leaf.half is not None for leaf in leaves)
        """Whether `unsquash` can change anything."""

    def on(self, device: Any) -> ActionPlan:
        """The same plan with its constants as tensors on `device`, for a compiled path."""
        plan = object.__new__(ActionPlan)
        plan.bounds = nest.map_structure(
            lambda leaf: None if leaf is None else leaf.on(device), self.bounds
        )
        plan._is_leaf, plan.clips, plan.unsquashes = self._is_leaf, self.clips, self.unsquashes
        return plan

    def clip(self, action: Nest) -> Nest:
        """Every Box leaf cut off at its bounds."""
        return self._apply(ActionBounds.clip, action) if self.clips else action

    def unsquash(self, action: Nest) -> Nest:
        """Every bounded Box leaf stretched from [-1, 1]; integer boxes shifted."""
        if self._is_leaf and isinstance(action, np.ndarray) and self.unsquashes:
            return self.bounds.unsquash(action)
        return self._apply(ActionBounds.unsquash, action) if self.unsquashes else action

    def normalize(self, action: Nest) -> Nest:
        """Every bounded float Box leaf mapped back to [-1, 1]."""
        return self._apply(ActionBounds.normalize, action) if self.unsquashes else action

    def _apply(self, formula: Any, action: Nest) -> Nest:
        if self._is_leaf:
            is_list = isinstance(action, (list, tuple))
            return formula(self.bounds, np.asarray(action) if is_list else action)
        return nest.map_structure(
            lambda part, bounds: part if bounds is None else formula(bounds, part),
            action,
            self.bounds,
        )


def clip_action(action: Nest, action_space: Nest) -> Nest:
    """A new nest with the Box leaves of one action, or a batch, cut off at their bounds."""
    return ActionPlan(action_space).clip(action)


def unsquash_action(action: Nest, action_space_struct: Nest) -> Nest:
    """Stretch the Box leaves of `action` from [-1, 1] over their bounds, then clip.

    Integer boxes get their lower bound added; a box with any unbounded component, and every other
    space, is left alone.
    """
    return ActionPlan(action_space_struct).unsquash(action)


def normalize_action(action: Nest, action_space_struct: Nest) -> Nest:
    """Map the bounded float Box leaves of `action` from their bounds to [-1, 1]."""
    return ActionPlan(action_space_struct).normalize(action)


def flatten_to_single_ndarray(input_: Nest) -> Any:
    """Concatenate all leaves of a nest to one flat array; other values are unchanged.

    Example:
        >>> flatten_to_single_ndarray({"b": 3.0, "a": np.array([1.0, 2.0])})
        array([1., 2., 3.])
    """
    if nest.is_leaf(input_):
        return input_
    leaves: list[Array] = [np.reshape(xp.to_numpy(leaf), -1) for leaf in nest.flatten(input_)]
    return np.concatenate(leaves)
