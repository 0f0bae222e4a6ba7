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
from ...core.nets.numpy_columns import numpy_serves
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

_HOOKS: Final = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


class DenseLayers:
    """Linear layers, each perhaps with a tanh or a ReLU behind it.

    They share the weights of the torch layers; places for numbers and gradients are used again.

    Args:
        layers: The linear ones, each with the class of its activation; None for none.
        is_trained: Whether gradients are asked for.

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

    def __init__(self, layers: Sequence[tuple[nn.Linear, Any]], is_trained: bool = True) -> None:
        self.inputs = layers[0][0].in_features
        self.gradients: dict[Tensor, Tensor] = {}
        self._layers = []
        for linear, kind in layers:
            weight, bias = linear.weight, linear.bias
            behind = _ACTIVATIONS.get(kind, (None, None))
            self._layers.append((weight, bias, *behind))
            if is_trained:
                self.gradients.update({each: torch.empty_like(each) for each in (weight, bias)})
        self._values: list[Tensor] = []

    @classmethod
    def of(cls, layers: Any, is_trained: bool = True) -> Self | None:
        """The layers of a torch module; None where torch has to compute them, or to be watched."""
        if type(layers) is not nn.Sequential or not is_unwatched(layers):
            return None
        linear_layers: list[tuple[nn.Linear, Any]] = []
        for layer in layers:
            if not is_unwatched(layer):
                return None
            if type(layer) is nn.Linear:
                if not all(is_plain(param, is_trained) for param in (layer.weight, layer.bias)):
                    return None
                linear_layers.append((layer, None))
            elif type(layer) in _ACTIVATIONS and linear_layers and linear_layers[-1][1] is None:
                linear_layers[-1] = linear_layers[-1][0], type(layer)
            else:
                return None
        return cls(linear_layers, is_trained) if linear_layers else None

    @classmethod
    def of_mlp(cls, net: Any, is_trained: bool = True) -> Self | None:
        """Those of a `TorchMLP`."""
        return cls.of(net.mlp, is_trained) if type(net) is TorchMLP and is_unwatched(net) else None

    @classmethod
    def of_encoder(cls, encoder: Any, is_trained: bool = True) -> Self | None:
        """Those of a `TorchMLPEncoder`."""
        if type(encoder) is not TorchMLPEncoder or not is_unwatched(encoder):
            return None
        return cls.of_mlp(encoder.net, is_trained)

    @classmethod
    def of_head(cls, head: Any, is_trained: bool = True) -> Self | None:
        """Those of a `TorchMLPHead` that holds nothing in bounds."""
        if type(head) is not TorchMLPHead or not is_unwatched(head) or head.clip_log_std:
            return None
        return cls.of_mlp(head.net, is_trained)

    def serves(self, obs: Tensor) -> bool:
        """Whether it takes such observations, and is quicker with so many than autograd."""
        is_quicker = numpy_serves(len(obs)) or torch.get_num_threads() == 1
        return is_quicker and obs.shape[1] == self.inputs

    def forward(self, x: Float32) -> Float32:
        """What they give for `(B, n)`; the next call writes where this one did."""
        if not self._values or len(x) != len(self._values[0]):
            places = [torch.empty(len(x), len(bias)) for _, bias, *_ in self._layers]
            self._values = [torch.empty(0), *places]
        self._values[0] = features = torch.from_numpy(x)
        with torch.no_grad():
            for (weight, bias, activate, _), out in zip(
                self._layers, self._values[1:], strict=True
            ):
                torch.addmm(bias, features, weight.t(), out=out)
                if activate is not None:
                    activate(out.numpy())
                features = out
        return features.numpy()

    def backward(self, gradient: Float32, is_first: bool = True) -> Float32:
        """Write the gradients of weights and biases.

        Args:
            gradient: Of what `forward` gave last, or of its first rows, where others have none.
            is_first: Whether nothing stands before, and the gradient of the input is not needed.

        Returns:
            The gradient of the input, if it is needed.
        """
        rows = len(gradient)
        with torch.no_grad():
            for place in reversed(range(len(self._layers))):
                weight, bias, _, behind = self._layers[place]
                if behind is not None:
                    gradient = behind(gradient, self._values[place + 1].numpy()[:rows])
                of_outputs = torch.from_numpy(gradient)
                torch.mm(of_outputs.t(), self._values[place][:rows], out=self.gradients[weight])
                torch.sum(of_outputs, 0, out=self.gradients[bias])
                if place or not is_first:
                    gradient = torch.mm(of_outputs, weight).numpy()
        return gradient


def is_unwatched(module: nn.Module, *methods: str) -> bool:
    """Whether nobody hooked into a module, or gave it a `forward` or other methods of its own."""
    own = vars(module)
    has_own = any(name in own for name in ("forward", *methods))
    return not has_own and not any(own[name] for name in _HOOKS)


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
