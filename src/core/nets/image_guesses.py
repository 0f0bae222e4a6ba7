"""Strides and paddings that lead an image to as many numbers as the layer behind takes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from .description import Layer, Network
from .units import Unit

Shape = tuple[int, ...]

_KEPT: Final = 6
"""So many ways to the same shape are followed."""
_USUAL: Final[Mapping[int, tuple[int, ...]]] = {
    **{1: (1,), 2: (1, 2), 3: (1, 2), 8: (4, 2)},
    **dict.fromkeys((4, 5, 6, 7), (2, 1)),
}
"""Strides by a kernel's side, the usual one first."""


@dataclass(frozen=True)
class Way:
    """One way through convolutions: settings of each where they are not the default, and its cost.

    `pools` says whether a pool of two follows each; `shape` is that of the output, with its
    channels where the units want them. `cost` is how unusual it is.
    """

    settings: tuple[Mapping[str, Any], ...]
    pools: tuple[bool, ...]
    shape: Shape
    cost: float


def ways_through(units: Sequence[Unit], shape: Shape, wanted: set[int]) -> list[Way]:
    """Ways whose result has one of the wanted numbers, the most usual first.

    Channels are where the units want them; without `wanted` any number will do.

    Example:
        >>> unit = Unit("convolution", "conv", 3, 8, (), 0, (3, 3))
        >>> way = ways_through([unit], (3, 9, 9), {128})[0]
        >>> way.settings, way.shape
        (({'stride': 2},), (8, 4, 4))
    """
    is_last = units[0].is_keras
    sides = shape[:-1] if is_last else shape[1:]
    reached: dict[Shape, list[Way]] = {sides: [Way((), (), sides, 0.0)]}
    for unit in units:
        after: dict[Shape, list[Way]] = {}
        for ways in reached.values():
            for way in ways:
                for step in _steps(unit, way):
                    after.setdefault(step.shape, []).append(step)
        reached = {
            place: sorted(ways, key=lambda way: way.cost)[:_KEPT] for place, ways in after.items()
        }
    outs = units[-1].outs
    ways_on = []
    for place, ways in reached.items():
        whole = (*place, outs) if is_last else (outs, *place)
        if not wanted or math.prod(whole) in wanted or outs in wanted:
            ways_on += [Way(way.settings, way.pools, whole, way.cost) for way in ways]
    return sorted(ways_on, key=lambda way: (way.cost, -math.prod(way.shape)))[:24]


def _steps(unit: Unit, way: Way) -> Iterator[Way]:
    modes = {str(each.get("padding", 0)) for each in way.settings}
    for stride, stride_cost in _strides(unit):
        for padding, padding_cost in _paddings(unit):
            sides = _after(way.shape, unit.sides, stride, padding)
            if sides is None:
                continue
            settings = {"stride": stride} if stride != 1 else {}
            settings |= {"padding": padding} if padding else {}
            cost = way.cost + stride_cost + padding_cost
            if way.settings and not unit.padding and str(padding) not in modes:
                cost += 0.5  # most networks use the same padding in all layers
            yield Way((*way.settings, settings), (*way.pools, False), sides, cost)
            if stride == 1 and min(sides) > 1:
                pooled = tuple(side // 2 for side in sides)
                extra = 0.2 if any(way.pools) else 1.5
                yield Way((*way.settings, settings), (*way.pools, True), pooled, cost + extra)


def _strides(unit: Unit) -> list[tuple[int, float]]:
    side = max(unit.sides)
    usual = _USUAL.get(side, (1, 2) if side < 12 else (1, 4))
    rest = [stride for stride in (1, 2, 3, 4) if stride not in usual and stride <= side]
    return [(s, 0.3 * i) for i, s in enumerate(usual)] + [
        (s, 1.5 + 0.3 * i) for i, s in enumerate(rest)
    ]


def _paddings(unit: Unit) -> list[tuple[Any, float]]:
    if unit.padding:
        return [("same" if unit.padding == "same" else 0, 0.0)]
    side = max(unit.sides)
    paddings: list[tuple[Any, float]] = [(0, 0.0)]
    if side > 1:
        paddings.append(("same", 0.4 if unit.is_keras else 0.9))
    if not unit.is_keras:
        paddings += [(pad, 0.6 if 2 * pad + 1 == side else 1.4) for pad in (1, 2) if pad < side]
    return paddings


def _after(sides: Shape, kernel: Shape, stride: int, padding: Any) -> Shape | None:
    sizes = []
    for size, side in zip(sides, kernel, strict=True):
        if padding == "same":
            sizes.append(-(-size // stride))
            continue
        room = size + 2 * padding - side
        if room < 0:
            return None
        sizes.append(room // stride + 1)
    return tuple(sizes)


def other_scale(network: Network) -> Network:
    """A network over images with its pixels divided by 255; one that divides them, without."""
    divided = next((layer for layer in network.layers if layer.kind == "divide"), None)
    if divided is not None:
        source = {divided.name: divided.inputs[0]}
        layers = [
            replace(layer, inputs=tuple(source.get(name, name) for name in layer.inputs))
            for layer in network.layers
            if layer is not divided
        ]
        return replace(network, layers=tuple(layers))
    first = next(i for i, layer in enumerate(network.layers) if layer.kind == "convolution")
    layer = network.layers[first]
    scale = Layer("divide", 255.0, f"{layer.name}_scaled", layer.inputs)
    behind = replace(layer, inputs=(scale.name,))
    before, after = network.layers[:first], network.layers[first + 1 :]
    return replace(network, layers=(*before, scale, behind, *after))
