"""Dense layers as they act for many steps: one call for a product, none for a module around it.

Calling torch modules one inside the other takes longer than what they compute for a few rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from ...core.columns import Columns
from .encoders import TorchMLPEncoder
from .layers import TorchFreeLogStdMLPHead, TorchMLP, TorchMLPHead

Layers = Sequence[tuple[nn.Linear, Any]]
"""Linear layers, each with the class of its activation; None for none."""

_ACTIVATIONS: Final[Mapping[Any, Callable[[Tensor], Tensor]]] = {
    nn.Tanh: torch.tanh,
    nn.ReLU: torch.relu,
}

_HOOKS: Final = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


class DensePass:
    """From observations to the inputs of a policy's distribution, without gradients.

    Args:
        layers: The encoder's and the head's.
        head: The head.
    """

    def __init__(self, layers: Layers, head: Any) -> None:
        self._layers = [
            (layer.weight, layer.bias, None if kind is None else _ACTIVATIONS[kind])
            for layer, kind in layers
        ]
        self._log_std = head.log_std if type(head) is TorchFreeLogStdMLPHead else None
        self._bound = float(head.log_std_clip_param_const) if head.clip_log_std else None

    @classmethod
    def of(cls, encoder: Any, head: Any) -> DensePass | None:
        """That of two networks; None where they are not as they come, or somebody watches them."""
        if type(encoder) is not TorchMLPEncoder or not is_unwatched(encoder, "_forward"):
            return None
        if type(head) not in (TorchMLPHead, TorchFreeLogStdMLPHead):
            return None
        if not is_unwatched(head, "_forward", "_bounded"):
            return None
        layers, of_head = layers_of(encoder.net), layers_of(head.net)
        return None if layers is None or of_head is None else cls([*layers, *of_head], head)

    def __call__(self, batch: Mapping[str, Any], **kwargs: Any) -> dict[str, Any]:
        """Return the outputs of the networks for a batch, bit-identical to torch's."""
        x = batch[Columns.OBS]
        for weight, bias, activate in self._layers:
            x = linear(x, weight, bias)
            if activate is not None:
                x = activate(x)
        if self._log_std is not None:
            x = torch.cat((x, self._log_std.expand_as(x)), dim=-1)
        if self._bound is not None:
            half = x.shape[-1] // 2
            x.narrow(-1, half, half).clamp_(-self._bound, self._bound)
        return {Columns.ACTION_DIST_INPUTS: x}


def layers_of(net: Any) -> Layers | None:
    """The layers of a `TorchMLP`; None where others are among them, or somebody watches them."""
    if type(net) is not TorchMLP or not is_unwatched(net):
        return None
    return layers_in(net.mlp)


def layers_in(stack: Any) -> Layers | None:
    """The layers of a sequence; None where others are among them, or somebody watches them."""
    if type(stack) is not nn.Sequential or not is_unwatched(stack):
        return None
    layers: list[tuple[nn.Linear, Any]] = []
    for layer in stack:
        if not is_unwatched(layer):
            return None
        if type(layer) is nn.Linear:
            layers.append((layer, None))
        elif type(layer) in _ACTIVATIONS and layers and layers[-1][1] is None:
            layers[-1] = layers[-1][0], type(layer)
        else:
            return None
    return layers or None


def is_unwatched(module: nn.Module, *methods: str) -> bool:
    """Return True if a module has no hooks and no overridden `forward` or other `methods`."""
    own = vars(module)
    has_own = any(name in own for name in ("forward", *methods))
    return not has_own and not any(own[name] for name in _HOOKS)
