"""Several columns into one vector of features, each through an encoder of its own."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from ...core.columns import Columns
from .layers import get_activation_fn, initialized
from .network_configs import MultiStreamEncoderConfig
from .networks import ENCODER_OUT, Encoder
from .torch_model import TorchModel


class TorchMultiStreamEncoder(TorchModel, Encoder):
    """One encoder per column; each joining layer sees the joined features again.

    Args:
        config: A `MultiStreamEncoderConfig`.
    """

    def __init__(self, config: MultiStreamEncoderConfig) -> None:
        super().__init__(config)
        streams = sorted(config.base_encoder_configs.items())  # features lie in order of name
        self.base_encoders = nn.ModuleDict(
            {name: stream.build(framework="torch") for name, stream in streams}
        )
        joined = width = config.joined_dim
        layers = []
        for size in config.hidden_layer_dims:
            layers.append(_linear(config, "hidden", width, int(size)))
            width = int(size) + joined
        self.fusion_layers = nn.ModuleList(layers)
        self.output_layer: nn.Module | None = None
        if config.output_layer_dim is not None:
            self.output_layer = _linear(config, "output", width, int(config.output_layer_dim))
        self._activation = _activation(config.hidden_layer_activation)
        self._output_activation = _activation(config.output_layer_activation)

    def _forward(self, inputs: Any, **kwargs: Any) -> dict[str, Any]:
        features = [
            encoder({**inputs, Columns.OBS: inputs[name]})[ENCODER_OUT]
            for name, encoder in self.base_encoders.items()
        ]
        joined = x = torch.cat(features, dim=-1)
        for layer in self.fusion_layers:
            x = torch.cat((self._activation(layer(x)), joined), dim=-1)
        if self.output_layer is not None:
            x = self._output_activation(self.output_layer(x))
        return {ENCODER_OUT: x}


def _linear(config: MultiStreamEncoderConfig, place: str, width: int, size: int) -> nn.Module:
    settings = vars(config)
    layer = nn.Linear(width, size, bias=settings[f"{place}_layer_use_bias"])
    fill = ("weights_initializer", "weights_initializer_config")
    parts = (*fill, *(name.replace("weights", "bias") for name in fill))
    return initialized(layer, *(settings[f"{place}_layer_{part}"] for part in parts))


def _activation(name: Any) -> Any:
    kind = get_activation_fn(name)
    return nn.Identity() if kind is None else kind()
