"""From the observation column to features: dense, convolutional, recurrent."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import torch
from torch import Tensor, nn

from ...core import nest
from ...core.columns import Columns
from ...core.errors import ConfigError, PieceError
from .heads import mlp_from
from .layers import TorchCNN, initialized
from .network_configs import (
    CNNEncoderConfig,
    MLPEncoderConfig,
    ModelConfig,
    RecurrentEncoderConfig,
)
from .networks import ENCODER_OUT, Encoder
from .torch_model import TorchModel


class TorchMLPEncoder(TorchModel, Encoder):
    """Dense layers over flat observations.

    Args:
        config: An `MLPEncoderConfig`.
    """

    def __init__(self, config: MLPEncoderConfig) -> None:
        super().__init__(config)
        self.net = mlp_from(config)

    def _forward(self, inputs: Any, **kwargs: Any) -> dict[str, Any]:
        return {ENCODER_OUT: self.net(inputs[Columns.OBS])}


class TorchCNNEncoder(TorchModel, Encoder):
    """Convolutions over images `(B, height, width, channels)`.

    Args:
        config: A `CNNEncoderConfig`.
    """

    def __init__(self, config: CNNEncoderConfig) -> None:
        super().__init__(config)
        if config.input_dims is None:
            raise ConfigError("a CNNEncoderConfig needs the input_dims of its images")
        known = {field.name for field in fields(CNNEncoderConfig) if field.name.startswith("cnn_")}
        settings = {name: value for name, value in vars(config).items() if name in known}
        layers: list[nn.Module] = [TorchCNN(input_dims=config.input_dims, **settings)]
        if config.flatten_at_end:
            layers.append(nn.Flatten())
        self.net = nn.Sequential(*layers)

    def _forward(self, inputs: Any, **kwargs: Any) -> dict[str, Any]:
        return {ENCODER_OUT: self.net(inputs[Columns.OBS])}


class _RecurrentEncoder(TorchModel, Encoder):
    """What LSTM and GRU share: a tokenizer in front, the batch axis before the layers' axis."""

    config: RecurrentEncoderConfig

    def __init__(self, config: RecurrentEncoderConfig) -> None:
        super().__init__(config)
        tokenizer: ModelConfig | None = config.tokenizer_config
        self.tokenizer = tokenizer.build(framework="torch") if tokenizer is not None else None
        shape = (tokenizer.output_dims if tokenizer is not None else config.input_dims) or (0,)
        if len(shape) != 1:
            raise ConfigError(
                "a recurrent encoder needs flat features", found=f"features of shape {tuple(shape)}"
            )
        self.input_width = int(shape[0])

    def _recurrent(self, kind: type[nn.LSTM] | type[nn.GRU]) -> nn.Module:
        config = self.config
        layer = kind(
            self.input_width,
            config.hidden_dim,
            num_layers=config.num_layers,
            bias=config.use_bias,
            batch_first=config.batch_major,
        )
        return initialized(
            layer,
            config.hidden_weights_initializer,
            config.hidden_weights_initializer_config,
            config.hidden_bias_initializer,
            config.hidden_bias_initializer_config,
        )

    def _zeros(self) -> Tensor:
        return torch.zeros(self.config.num_layers, self.config.hidden_dim)

    def _features(self, inputs: Any) -> Tensor:
        """Features `(B, T, n)` of observations `(B, T, ...)`."""
        if Columns.STATE_IN not in inputs:
            raise PieceError(
                "a recurrent encoder got a batch without state_in",
                found=", ".join(map(str, inputs)),
                hint="the default pipelines add it (AddStatesFromEpisodesToBatch).",
            )
        observations = inputs[Columns.OBS]
        if self.tokenizer is None:
            flat: Tensor = observations.float()
            return flat
        lead = nest.a_leaf(observations).shape[:2]
        folded = nest.map_structure(lambda x: x.reshape(-1, *x.shape[2:]), observations)
        tokens = self.tokenizer({**inputs, Columns.OBS: folded})[ENCODER_OUT]
        return tokens.reshape(*lead, -1)  # type: ignore[no-any-return]  # a module's output


class TorchLSTMEncoder(_RecurrentEncoder):
    """An LSTM; its state is `{"h": (layers, cells), "c": (layers, cells)}` per episode.

    Args:
        config: A `RecurrentEncoderConfig`.
    """

    def __init__(self, config: RecurrentEncoderConfig) -> None:
        super().__init__(config)
        self.lstm = self._recurrent(nn.LSTM)

    def get_initial_state(self) -> dict[str, Any]:
        """Give zeros `(layers, cells)`."""
        return {"h": self._zeros(), "c": self._zeros()}

    def _forward(self, inputs: Any, **kwargs: Any) -> dict[str, Any]:
        features = self._features(inputs)
        state = inputs[Columns.STATE_IN]
        # torch wants the layers' axis first, batches want their own first
        before = (_swapped(state["h"]), _swapped(state["c"]))
        out, (h, c) = self.lstm(features, before)
        return {
            ENCODER_OUT: out,
            Columns.STATE_OUT: {"h": h.transpose(0, 1), "c": c.transpose(0, 1)},
        }


class TorchGRUEncoder(_RecurrentEncoder):
    """A GRU; its state is `{"h": (layers, cells)}` per episode.

    Args:
        config: A `RecurrentEncoderConfig`.
    """

    def __init__(self, config: RecurrentEncoderConfig) -> None:
        super().__init__(config)
        self.gru = self._recurrent(nn.GRU)

    def get_initial_state(self) -> dict[str, Any]:
        """Give zeros `(layers, cells)`."""
        return {"h": self._zeros()}

    def _forward(self, inputs: Any, **kwargs: Any) -> dict[str, Any]:
        out, h = self.gru(self._features(inputs), _swapped(inputs[Columns.STATE_IN]["h"]))
        return {ENCODER_OUT: out, Columns.STATE_OUT: {"h": h.transpose(0, 1)}}


def _swapped(state: Tensor) -> Tensor:
    return state.float().transpose(0, 1).contiguous()
