"""Dense layers of torch modules, forward and backward without autograd.

On a CPU, for small networks, autograd takes longer than the products; on some processors torch's
tanh takes ten times as long as numpy's. The products stay torch's: they keep to its threads, where
those of numpy would wait for each other on a busy machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor, nn
from typing_extensions import Self

from ...core.nets.activations import ONE, ZERO, Activation, Float32, relu, tanh


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

_HOOKS: Final = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


class DenseLayers:
    """Linear layers, each perhaps with a tanh or a ReLU behind it.

    They share the weights of the torch layers; places for numbers and gradients are used again.

    Args:
        layers: The linear ones, each with the class of its activation; None for none.

    Example:
        >>> torch_layers = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
        >>> layers = DenseLayers.of(torch_layers)
        >>> out = layers.forward(np.ones((4, 2), np.float32))
        >>> torch_layers(torch.ones(4, 2)).sum().backward()
        >>> _ = layers.backward(np.ones_like(out))
        >>> [torch.allclose(given, param.grad) for param, given in layers.gradients.items()]
        [True, True, True, True]
    """

    def __init__(self, layers: Sequence[tuple[nn.Linear, Any]]) -> None:
        self.inputs = layers[0][0].in_features
        self.gradients: dict[Tensor, Tensor] = {}
        self._layers = []
        for linear, kind in layers:
            weight, bias = linear.weight.detach(), linear.bias.detach()
            of_weight, of_bias = torch.empty_like(weight), torch.empty_like(bias)
            behind = _ACTIVATIONS.get(kind, (None, None))
            self._layers.append((weight, bias, *behind, of_weight, of_bias))
            self.gradients.update({linear.weight: of_weight, linear.bias: of_bias})
        self._values: list[Tensor] = []

    @classmethod
    def of(cls, layers: Any) -> Self | None:
        """The layers of a torch module; None where torch has to compute them, or to be watched."""
        if type(layers) is not nn.Sequential or not is_unwatched(layers):
            return None
        found: list[tuple[nn.Linear, Any]] = []
        for layer in layers:
            if not is_unwatched(layer):
                return None
            if type(layer) is nn.Linear and is_plain(layer.weight) and is_plain(layer.bias):
                found.append((layer, None))
            elif type(layer) in _ACTIVATIONS and found and found[-1][1] is None:
                found[-1] = found[-1][0], type(layer)
            else:
                return None
        return cls(found) if found else None

    def forward(self, x: Float32) -> Float32:
        """What they give for `(B, n)`; the next call writes where this one did."""
        if not self._values or len(x) != len(self._values[0]):
            places = [torch.empty(len(x), len(bias)) for _, bias, *_ in self._layers]
            self._values = [torch.empty(0), *places]
        self._values[0] = given = torch.from_numpy(x)
        for (weight, bias, activate, *_), out in zip(self._layers, self._values[1:], strict=True):
            torch.addmm(bias, given, weight.t(), out=out)
            if activate is not None:
                activate(out.numpy())
            given = out
        return given.numpy()

    def backward(self, gradient: Float32, is_first: bool = True) -> Float32:
        """Write the gradients of weights and biases.

        Args:
            gradient: Of what `forward` gave last.
            is_first: Whether nothing stands before, and the gradient of the input is not needed.

        Returns:
            The gradient of the input, if it is needed.
        """
        for place in reversed(range(len(self._layers))):
            weight, _, _, behind, of_weight, of_bias = self._layers[place]
            if behind is not None:
                gradient = behind(gradient, self._values[place + 1].numpy())
            of_outputs = torch.from_numpy(gradient)
            torch.mm(of_outputs.t(), self._values[place], out=of_weight)
            torch.sum(of_outputs, 0, out=of_bias)
            if place or not is_first:
                gradient = torch.mm(of_outputs, weight).numpy()
        return gradient


def is_unwatched(module: nn.Module) -> bool:
    """Whether nobody hooked into a module, or gave it a `forward` of its own."""
    own = vars(module)
    return "forward" not in own and not any(own[name] for name in _HOOKS)


def is_plain(param: Any) -> bool:
    """Whether it is a trained parameter on the CPU, of single precision, that nobody watches."""
    return (
        type(param) is nn.Parameter
        and param.dtype is torch.float32
        and param.is_cpu
        and param.is_contiguous()
        and param.requires_grad
        and not param._backward_hooks
        and not param._post_accumulate_grad_hooks
    )
