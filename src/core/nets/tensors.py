"""A described network as a torch module; its weights keep the names of the file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..errors import PieceError
from .binding import BoundNetwork, Step
from .layer_formulas import FORMULAS, joined

Weights = Mapping[str, Tensor]
Compute = Callable[[Step, Weights, list[Tensor]], Tensor]

_ACTIVATIONS: Final[Mapping[str, Callable[[Tensor], Tensor] | None]] = {
    "elu": functional.elu,
    "exp": torch.exp,
    "gelu": functional.gelu,
    "gelu_tanh": partial(functional.gelu, approximate="tanh"),
    "hardtanh": functional.hardtanh,
    "leaky_relu": functional.leaky_relu,
    "linear": None,
    "log_softmax": partial(functional.log_softmax, dim=-1),
    "mish": functional.mish,
    "relu": functional.relu,
    "relu6": functional.relu6,
    "selu": functional.selu,
    "sigmoid": torch.sigmoid,
    "silu": functional.silu,
    "softmax": partial(functional.softmax, dim=-1),
    "softplus": functional.softplus,
    "softsign": functional.softsign,
    "tanh": torch.tanh,
}


class TensorNetwork(nn.Module):
    """A described network in torch.

    All weights are parameters here, unused ones too, under the names of the file; they are zero
    until they are loaded.

    Example:
        >>> from .binding import bind
        >>> from .description import network_of
        >>> network = network_of({"layers": [{"dense": "out"}], "outputs": {"logits": "out"}})
        >>> shapes = {"out.weight": (2, 3), "out.bias": (2,)}
        >>> list(TensorNetwork(bind(network, shapes, {"obs": (3,)})).state_dict())
        ['out.weight', 'out.bias']
    """

    def __init__(self, bound: BoundNetwork) -> None:
        super().__init__()
        self.bound = bound
        self._places: dict[str, tuple[nn.Module, str]] = {}
        for name, shape in bound.shapes.items():
            self._place(name, nn.Parameter(torch.zeros(shape)))

    def _place(self, name: str, parameter: nn.Parameter) -> None:
        """Register a parameter under a name with dots; as dicts take them, any name does."""
        *path, leaf = name.split(".")
        owner: nn.Module = self
        for part in path:
            inner = owner._modules.get(part)
            if inner is None:
                inner = owner._modules[part] = nn.Module()
            owner = inner
        owner._parameters[leaf] = parameter
        self._places[name] = (owner, leaf)

    def weight(self, name: str) -> Tensor:
        """A weight by its name in the file."""
        owner, leaf = self._places[name]
        parameter = owner._parameters[leaf]
        assert parameter is not None  # placed in the constructor
        return parameter

    def initial_state(self) -> list[Tensor]:
        """The state at an episode's start, without batch; empty if the network has none."""
        device = next((self.weight(name).device for name in self.bound.shapes), None)
        return [torch.zeros(shape, device=device) for shape in self.bound.states]

    def forward(
        self, inputs: Mapping[str, Tensor], state: Sequence[Tensor] = (), sequences: Any = None
    ) -> tuple[dict[str, Tensor], list[Tensor]]:
        """Compute the outputs; arguments and results are those of `ArrayNetwork`, as tensors."""
        if len(state) != len(self.bound.states):
            raise PieceError(
                "this network needs its state",
                expected=f"{len(self.bound.states)} tensors",
                found=str(len(state)),
            )
        values = {name: inputs[name].float() for name in self.bound.inputs}
        rows = next(iter(values.values())).shape[0] if values else 1
        after: list[Tensor] = []
        for step in self.bound.steps:
            parts = [values[name] for name in step.inputs]
            weights = {part: self.weight(name) for part, name in step.weights.items()}
            recur = _RECURRENT.get(step.layer.kind)
            if recur is not None:
                result, last = recur(step, weights, joined(parts), state, sequences or rows)
                after += last
            else:
                result = _LAYERS[step.layer.kind](step, weights, parts)
                if not parts:
                    result = result.expand(rows, *step.shape)
            act = _ACTIVATIONS[step.layer.activation]
            values[step.layer.name] = result if act is None else act(result)
        outputs = {output: values[name] for output, name in self.bound.network.outputs.items()}
        if "value" in outputs:
            outputs["value"] = outputs["value"].reshape(-1)
        return outputs, after


def _activation(step: Step, weights: Weights, inputs: list[Tensor]) -> Tensor:
    act = _ACTIVATIONS[step.layer.value]
    return joined(inputs) if act is None else act(joined(inputs))


def _dense(step: Step, weights: Weights, inputs: list[Tensor]) -> Tensor:
    weight = weights["weight"].T if step.settings["is_turned"] else weights["weight"]
    return functional.linear(joined(inputs), weight, weights.get("bias"))


_CONVOLUTIONS: Final = (functional.conv1d, functional.conv2d, functional.conv3d)
_POOLS: Final[Mapping[str, Sequence[Callable[..., Tensor]]]] = {
    "max": (functional.max_pool1d, functional.max_pool2d, functional.max_pool3d),
    "mean": (functional.avg_pool1d, functional.avg_pool2d, functional.avg_pool3d),
}
"""By how many axes an image has."""


def _convolution(step: Step, weights: Weights, inputs: list[Tensor]) -> Tensor:
    settings, weight = step.settings, weights["weight"]
    if settings["is_keras"]:
        weight = weight.movedim((-1, -2), (0, 1))
    image = _first(joined(inputs), settings["is_last"])
    convolve: Callable[..., Tensor] = _CONVOLUTIONS[len(settings["stride"]) - 1]
    padded, bias = _padded(image, settings["padding"], 0.0), weights.get("bias")
    stride, dilation, groups = (settings[name] for name in ("stride", "dilation", "groups"))
    outputs = convolve(padded, weight, bias, stride, 0, dilation, groups)
    return outputs.movedim(1, -1) if settings["is_last"] else outputs


def _pool(step: Step, weights: Weights, inputs: list[Tensor]) -> Tensor:
    settings, kind = step.settings, step.layer.value
    image = _first(joined(inputs), settings["is_last"])
    lowest = torch.finfo(torch.float32).min
    padded = _padded(image, settings["padding"], lowest if kind == "max" else 0.0)
    pooled = _POOLS[kind][len(settings["sides"]) - 1](padded, settings["sides"], settings["stride"])
    return pooled.movedim(1, -1) if settings["is_last"] else pooled


def _first(image: Tensor, is_last: bool) -> Tensor:
    return image.movedim(-1, 1) if is_last else image


def _padded(image: Tensor, padding: Sequence[tuple[int, int]], filler: float) -> Tensor:
    if not any(map(any, padding)):
        return image
    flat = [size for pair in reversed(padding) for size in pair]
    return functional.pad(image, flat, value=filler)


def _layer_norm(step: Step, weights: Weights, inputs: list[Tensor]) -> Tensor:
    weight, bias = weights["weight"], weights.get("bias")
    epsilon = step.settings["epsilon"]
    return functional.layer_norm(joined(inputs), list(weight.shape), weight, bias, epsilon)


def _squash(step: Step, weights: Weights, inputs: list[Tensor]) -> Tensor:
    bent = torch.sigmoid(2.0 * joined(inputs))
    return weights["action_range"] * bent + weights["low_action"]


Recurred = tuple[Tensor, list[Tensor]]


def _lstm(
    step: Step, weights: Weights, x: Tensor, state: Sequence[Tensor], sequences: int
) -> Recurred:
    after: list[Tensor] = []
    rows, x = x.shape[0], x.reshape(sequences, -1, x.shape[-1])
    for index in range(step.settings["layers"]):
        wide, high, bias = _cell(step, weights, index)
        h, c = state[step.state + 2 * index : step.state + 2 * index + 2]
        from_input, outputs = functional.linear(x, wide, bias), []
        for t in range(x.shape[1]):
            write, keep, new, show = (from_input[:, t] + functional.linear(h, high)).chunk(4, -1)
            c = torch.sigmoid(keep) * c + torch.sigmoid(write) * torch.tanh(new)
            h = torch.sigmoid(show) * torch.tanh(c)
            outputs.append(h)
        after += [h, c]
        x = torch.stack(outputs, 1)
    return x.reshape(rows, -1), after


def _gru(
    step: Step, weights: Weights, x: Tensor, state: Sequence[Tensor], sequences: int
) -> Recurred:
    after: list[Tensor] = []
    rows, x = x.shape[0], x.reshape(sequences, -1, x.shape[-1])
    for index in range(step.settings["layers"]):
        wide, high = (weights[f"{part}_l{index}"] for part in ("weight_ih", "weight_hh"))
        first, second = (weights.get(f"{part}_l{index}") for part in ("bias_ih", "bias_hh"))
        h = state[step.state + index]
        from_input, outputs = functional.linear(x, wide, first), []
        for t in range(x.shape[1]):
            a, b, new = from_input[:, t].chunk(3, -1)
            own_a, own_b, own_new = functional.linear(h, high, second).chunk(3, -1)
            fresh = torch.tanh(new + torch.sigmoid(a + own_a) * own_new)
            h = fresh + torch.sigmoid(b + own_b) * (h - fresh)
            outputs.append(h)
        after.append(h)
        x = torch.stack(outputs, 1)
    return x.reshape(rows, -1), after


def _cell(step: Step, weights: Weights, index: int) -> tuple[Tensor, Tensor, Tensor | None]:
    wide, high = (weights[f"{part}_l{index}"] for part in ("weight_ih", "weight_hh"))
    if step.settings["is_turned"]:
        wide, high = wide.T, high.T
    named = (weights.get(f"{part}_l{index}") for part in ("bias_ih", "bias_hh"))
    biases = [bias for bias in named if bias is not None]
    return wide, high, torch.stack(biases).sum(0) if biases else None


_RECURRENT: Final[Mapping[str, Callable[..., Recurred]]] = {"gru": _gru, "lstm": _lstm}
_LAYERS: Final[Mapping[str, Compute]] = {
    **FORMULAS,
    "activation": _activation,
    "convolution": _convolution,
    "dense": _dense,
    "layer_norm": _layer_norm,
    "pool": _pool,
    "squash": _squash,
}
