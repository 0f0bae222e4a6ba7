"""A network that sees parts of an observation, over the whole observation as one vector."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from .description import Layer, Network
from .observed import Part, Shape


def over_vector(network: Network, parts: Mapping[str, Part], shape: Shape) -> Network:
    """A network that takes its parts out of the whole observation itself."""
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
