"""The base of every torch network: a `torch.nn.Module` with a config."""

from __future__ import annotations

from typing import Any

from torch import nn

from .network_configs import ModelConfig
from .networks import Model


class TorchModel(nn.Module, Model):
    """A network that computes in `_forward`; calling it does.

    Args:
        config: What it is built from.
    """

    def __init__(self, config: ModelConfig, *args: Any, **kwargs: Any) -> None:
        nn.Module.__init__(self)
        Model.__init__(self, config)

    def forward(self, inputs: Any, **kwargs: Any) -> Any:
        """Compute the outputs."""
        return self._forward(inputs, **kwargs)

    def get_num_parameters(self) -> tuple[int, int]:
        """Count numbers that are trained, and numbers that are not."""
        trained = sum(p.numel() for p in self.parameters() if p.requires_grad)
        return trained, sum(p.numel() for p in self.parameters()) - trained
