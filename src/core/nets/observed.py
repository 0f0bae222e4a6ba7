"""Inputs of a described network by name: a policy's observations and their entries.

Supports numpy and torch. Discrete values are one-hot, as in the preprocessors of the old stack. A
nested observation is also available as one vector, in the order of its space, and its entries as
`obs.key`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete, Space, Tuple

from .. import array_namespace as xp
from ..errors import SpaceError
from .description import Layer, Network

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Part:
    """An entry of an observation: its offset in the vector, its size and its shape."""

    start: int
    size: int
    shape: Shape


def encoded_shape(space: Space[Any]) -> Shape:
    """Shape of a leaf's values as networks see them, choices one-hot.

    Raises:
        SpaceError: Its values have no one shape.
    """
    if isinstance(space, Discrete):
        return (int(space.n),)
    if isinstance(space, MultiDiscrete):
        return (int(space.nvec.sum()),)
    if space.shape is None:
        raise SpaceError("a part of the observation space has no shape", found=repr(space)[:200])
    return tuple(space.shape)


def observed_parts(
    space: Space[Any], leaf_shape: Callable[[Space[Any]], Shape] = encoded_shape
) -> dict[str, Part]:
    """Return the position of an observation and of its entries.

    `leaf_shape` returns the shape of a leaf's values as inputs of the network.

    Example:
        >>> parts = observed_parts(Dict(mask=Box(0, 1, (2,)), own=Discrete(3)))
        >>> [(name, part.start, part.shape) for name, part in parts.items()]
        [('obs', 0, (5,)), ('obs.mask', 0, (2,)), ('obs.own', 2, (3,))]
    """
    return dict(_parts("obs", space, 0, leaf_shape))


def _parts(
    name: str, space: Space[Any], start: int, leaf_shape: Callable[[Space[Any]], Shape]
) -> Iterator[tuple[str, Part]]:
    children = _children(space)
    if children is None:
        shape = leaf_shape(space)
        yield name, Part(start, math.prod(shape), shape)
        return
    inner: list[tuple[str, Part]] = []
    end = start
    for key, child in children.items():
        parts = list(_parts(f"{name}.{key}", child, end, leaf_shape))
        inner += parts
        end += parts[0][1].size
    yield name, Part(start, end - start, (end - start,))
    yield from inner


def _children(space: Space[Any]) -> Mapping[Any, Space[Any]] | None:
    if isinstance(space, Dict):
        return space.spaces
    return dict(enumerate(space.spaces)) if isinstance(space, Tuple) else None


def split_vector(vector: Any, parts: Mapping[str, Part], names: Any) -> dict[str, Any]:
    """The named parts of whole observations `(B, n)`, each `(B, *shape)`."""
    arrays = {}
    rows, size = vector.shape
    for name in names:
        if name in parts:
            part = parts[name]
            end = part.start + part.size
            columns = vector if part.size == size else vector[:, part.start : end]
            arrays[name] = columns.reshape(rows, *part.shape)
    return arrays


def whole_vector(value: Any, space: Space[Any]) -> Any:
    """A batch of values of a space as vectors `(B, n)`, choices one-hot."""
    columns = [_encoded(leaf, leaf_space) for leaf, leaf_space in _leaves(value, space)]
    return columns[0] if len(columns) == 1 else xp.concatenate(columns, -1)


def _leaves(value: Any, space: Space[Any]) -> Iterator[tuple[Any, Space[Any]]]:
    children = _children(space)
    if children is None:
        yield value, space
        return
    for key, child in children.items():
        yield from _leaves(value[key], child)


def _encoded(value: Any, space: Space[Any]) -> Any:
    if isinstance(space, Box) or not isinstance(space, (Discrete, MultiDiscrete)):
        return xp.cast(value.reshape(value.shape[0], -1), np.float32)
    counts = [int(space.n)] if isinstance(space, Discrete) else np.ravel(space.nvec).tolist()
    columns = value.reshape(value.shape[0], len(counts), 1)
    rows = [
        xp.cast(columns[:, i] == xp.constant(np.arange(count), columns), np.float32)
        for i, count in enumerate(counts)
    ]
    return xp.concatenate(rows, -1)


def over_vector(network: Network, parts: Mapping[str, Part], shape: Shape) -> Network:
    """Return a network that slices its inputs from the complete observation vector."""
    taken_names = {layer.name for layer in network.layers}
    names: dict[str, str] = {}
    added: list[Layer] = []
    for name in network.inputs:
        part = parts[name]
        if part.shape == shape:
            continue
        if part.size != math.prod(shape):
            cut = _free_name(f"{name.replace('.', '_')}_cut", taken_names)
            added.append(Layer("slice", [part.start, part.start + part.size], cut, ("obs",)))
            names[name] = cut
        if len(part.shape) != 1:
            source = names.get(name, "obs")
            names[name] = _free_name(f"{name.replace('.', '_')}_shaped", taken_names)
            added.append(Layer("reshape", list(part.shape), names[name], (source,)))
        names.setdefault(name, "obs")

    def renamed(value: Any) -> Any:
        return names.get(value, value) if isinstance(value, str) else list(map(renamed, value))

    layers = [
        replace(
            layer,
            inputs=tuple(names.get(each, each) for each in layer.inputs),
            value=renamed(layer.value) if layer.kind in _READERS else layer.value,
        )
        for layer in network.layers
    ]
    return replace(network, layers=(*added, *layers))


_READERS: Final = ("add", "dueling", "mask", "multiply")


def _free_name(name: str, taken_names: set[str]) -> str:
    while name in taken_names:
        name += "_"
    taken_names.add(name)
    return name
