"""The base of every torch network, and copies of networks that follow them slowly."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from .network_configs import ModelConfig
from .networks import Model


class TorchModel(nn.Module, Model):
    """A network that computes in `_forward`; calling it does."""

    def __init__(self, config: ModelConfig, *args: Any, **kwargs: Any) -> None:
        nn.Module.__init__(self)
        Model.__init__(self, config)

    def forward(self, inputs: Any, **kwargs: Any) -> Any:
        """Compute the outputs."""
        return self._forward(inputs, **kwargs)

    def get_num_parameters(self) -> tuple[int, int]:
        """Count numbers that are trained, and numbers that are not."""
        fixed, trained = parameter_counts(self)
        return trained, fixed


def parameter_counts(module: nn.Module) -> tuple[int, int]:
    """Count numbers that are not trained, and numbers that are."""
    counts = [0, 0]
    for param in module.parameters():
        counts[param.requires_grad] += param.numel()
    return counts[0], counts[1]


def make_target_network(main_net: nn.Module) -> nn.Module:
    """Copy a network; the copy takes no part in training.

    Example:
        >>> copied = make_target_network(nn.Linear(2, 3))
        >>> copied.weight.requires_grad
        False
    """
    target = copy.deepcopy(main_net)
    return target.requires_grad_(False)


@torch.no_grad()
def update_target_network(*, main_net: nn.Module, target_net: nn.Module, tau: float) -> None:
    """Move a copy towards its network: `tau` 1.0 makes them equal, 0.0 changes nothing."""
    TargetCopies([(main_net, target_net)]).move(tau)


class TargetCopies:
    """Networks and their copies, tensor by tensor."""

    def __init__(self, pairs: Sequence[tuple[nn.Module, nn.Module]]) -> None:
        self._moved: tuple[list[Tensor], list[Tensor]] = ([], [])
        self._equal: list[tuple[Tensor, Tensor]] = []
        for main_net, target_net in pairs:
            current = main_net.state_dict(keep_vars=True)
            for name, value in target_net.state_dict(keep_vars=True).items():
                if value.is_floating_point() and value.dtype == current[name].dtype:
                    self._moved[0].append(value)
                    self._moved[1].append(current[name])
                else:
                    self._equal.append((value, current[name]))

    def move(self, tau: float) -> None:
        """Move the copies by `tau` of the way to the networks; integers become equal."""
        with torch.no_grad():
            if self._moved[0]:
                torch._foreach_lerp_(*self._moved, tau)
            for value, current in self._equal:
                if value.is_floating_point():
                    value.lerp_(current.to(value.dtype), tau)
                else:
                    value.copy_(current)
