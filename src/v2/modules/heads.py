"""From features to outputs: dense layers, with care for the deviations of continuous actions."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import torch
from torch import Tensor, nn

from .layers import TorchMLP
from .network_configs import FreeLogStdMLPHeadConfig, MLPHeadConfig, _MLPConfig
from .torch_model import TorchModel


def mlp_from(config: _MLPConfig, output_dim: int | None = None) -> TorchMLP:
    """The dense layers a config describes, perhaps with another output width."""
    names = {field.name for field in fields(_MLPConfig)}
    settings: dict[str, Any] = {
        name.replace("output_layer_", "output_"): value
        for name, value in vars(config).items()
        if name in names and name.startswith(("hidden_layer_", "output_layer_"))
    }
    if output_dim is not None:
        settings["output_dim"] = output_dim
    return TorchMLP(input_dim=int((config.input_dims or (0,))[0]), **settings)


class TorchMLPHead(TorchModel):
    """Dense layers; with `clip_log_std` the second half of the outputs is held in bounds.

    Args:
        config: An `MLPHeadConfig`.
    """

    log_std_clip_param_const: Tensor

    def __init__(self, config: MLPHeadConfig) -> None:
        super().__init__(config)
        self.net = mlp_from(config)
        self.clip_log_std = config.clip_log_std
        _register_bound(self, config)

    def _forward(self, inputs: Tensor, **kwargs: Any) -> Tensor:
        out: Tensor = self.net(inputs)
        if not self.clip_log_std:
            return out
        means, log_stds = out.chunk(2, dim=-1)
        return torch.cat((means, _bounded(log_stds, self.log_std_clip_param_const)), dim=-1)


class TorchFreeLogStdMLPHead(TorchModel):
    """Dense layers for means, and a parameter per action for the logarithm of its deviation.

    Args:
        config: A `FreeLogStdMLPHeadConfig`.
    """

    log_std_clip_param_const: Tensor

    def __init__(self, config: FreeLogStdMLPHeadConfig) -> None:
        super().__init__(config)
        half = config.output_dims[0] // 2
        self.net = mlp_from(config, None if config.output_layer_dim is None else half)
        self.log_std = nn.Parameter(torch.zeros(half))
        self.clip_log_std = config.clip_log_std
        _register_bound(self, config)

    def _forward(self, inputs: Tensor, **kwargs: Any) -> Tensor:
        means: Tensor = self.net(inputs)
        log_stds: Tensor = self.log_std
        if self.clip_log_std:
            log_stds = _bounded(log_stds, self.log_std_clip_param_const)
        return torch.cat((means, log_stds.expand_as(means)), dim=-1)


def _register_bound(head: nn.Module, config: _MLPConfig) -> None:
    head.register_buffer(
        "log_std_clip_param_const", torch.tensor([float(config.log_std_clip_param)])
    )


def _bounded(log_stds: Tensor, bound: Tensor) -> Tensor:
    return torch.clamp(log_stds, -bound, bound)
