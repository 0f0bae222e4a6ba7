"""The layers of old networks, read off live models, and where they go in native ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box
from torch import Tensor, nn

from ...legacy.models.attention import AttentionWrapper
from ...legacy.models.fcnet import FullyConnectedNetwork
from ...legacy.models.visionnet import VisionNetwork
from ...legacy.policy.policy import Policy
from .twin import NoTwin

Layer = tuple[Tensor, Tensor]
"""A weight and a bias, zeros where a layer has none."""

_SHORT_NAMES = {"Tanh": "tanh", "ReLU": "relu", "SiLU": "silu", "ELU": "elu"}


@dataclass(frozen=True)
class Stack:
    """Layers with one activation after each.

    Args:
        layers: Weights and biases, in order.
        settings: The corresponding settings of a native model config.
        width: Number of output features.
        image: Channels, height and width of the features before flattening; None for dense layers.
    """

    layers: tuple[Layer, ...]
    settings: dict[str, Any]
    width: int
    image: tuple[int, int, int] | None = None

    def is_like(self, other: Stack) -> bool:
        """Whether the same native network holds either."""
        return self.settings == other.settings


def dense_stack(blocks: Iterable[nn.Module], width: int) -> Stack:
    """Dense layers; where there are none, one that changes nothing."""
    layers: list[Layer] = []
    activations = set()
    for block in blocks:
        linear, name = _linear_of(block)
        layers.append(_with_bias(linear.weight, linear.bias))
        activations.add(name)
    if not layers:
        layers, activations = [identity_layer(width)], {"linear"}
    if len(activations) > 1:
        raise NoTwin(f"its layers have different activations: {', '.join(sorted(activations))}")
    hiddens = [len(weight) for weight, _ in layers]
    settings = {"fcnet_hiddens": hiddens, "fcnet_activation": activations.pop()}
    return Stack(tuple(layers), settings, hiddens[-1])


def image_stack(blocks: Iterable[nn.Module], image: Sequence[int]) -> Stack:
    """Convolutions."""
    layers, filters, activations = [], [], set()
    probe = torch.zeros(1, image[2], image[0], image[1])
    for block in blocks:
        parts = _parts(block)
        is_padded = isinstance(parts[0], nn.ZeroPad2d)
        conv: Any = parts[1 if is_padded else 0]
        layers.append(_with_bias(conv.weight, conv.bias))
        mode = "same" if is_padded else "valid"
        sides = [int(side) for side in conv.kernel_size]
        filters.append([int(conv.out_channels), sides, list(map(int, conv.stride)), mode])
        activations.add(_name_of(parts[2 if is_padded else 1 :]))
        with torch.no_grad():
            probe = block(probe)
    if len(activations) > 1:
        raise NoTwin("its convolutions have different activations")
    settings = {"conv_filters": filters, "conv_activation": activations.pop()}
    cells = (int(probe.shape[1]), int(probe.shape[2]), int(probe.shape[3]))
    return Stack(tuple(layers), settings, prod(cells), cells)


def trunk_stack(model: Any) -> Stack:
    """Return the layers of an old network before its outputs."""
    if isinstance(model, AttentionWrapper):
        raise NoTwin("V2 has no default network with attention")
    if not isinstance(model, (FullyConnectedNetwork, VisionNetwork)):
        raise NoTwin(f"V2 has no default network like {type(model).__name__}")
    return _stack(model, model.layers_by_use().trunk)


def critic_stack(model: Any) -> Stack | None:
    """The value branch's own layers; None where it shares the trunk."""
    critic = model.layers_by_use().critic
    return None if critic is None else _stack(model, critic)


def _stack(model: Any, blocks: nn.Sequential) -> Stack:
    shape = model.obs_space.shape or ()
    if isinstance(model, VisionNetwork):
        return image_stack(_convolutions(blocks), shape)
    return dense_stack(blocks, prod(shape))


def linear_layer(block: nn.Module) -> Layer:
    """The weight and bias of an output layer, be it dense or a convolution of one cell."""
    inner = [part for part in block.modules() if isinstance(part, (nn.Linear, nn.Conv2d))]
    layer: Any = inner[-1]
    return _with_bias(layer.weight.reshape(len(layer.weight), -1), layer.bias)


def _with_bias(weight: Tensor, bias: Tensor | None) -> Layer:
    return weight, torch.zeros(len(weight)) if bias is None else bias


def identity_layer(width: int) -> Layer:
    """A dense layer that changes nothing."""
    return torch.eye(width), torch.zeros(width)


def merged(first: Layer, second: Layer) -> Layer:
    """One layer for two without an activation in between."""
    return second[0] @ first[0], second[0] @ first[1] + second[1]


def seen_by_network(policy: Policy) -> Box:
    """The space of what a native network takes: floats, flat unless they are an image."""
    space = policy.observation_space
    shape = tuple(space.shape or ())
    if len(shape) != 3:
        shape = (prod(shape),)
    if isinstance(space, Box) and space.shape == shape and space.dtype == np.float32:
        return Box(space.low, space.high, shape, np.float32)
    return Box(-np.inf, np.inf, shape, np.float32)


def built(
    kind: Any, policy: Policy, settings: dict[str, Any], *, inference_only: bool = False
) -> Any:
    """A native module of a class over what the policy's network sees."""
    return kind(
        observation_space=seen_by_network(policy),
        action_space=policy.action_space,
        inference_only=inference_only,
        model_config=settings,
    )


def fill(part: nn.Module, layers: Iterable[Layer]) -> None:
    """Put weights into the dense and convolutional layers of a native part, in order.

    Raises:
        NoTwin: There are more or fewer, or they have other shapes.
    """
    native_layers: list[Any] = [
        layer for layer in part.modules() if isinstance(layer, (nn.Linear, nn.Conv2d))
    ]
    old_layers = list(layers)
    if len(native_layers) != len(old_layers):
        raise NoTwin(f"the native network has {len(native_layers)} layers for {len(old_layers)}")
    with torch.no_grad():
        for layer, (weight, bias) in zip(native_layers, old_layers, strict=True):
            if layer.weight.shape != weight.shape:
                raise NoTwin(
                    f"a native layer is {tuple(layer.weight.shape)}, not {tuple(weight.shape)}"
                )
            layer.weight.copy_(weight)
            layer.bias.copy_(bias)


def _convolutions(layers: nn.Sequential) -> list[nn.Module]:
    """The convolutions in front; dense layers after them belong to the head."""
    return [block for block in layers if any(isinstance(x, nn.Conv2d) for x in block.modules())]


def _linear_of(block: Any) -> tuple[nn.Linear, str]:
    linear, *activation = _parts(block)
    return linear, _name_of(activation)


def _parts(block: nn.Module) -> list[Any]:
    """The layers of a block that have no layers in them, in order."""
    return [part for part in block.modules() if not any(True for _ in part.children())]


def _name_of(activation: Sequence[nn.Module]) -> str:
    """An activation as native settings spell it."""
    if not activation:
        return "linear"
    if len(activation) > 1:
        raise NoTwin(f"it has several activations after a layer: {activation!r}")
    kind = type(activation[0])
    try:
        is_plain = repr(kind()) == repr(activation[0])
    except TypeError:
        is_plain = False
    if not is_plain or getattr(nn, kind.__name__, None) is not kind:
        raise NoTwin(f"its activation {activation[0]!r} cannot be named in native settings")
    name: str = kind.__name__
    return _SHORT_NAMES.get(name, name)


def with_rest(stack: Mapping[str, Any], **settings: Any) -> dict[str, Any]:
    """The settings of a module's layers with plain heads."""
    return {
        **stack,
        "head_fcnet_hiddens": [],
        "head_fcnet_activation": "relu",
        "fcnet_use_layernorm": False,
        **settings,
    }
