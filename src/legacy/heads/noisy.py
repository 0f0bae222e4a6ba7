"""The noisy dense layer of Rainbow."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from ...core.errors import ConfigError
from ..models.layers import activation

NOISE_KINDS = ("mean", "ray")


class NoisyLayer(nn.Module):
    """A dense layer with learnt noise on weights and bias.

    Weights are stored (in, out) under the names `w`, `b`, `sigma_w`, `sigma_b`.

    Args:
        in_size: Features in.
        out_size: Features out.
        sigma0: What the bias noise starts from.
        activation: Name or factory of the activation; None for none.

    `noise` decides what a forward pass does: "mean" (default) leaves the noise out; "ray" draws
    it anew each time, with or without exploration, as Ray does, from torch's global generator.
    """

    def __init__(
        self,
        in_size: int,
        out_size: int,
        sigma0: float,
        activation: str | Callable[[], nn.Module] | None = "relu",
    ) -> None:
        super().__init__()
        self.in_size, self.out_size, self.sigma0 = in_size, out_size, sigma0
        self.noise = "mean"
        bound = 1.0 / math.sqrt(in_size)
        start = 6.0 / math.sqrt(in_size + out_size)
        self.sigma_w = nn.Parameter(torch.empty(in_size, out_size).uniform_(-bound, bound))
        self.sigma_b = nn.Parameter(torch.full((out_size,), sigma0 * bound))
        self.w = nn.Parameter(torch.full((in_size, out_size), start))
        self.b = nn.Parameter(torch.zeros(out_size))
        self.activation = _made(activation)

    def forward(self, inputs: Tensor) -> Tensor:
        """Map `(B, in_size)` to `(B, out_size)`."""
        weight: Tensor = self.w
        bias: Tensor = self.b
        if self.noise == "ray":
            rows, columns = _factor(self.in_size, inputs), _factor(self.out_size, inputs)
            weight = weight + self.sigma_w * (rows[:, None] * columns)
            bias = bias + self.sigma_b * columns
        out = inputs @ weight + bias
        return out if self.activation is None else self.activation(out)


def set_noise(model: nn.Module, noise: str) -> None:
    """Decide for every noisy layer of a network what its noise does; see `NoisyLayer`."""
    if noise not in NOISE_KINDS:
        raise ConfigError(
            "unknown way to treat noisy layers",
            expected=" or ".join(map(repr, NOISE_KINDS)),
            found=repr(noise),
        )
    for layer in model.modules():
        if isinstance(layer, NoisyLayer):
            layer.noise = noise


def _made(name: str | Callable[[], nn.Module] | None) -> nn.Module | None:
    make = activation(name)
    return None if make is None else make()


def _factor(size: int, like: Tensor) -> Tensor:
    # Drawn on the CPU whatever the device, and input side first: the order Ray draws in.
    drawn = torch.normal(torch.zeros(size), torch.ones(size)).to(like.device)
    return drawn.sign() * drawn.abs().sqrt()
