"""How weights of torch layers are first filled, under RLlib's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import ConfigError


def get_initializer_fn(
    name: str | Callable[..., Any] | None, framework: str = "torch"
) -> Callable[..., Any] | None:
    """The in-place function of `torch.nn.init` that fills a weight; None for torch's default.

    A function itself is given back; the only `framework` is "torch".

    Raises:
        ConfigError: `torch.nn.init` has no such function that works in place.
    """
    if name is None or callable(name):
        return name
    initializer = getattr(nn.init, name, None)
    if callable(initializer) and name.endswith("_") and not name.startswith("_"):
        return initializer  # type: ignore[no-any-return]  # torch.nn.init has nothing else there
    raise ConfigError(
        f"unknown initializer {name!r}",
        expected="a function of torch.nn.init that works in place, such as 'xavier_uniform_'",
    )


def normc_initializer(std: float = 1.0) -> Callable[[Tensor], Any]:
    """Make an initializer that draws normal weights, each output row scaled to norm `std`."""

    def initialize(tensor: Tensor) -> None:
        with torch.no_grad():
            tensor.normal_()
            tensor.mul_(std / tensor.pow(2).sum(1, keepdim=True).sqrt())

    return initialize
