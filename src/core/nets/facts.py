"""Facts about a policy that help to guess its network: weights, spaces, settings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from gymnasium.spaces import Box, Discrete, MultiDiscrete, Space

from ..algorithms import acts_by_values
from ..spaces.walk import leaf_spaces
from .observed import Part, encoded_shape, observed_parts

Shape = tuple[int, ...]

_MOST_COMPARED: Final = 1 << 22


@dataclass(frozen=True)
class Facts:
    """Facts about a policy that help to guess its network.

    `shapes` are those of the weights in the order of the file, `same` names weights that repeat
    others. `inputs` and `parts` describe observations, empty where spaces are lost; `sizes` is how
    many outputs the actions may need, the likeliest first; `action_width` the numbers of an encoded
    action.
    """

    shapes: Mapping[str, Shape]
    inputs: Mapping[str, Shape] = field(default_factory=dict)
    sizes: tuple[int, ...] = ()
    is_q: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)
    action_width: int = 0
    same: Mapping[str, str] = field(default_factory=dict)
    parts: dict[str, Part] = field(default_factory=dict)
    is_bytes: bool = False


def facts_of(
    weights: Mapping[str, Any],
    observation_space: Space[Any] | None,
    action_space: Space[Any] | None,
    settings: Mapping[str, Any],
    *,
    algorithm: str = "",
) -> Facts:
    """Collect the facts of a policy or module; its spaces may be lost."""
    parts: dict[str, Part] = {}
    if observation_space is not None:
        parts = observed_parts(observation_space, _seen_shape(settings))
    inputs = {name: part.shape for name, part in parts.items()}
    width, wide = (0, 0) if action_space is None else _action_sizes(action_space)
    is_q = acts_by_values(algorithm)
    sizes = () if action_space is None else (width,) if is_q else (wide, width)
    shapes = {name: tuple(np.shape(array)) for name, array in weights.items()}
    same, is_bytes = _repeated(weights), _has_bytes(observation_space)
    unique_sizes = tuple(dict.fromkeys(sizes))
    return Facts(shapes, inputs, unique_sizes, is_q, settings, width, same, parts, is_bytes)


def _repeated(weights: Mapping[str, Any]) -> dict[str, str]:
    """Names of arrays that are the same as one before: a layer kept under two names."""
    firsts: dict[tuple[Any, ...], str] = {}
    copies: dict[str, str] = {}
    for name, array in weights.items():
        numbers = np.asarray(array)
        is_matrix = numbers.ndim > 1 and 1 < numbers.size <= _MOST_COMPARED
        if not is_matrix or (numbers == numbers.flat[0]).all():
            continue
        first = firsts.setdefault((numbers.shape, numbers.tobytes()), name)
        if first != name:
            copies[name] = first
            copies.update(_beside(name, first, weights))
    return copies


def _beside(name: str, first: str, weights: Mapping[str, Any]) -> dict[str, str]:
    """The other weights of a repeated layer."""
    stem, other = name.rpartition(".")[0], first.rpartition(".")[0]
    copies = [copy_name for copy_name in weights if copy_name.startswith(f"{stem}.")]
    pairs = {copy_name: other + copy_name.removeprefix(stem) for copy_name in copies}
    return {
        copy_name: first_name
        for copy_name, first_name in pairs.items()
        if first_name in weights.keys() - {copy_name}
        and np.array_equal(weights[copy_name], weights[first_name])
    }


def _seen_shape(settings: Mapping[str, Any]) -> Any:
    """Shapes of leaves as the old stack's preprocessors leave them."""
    dim, is_gray = settings.get("dim") or 84, bool(settings.get("grayscale"))

    def shape(space: Space[Any]) -> Shape:
        if isinstance(space, Box) and space.shape == (210, 160, 3) and isinstance(dim, int):
            return (dim, dim, 1 if is_gray else 3)
        return encoded_shape(space)

    return shape


def _action_sizes(space: Space[Any]) -> tuple[int, int]:
    """Numbers of an encoded action, and inputs of its default distribution."""
    width = wide = 0
    for _, leaf in leaf_spaces(space):
        size = math.prod(encoded_shape(leaf))
        width += size
        wide += size if isinstance(leaf, (Discrete, MultiDiscrete)) else 2 * size
    return width, wide


def _has_bytes(space: Space[Any] | None) -> bool:
    leaves = [] if space is None else [leaf for _, leaf in leaf_spaces(space)]
    return any(
        isinstance(leaf, Box) and leaf.dtype == np.uint8 and len(leaf.shape) == 3 for leaf in leaves
    )
