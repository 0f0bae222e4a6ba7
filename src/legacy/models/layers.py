"""The small layers every old-stack network is made of; their parameter names are Ray's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ...core.errors import ConfigError
from ...core.formulas.convolutions import pair, same_padding, valid_padding
from ...core.formulas.initializers import get_initializer_fn, normc_initializer
from .defaults import LEARNED_SWISH

__all__ = [
    "AppendBiasLayer",
    "Reshape",
    "SlimConv2d",
    "SlimFC",
    "activation",
    "dense_stack",
    "get_activation_fn",
    "get_initializer_fn",
    "normc_initializer",
    "pair",
    "same_padding",
    "valid_padding",
]

Initializer = Callable[[Tensor], Any]


class LearnedSwish(nn.Module):
    """`x * sigmoid(beta * x)`, with `beta` under Ray's name for it.

    Example:
        >>> layer = LearnedSwish()
        >>> layer.load_state_dict({"_beta": torch.tensor(0.0)})
        <All keys matched successfully>
        >>> layer(torch.tensor([2.0])).tolist()
        [1.0]
    """

    def __init__(self) -> None:
        super().__init__()
        self._beta = nn.Parameter(torch.tensor(1.0))

    def forward(self, x: Tensor) -> Tensor:
        """Map each number by itself."""
        return x * torch.sigmoid(self._beta * x)


_ACTIVATIONS: dict[str, type[nn.Module]] = {
    "relu": nn.ReLU,
    "tanh": nn.Tanh,
    "swish": nn.SiLU,
    "silu": nn.SiLU,
    "elu": nn.ELU,
    LEARNED_SWISH: LearnedSwish,
}


def activation(name: str | Callable[[], nn.Module] | None) -> Callable[[], nn.Module] | None:
    """Look up what makes an activation layer; `None` means the layer stays linear.

    Args:
        name: `relu`, `tanh`, `swish`, `silu`, `elu` or `linear` in any case, a class name of
            `torch.nn` in its own case, a factory, or `None`.

    Raises:
        ConfigError: No such activation.
    """
    if name is None or callable(name):
        return name
    lower = name.lower() if isinstance(name, str) else ""
    if lower == "linear":
        return None
    if lower in _ACTIVATIONS:
        return _ACTIVATIONS[lower]
    torch_class = getattr(nn.modules.activation, name, None) if isinstance(name, str) else None
    # That module's namespace holds more than activations: only what is defined there counts.
    if getattr(torch_class, "__module__", "") == nn.modules.activation.__name__:
        make: Callable[[], nn.Module] | None = torch_class
        return make
    raise ConfigError(
        "unknown activation",
        expected=f"one of {', '.join(sorted(_ACTIVATIONS))}, linear or a torch.nn class name",
        found=repr(name),
    )


class SlimFC(nn.Module):
    """A dense layer and its activation.

    Args:
        in_size: Features in.
        out_size: Features out.
        initializer: Fills the weight; default Xavier uniform.
        activation_fn: Name or factory of the activation; `None` for none.
        use_bias: Whether the layer adds a bias.
        bias_init: What the bias starts as.
    """

    def __init__(
        self,
        in_size: int,
        out_size: int,
        initializer: Initializer | None = None,
        activation_fn: str | Callable[[], nn.Module] | None = None,
        use_bias: bool = True,
        bias_init: float = 0.0,
    ) -> None:
        super().__init__()
        linear = nn.Linear(in_size, out_size, bias=use_bias)
        (initializer or nn.init.xavier_uniform_)(linear.weight)
        if use_bias:
            nn.init.constant_(linear.bias, bias_init)
        make = activation(activation_fn)
        self._model = nn.Sequential(linear) if make is None else nn.Sequential(linear, make())

    def forward(self, x: Tensor) -> Tensor:
        """Map `(..., in_size)` to `(..., out_size)`."""
        out: Tensor = self._model(x)
        return out


def dense_stack(width: int, sizes: Sequence[int], act: Any) -> nn.Sequential:
    """Dense layers one after the other, all with the same activation."""
    pairs = zip([width, *sizes], sizes, strict=False)
    init = normc_initializer(1.0)
    return nn.Sequential(*(SlimFC(i, o, init, activation_fn=act) for i, o in pairs))


class SlimConv2d(nn.Module):
    """A convolution with TensorFlow-style padding, and its activation.

    Args:
        in_channels: Channels in.
        out_channels: Channels out.
        kernel: Side, or (height, width).
        stride: Step, or (vertical, horizontal).
        padding: Columns left, right, rows above, below; `None` for none. A padding of all zeros
            still takes a place in the parameter names.
        initializer: Fills the weight; `"default"` for Xavier uniform.
        activation_fn: Name or factory; `"default"` for ReLU, `None` for none.
        bias_init: What the bias starts as.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel: int | Sequence[int],
        stride: int | Sequence[int],
        padding: tuple[int, int, int, int] | None,
        initializer: Initializer | str | None = "default",
        activation_fn: str | Callable[[], nn.Module] | None = "default",
        bias_init: float = 0.0,
    ) -> None:
        super().__init__()
        conv = nn.Conv2d(in_channels, out_channels, pair(kernel), pair(stride))
        if initializer is not None:
            (nn.init.xavier_uniform_ if isinstance(initializer, str) else initializer)(conv.weight)
        nn.init.constant_(conv.bias, bias_init)  # type: ignore[arg-type]  # bias=True by default
        layers: list[nn.Module] = [nn.ZeroPad2d(padding)] if padding else []
        layers.append(conv)
        make = nn.ReLU if activation_fn == "default" else activation(activation_fn)
        if make is not None:
            layers.append(make())
        self._model = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        """Map `(B, in_channels, H, W)` to `(B, out_channels, H', W')`."""
        out: Tensor = self._model(x)
        return out


@dataclass(frozen=True)
class LayersByUse:
    """The layers of a network by what they are for.

    Args:
        trunk: What comes first.
        output: Gives the outputs; None where the trunk does.
        value: Gives the value.
        critic: What comes before the value; None where that is the trunk.
        log_std: Free log deviations, if there are any.
    """

    trunk: nn.Sequential
    output: nn.Module | None
    value: nn.Module
    critic: nn.Sequential | None = None
    log_std: nn.Parameter | None = None


class AppendBiasLayer(nn.Module):
    """Append the same free parameters to every row: the state-independent log deviations.

    Args:
        num_bias_vars: How many to append.
    """

    def __init__(self, num_bias_vars: int) -> None:
        super().__init__()
        self.log_std = nn.Parameter(torch.zeros(num_bias_vars))

    def forward(self, x: Tensor) -> Tensor:
        """Map `(B, n)` to `(B, n + num_bias_vars)`."""
        return torch.cat([x, self.log_std.expand(x.shape[0], -1)], dim=1)


def get_activation_fn(
    name: str | Callable[[], nn.Module] | None = None, framework: str = "torch"
) -> Callable[[], nn.Module] | None:
    """Look up an activation layer by name; see `activation`.

    Args:
        name: Its name, a factory, or None.
        framework: Only "torch" is supported.

    Example:
        >>> get_activation_fn("swish").__name__
        'SiLU'
    """
    return activation(name)


class Reshape(nn.Module):
    """A layer that gives its input another shape.

    Args:
        shape: The new shape, batch axis included; -1 for what follows from the others.
    """

    def __init__(self, shape: Sequence[int]) -> None:
        super().__init__()
        self.shape = tuple(shape)

    def forward(self, x: Tensor) -> Tensor:
        """Map a tensor to the new shape."""
        return x.reshape(self.shape)
