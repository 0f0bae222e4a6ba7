"""Dense layers of torch modules, forward and backward without autograd.

On a CPU, for small networks, autograd takes longer than the products; on some processors torch's
tanh takes ten times as long as numpy's. The products stay torch's: they keep to its threads, where
those of numpy would wait for each other on a busy machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor, nn
from typing_extensions import Self

from ...core.nets.numpy_layers import ONE, ZERO, Activation, Float32, numpy_serves, relu, tanh
from ..modules.dense_pass import is_unwatched, layers_in
from ..modules.encoders import TorchMLPEncoder
from ..modules.layers import TorchMLP, TorchMLPHead


def _behind_tanh(gradient: Float32, gave: Float32) -> Float32:
    slope = gave * gave
    np.subtract(ONE, slope, out=slope)
    slope *= gradient
    return slope


def _behind_relu(gradient: Float32, gave: Float32) -> Float32:
    behind: Float32 = gradient * (gave > ZERO)
    return behind


_ACTIVATIONS: Final[Mapping[Any, tuple[Activation, Callable[[Float32, Float32], Float32]]]] = {
    nn.Tanh: (tanh, _behind_tanh),
    nn.ReLU: (relu, _behind_relu),
}
"""What changes an array in place, and the gradient before it, given what it gave."""

Room = Callable[[Tensor], Tensor]
"""Gives room for the gradient of a parameter."""


class DenseLayers:
    """Linear layers, each perhaps with a tanh or a ReLU behind it.

    They share the weights of the torch layers; places for numbers and gradients are used again.

    Args:
        layers: The linear ones, each with the class of its activation; None for none.
        room: Gives room for their gradients; None asks for none.

    Attributes:
        inputs: How many features come in.
        gradients: Gradients by parameter, as `backward` wrote them last; of trained layers.

    Example:
        >>> torch_layers = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
        >>> layers = DenseLayers.of(torch_layers)
        >>> out = layers.forward(np.ones((4, 2), np.float32))
        >>> torch_layers(torch.ones(4, 2)).sum().backward()
        >>> _ = layers.backward(np.ones_like(out))
        >>> [torch.allclose(by_hand, param.grad) for param, by_hand in layers.gradients.items()]
        [True, True, True, True]
    """

    def __init__(
        self, layers: Sequence[tuple[nn.Linear, Any]], room: Room | None = torch.empty_like
    ) -> None:
        self.inputs = layers[0][0].in_features
        self.gradients: dict[Tensor, Tensor] = {}
        self._layers = []
        self._places: list[tuple[Tensor, Tensor]] = []
        for linear, kind in layers:
            params = linear.weight, linear.bias
            behind = (None, None) if kind is None else _ACTIVATIONS[kind]
            self._layers.append((*params, *behind))
            if room is not None:
                self._places.append((room(params[0]), room(params[1])))
                self.gradients.update(zip(params, self._places[-1], strict=True))
        self._values: list[Tensor] = []
        self._arrays: list[Float32] = []

    @classmethod
    def of(cls, layers: Any, room: Room | None = torch.empty_like) -> Self | None:
        """The layers of a torch module; None where torch has to compute them, or to be watched."""
        found = layers_in(layers)
        if found is None:
            return None
        params = [param for layer, _ in found for param in (layer.weight, layer.bias)]
        if not all(is_plain(param, room is not None) for param in params):
            return None
        return cls(found, room)

    @classmethod
    def of_mlp(cls, net: Any, room: Room | None = torch.empty_like) -> Self | None:
        """Those of a `TorchMLP`."""
        return cls.of(net.mlp, room) if type(net) is TorchMLP and is_unwatched(net) else None

    @classmethod
    def of_encoder(cls, encoder: Any, room: Room | None = torch.empty_like) -> Self | None:
        """Those of a `TorchMLPEncoder`."""
        if type(encoder) is not TorchMLPEncoder or not is_unwatched(encoder):
            return None
        return cls.of_mlp(encoder.net, room)

    @classmethod
    def of_head(cls, head: Any, room: Room | None = torch.empty_like) -> Self | None:
        """Those of a `TorchMLPHead` that holds nothing in bounds."""
        if type(head) is not TorchMLPHead or not is_unwatched(head) or head.clip_log_std:
            return None
        return cls.of_mlp(head.net, room)

    def serves(self, obs: Tensor) -> bool:
        """Whether it takes such observations, and is quicker with so many than autograd."""
        is_quicker = numpy_serves(len(obs)) or torch.get_num_threads() == 1
        return is_quicker and obs.shape[1] == self.inputs

    def forward(self, x: Float32) -> Float32:
        """What they give for `(B, n)`; the next call writes where this one did."""
        if not self._values or len(x) != len(self._values[0]):
            places = [torch.empty(len(x), len(bias)) for _, bias, *_ in self._layers]
            self._values = [torch.empty(0), *places]
            self._arrays = [place.numpy() for place in self._values]
        self._values[0] = features = torch.from_numpy(x)
        with torch.no_grad():
            for place, (weight, bias, activate, _) in enumerate(self._layers, 1):
                features = torch.addmm(bias, features, weight.t(), out=self._values[place])
                if activate is not None:
                    activate(self._arrays[place])
        return self._arrays[-1]

    def backward(self, gradient: Float32, is_first: bool = True) -> Float32:
        """Write the gradients of weights and biases.

        Args:
            gradient: Of what `forward` gave last, or of its first rows, where others have none.
            is_first: Whether nothing stands before, and the gradient of the input is not needed.

        Returns:
            The gradient of the input, if it is needed.
        """
        rows, values, arrays = len(gradient), self._values, self._arrays
        if rows != len(values[0]):
            values = [each[:rows] for each in values]
            arrays = [each[:rows] for each in arrays]
        with torch.no_grad():
            for place in reversed(range(len(self._layers))):
                weight, _, _, behind = self._layers[place]
                of_weight, of_bias = self._places[place]
                if behind is not None:
                    gradient = behind(gradient, arrays[place + 1])
                of_outputs = torch.from_numpy(gradient)
                torch.mm(of_outputs.t(), values[place], out=of_weight)
                torch.sum(of_outputs, 0, out=of_bias)
                if place or not is_first:
                    gradient = torch.mm(of_outputs, weight).numpy()
        return gradient


def side_by_side(params: Iterable[Tensor]) -> Room:
    """Room for the gradients of all parameters in one tensor, whose norm is known sooner."""
    whole, taken = torch.empty(sum(param.numel() for param in params)), 0

    def room(param: Tensor) -> Tensor:
        nonlocal taken
        start, taken = taken, taken + param.numel()
        return whole[start:taken].view(param.shape)

    return room


def is_plain(param: Any, is_trained: bool = True) -> bool:
    """Whether it is a parameter on the CPU, of single precision, that nobody watches."""
    return (
        type(param) is nn.Parameter
        and param.dtype is torch.float32
        and param.is_cpu
        and param.is_contiguous()
        and param.requires_grad is is_trained
        and not param._backward_hooks
        and not param._post_accumulate_grad_hooks
    )


def has_axes(column: Any, axes: int) -> bool:
    """Whether a column is a tensor of single precision on the CPU, with so many axes."""
    return (
        type(column) is Tensor
        and column.dtype is torch.float32
        and column.is_cpu
        and column.dim() == axes
        and not column.requires_grad
    )
