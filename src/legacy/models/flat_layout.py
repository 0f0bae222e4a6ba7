"""Position of each part of a nested observation in its flattened vector.

The preprocessors of the old stack flatten a nested observation to one float vector, depth-first in
the order of the space; the models receive the nest. Supports numpy arrays and torch tensors.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from gymnasium.spaces import Box, Dict, Space, Tuple

from ...core import nest
from ...core.errors import SpaceError
from ...core.nets.observed import encoded_shape


@dataclass(frozen=True)
class RepeatedValues:
    """A batch of variable-length lists, padded to one length.

    Args:
        values: Nest of arrays `(B, max_len, *item)`; repeated values for nested lists.
        lengths: How many items of each list are real, `(B,)`.
        max_len: The length all lists are padded to.

    Example:
        >>> import numpy as np
        >>> lists = RepeatedValues(np.array([[5, 6], [7, 0]]), np.array([2, 1]), max_len=2)
        >>> [[int(item) for item in row] for row in lists.unbatch_all()]
        [[5, 6], [7]]
    """

    values: Any
    lengths: Any
    max_len: int

    def unbatch_all(self) -> list[list[Any]]:
        """One list per row, with as many items as the row really has."""
        return [
            [
                nest.map_structure(lambda part, at=(row, item): _item(part, *at), self.values)
                for item in range(int(self.lengths[row]))
            ]
            for row in range(len(self.lengths))
        ]

    def unbatch_repeat_dim(self) -> Any:
        """The nest with a list of `max_len` batches in place of each array."""
        return nest.map_structure(
            lambda part: [_place(part, item) for item in range(self.max_len)], self.values
        )


def _item(part: Any, row: int, item: int) -> Any:
    if not isinstance(part, RepeatedValues):
        return part[row][item]
    length = int(part.lengths[row][item])
    return [
        nest.map_structure(lambda leaf: leaf[row][item][place], part.values)  # noqa: B023  # called at once
        for place in range(length)
    ]


def _place(part: Any, item: int) -> Any:
    if not isinstance(part, RepeatedValues):
        return part[:, item]
    inner = nest.map_structure(lambda leaf: leaf[:, item], part.values)
    return RepeatedValues(inner, part.lengths[:, item], part.max_len)


@dataclass(frozen=True)
class Segment:
    """One part of the flat vector.

    Args:
        size: Number of values in the part.
        shape: Its shape without batch dimensions; for a container `(size,)`.
        children: Parts of a dict or tuple, in the order they lie in the vector.
        repeated: Layout of one item of a repeated part; `None` for every other kind.
        max_len: Longest list of a repeated part.
    """

    size: int
    shape: tuple[int, ...]
    children: dict[str, Segment] | list[Segment] | None = None
    repeated: Segment | None = None
    max_len: int = 0

    @property
    def is_nested(self) -> bool:
        """Whether restoring gives anything but the vector itself."""
        return self.children is not None or self.repeated is not None


def is_nested(space: Space[Any]) -> bool:
    """Whether a space is a container whose flattened values can be restored."""
    return isinstance(space, (Dict, Tuple)) or hasattr(space, "child_space")


def flat_layout(space: Space[Any], *, dim: int = 84, grayscale: bool = False) -> Segment:
    """Lay out a space the way the old preprocessors flatten it.

    Example:
        >>> from gymnasium.spaces import Discrete
        >>> flat_layout(Dict({"a": Discrete(3), "b": Box(0, 1, (2, 2))})).size
        7
    """
    if isinstance(space, Dict):
        named = {k: flat_layout(s, dim=dim, grayscale=grayscale) for k, s in space.spaces.items()}
        size = sum(part.size for part in named.values())
        return Segment(size, (size,), named)
    if isinstance(space, Tuple):
        parts = [flat_layout(s, dim=dim, grayscale=grayscale) for s in space.spaces]
        size = sum(part.size for part in parts)
        return Segment(size, (size,), parts)
    if hasattr(space, "child_space"):
        child = flat_layout(space.child_space, dim=dim, grayscale=grayscale)
        max_len = int(space.max_len)  # type: ignore[attr-defined]  # duck-typed Repeated space
        size = 1 + max_len * child.size
        return Segment(size, (size,), repeated=child, max_len=max_len)
    shape = leaf_shape(space, dim, grayscale)
    return Segment(prod(shape), shape)


def leaf_shape(space: Space[Any], dim: int, grayscale: bool) -> tuple[int, ...]:
    """Shape of a leaf's values as the old preprocessors leave them."""
    if isinstance(space, Box) and space.shape == (210, 160, 3):
        return (dim, dim, 1 if grayscale else 3)
    return encoded_shape(space)


def restore(flat: Any, layout: Segment) -> Any:
    """Turn flattened observations `(..., size)` back into their nest of `(..., *shape)`.

    Values that are already a dict or a sequence are returned unchanged.

    Raises:
        SpaceError: The last dimension differs from the size of the layout.
    """
    if not layout.is_nested or isinstance(flat, (dict, list, tuple)):
        return flat
    if flat.ndim < 2 or flat.shape[-1] != layout.size:
        raise SpaceError(
            "flattened observations do not fit the original space",
            expected=f"shape (..., {layout.size}) with a batch dimension",
            found=str(tuple(flat.shape)),
        )
    return _restore(flat, layout)


def _restore(flat: Any, part: Segment) -> Any:
    if part.repeated is not None:
        lead = tuple(flat.shape[:-1])
        items = flat[..., 1:].reshape(*lead, part.max_len, part.repeated.size)
        return RepeatedValues(_restore(items, part.repeated), flat[..., 0], part.max_len)
    if part.children is None:
        return flat.reshape(*flat.shape[:-1], *part.shape)
    restored = []
    start = 0
    named = isinstance(part.children, dict)
    children = part.children.values() if isinstance(part.children, dict) else part.children
    for child in children:
        restored.append(_restore(flat[..., start : start + child.size], child))
        start += child.size
    return dict(zip(part.children, restored, strict=True)) if named else restored


def restore_original_dimensions(obs: Any, obs_space: Space[Any], tensorlib: Any = "torch") -> Any:
    """Restore the nest of an observation `(B, size)` that a preprocessor flattened.

    Args:
        obs: Array or tensor; returned unchanged if the space was not nested.
        obs_space: Space of the flattened observations; its `original_space` is the nested space.
        tensorlib: Accepted for compatibility with Ray.

    Example:
        >>> from gymnasium.spaces import Box, Discrete, Tuple
        >>> import numpy as np
        >>> flat = Box(-1, 1, (3,))
        >>> flat.original_space = Tuple([Discrete(2), Box(-1, 1, (1,))])
        >>> restore_original_dimensions(np.array([[0.0, 1.0, 0.5]]), flat)
        [array([[0., 1.]]), array([[0.5]])]
    """
    original = getattr(obs_space, "original_space", None)
    return obs if original is None else restore(obs, flat_layout(original))


def flatten(obs: Any, framework: str = "torch") -> Any:
    """Every item of a batch as one row.

    Args:
        obs: Array or tensor `(B, ...)`.
        framework: Accepted for compatibility with Ray.
    """
    return obs.reshape(obs.shape[0], -1)
