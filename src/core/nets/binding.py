"""Check a description against weights and inputs: shapes fit, and each weight has its place."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Final

import numpy as np

from ..errors import ConfigError, SpaceError, WeightsError
from ..limits.asking import BYTES_BESIDE_WEIGHTS, TIMES_THE_WEIGHTS
from ..text.near_names import did_you_mean
from .description import Layer, Network, is_input, sources
from .layer_shapes import LAYER_SHAPES, Shape, misfit

_ROW_BYTES: Final = 4
_RECURRENT: Final = {"lstm": 2, "gru": 1}


@dataclass(frozen=True)
class Step:
    """One layer of a description, ready to be computed.

    It has the names of its inputs, the shape of its output without the batch, names of its weights
    by part, all settings in one form, and the place of its first state; -1 without one.
    """

    layer: Layer
    inputs: tuple[str, ...]
    shape: Shape
    weights: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    state: int = -1


@dataclass(frozen=True)
class BoundNetwork:
    """A network whose layers fit one another, its weights and its inputs.

    Shapes of inputs and states are without the batch. `used` names the weights it computes with,
    `shapes` has those of all weights, unused ones too.
    """

    network: Network
    steps: tuple[Step, ...]
    inputs: Mapping[str, Shape]
    states: tuple[Shape, ...]
    used: frozenset[str]
    shapes: Mapping[str, Shape]

    @property
    def has_images(self) -> bool:
        """True if it has convolutions, which torch computes faster."""
        return any(step.layer.kind == "convolution" for step in self.steps)

    def described(self) -> Network:
        """The description with the shapes of all weights, enough to build it again."""
        return Network(
            self.network.layers, self.network.outputs, self.network.unused, dict(self.shapes)
        )


def bind(
    network: Network,
    shapes: Mapping[str, Sequence[int]],
    inputs: Mapping[str, Sequence[int]],
    outputs: Mapping[str, int] | None = None,
) -> BoundNetwork:
    """Check a description against the shapes of weights, inputs and outputs.

    Shapes are by name, those of inputs without the batch; `outputs` says how many numbers each must
    have.

    Raises:
        WeightsError: A weight is not there, has no place, or does not fit its layer.
        SpaceError: What it sees or gives does not fit the spaces.
        ConfigError: A setting cannot be.
    """
    weight_shapes = {
        name: shape if type(shape) is tuple else tuple(int(size) for size in shape)
        for name, shape in shapes.items()
    }
    binder = _Binder(weight_shapes, {name: tuple(shape) for name, shape in inputs.items()})
    for layer in network.layers:
        binder.add(layer)
    unused = [
        name
        for name in weight_shapes
        if name not in binder.used and not _is_unused(name, network.unused)
    ]
    if unused:
        raise WeightsError(
            f"the network has no place for {len(unused)} of the weights",
            expected="each in a layer, or listed in `unused`",
            found=", ".join(f"{name} {weight_shapes[name]}" for name in unused[:12])
            + (" ..." if len(unused) > 12 else ""),
            hint="list what inference does not need: unused = ["
            + ", ".join([f'"{name}"' for name in unused[:8]] + ["..."] * (len(unused) > 8))
            + "].",
            unexpected=unused,
        )
    _check_patterns(network.unused, weight_shapes, binder.used)
    for output, name in network.outputs.items():
        size = math.prod(binder.known[name])
        expected_size = 1 if output == "value" else (outputs or {}).get(output, size)
        if size != expected_size or (output != "value" and len(binder.known[name]) != 1):
            raise SpaceError(
                f"the output {output!r} of the network, its layer {name!r},"
                + (" has another size than the actions need" if output != "value" else ""),
                expected=f"{expected_size} numbers",
                found=f"shape {binder.known[name]}",
                layer=name,
            )
    steps, states, used = tuple(binder.steps), tuple(binder.states), frozenset(binder.used)
    read = {name: binder.inputs[name] for name in network.inputs}
    return BoundNetwork(network, steps, read, states, used, weight_shapes)


class _Binder:
    def __init__(self, shapes: Mapping[str, Shape], inputs: Mapping[str, Shape]) -> None:
        self.shapes = shapes
        self.inputs = inputs
        self.known: dict[str, Shape] = {}
        self.used: set[str] = set()
        self.steps: list[Step] = []
        self.states: list[Shape] = []
        numbers = sum(math.prod(shape) for shape in (*shapes.values(), *inputs.values()))
        self.room = TIMES_THE_WEIGHTS * _ROW_BYTES * numbers + BYTES_BESIDE_WEIGHTS

    def add(self, layer: Layer) -> None:
        """Bind one layer to those before it."""
        names = sources(layer)
        input_shapes = [self._shape_of(layer, name) for name in names]
        shape, weights, settings = LAYER_SHAPES[layer.kind](self.shapes, layer, input_shapes)
        size = math.prod(shape)
        if size < 1:
            misfit(layer, "numbers to come out", f"shape {shape} from {input_shapes[0]}")
        self.room -= _ROW_BYTES * size
        if self.room < 0:
            raise ConfigError(
                f"layer {layer.name!r} of the network gives far more than there are weights",
                found=f"shape {shape}",
            )
        state = -1
        if layer.kind in _RECURRENT:
            state = len(self.states)
            cells = settings["cells"]
            self.states += [(cells,)] * (_RECURRENT[layer.kind] * settings["layers"])
        self.used.update(weights.values())
        self.known[layer.name] = shape
        self.steps.append(Step(layer, names, shape, weights, settings, state))

    def _shape_of(self, layer: Layer, name: str) -> Shape:
        if not is_input(name):
            return self.known[name]
        if name not in self.inputs:
            raise SpaceError(
                f"layer {layer.name!r} of the network reads what is not observed",
                expected=f"one of {', '.join(list(self.inputs)[:20])}",
                found=repr(name)[:200],
                hint=did_you_mean(name, self.inputs),
                layer=layer.name,
            )
        return self.inputs[name]


def _is_unused(name: str, patterns: Sequence[str]) -> bool:
    return any(name == pattern or fnmatchcase(name, pattern) for pattern in patterns)


def _check_patterns(patterns: Sequence[str], shapes: Mapping[str, Shape], used: set[str]) -> None:
    for pattern in patterns:
        names = [name for name in shapes if _is_unused(name, (pattern,))]
        matched = [name for name in names if name in used]
        if matched or not names:
            raise WeightsError(
                f"the unused weights {pattern!r} of the network",
                expected="weights that are there and no layer uses",
                found=f"{matched[0]!r} in a layer" if matched else "no weight of that name",
            )


def shapes_of(weights: Mapping[str, Any]) -> dict[str, Shape]:
    """Shapes of arrays by name."""
    return {name: tuple(np.shape(value)) for name, value in weights.items()}
