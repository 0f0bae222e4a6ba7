"""From columns to features: of one kind, of several columns, or for actor and critic apart."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import torch
from torch import Tensor, nn

from ...core import nest
from ...core.columns import Columns
from ...core.errors import ConfigError, PieceError
from .layers import TorchCNN, get_activation_fn, initialized, mlp_from
from .network_configs import (
    ActorCriticEncoderConfig,
    CNNEncoderConfig,
    MLPEncoderConfig,
    ModelConfig,
    MultiStreamEncoderConfig,
    RecurrentEncoderConfig,
)
from .networks import (
    ACTOR,
    CRITIC,
    ENCODER_OUT,
    ActorCriticEncoder,
    Encoder,
    StatefulActorCriticEncoder,
)
from .torch_model import TorchModel


class TorchMLPEncoder(TorchModel, Encoder):
    """Dense layers over flat observations."""

    def __init__(self, config: MLPEncoderConfig) -> None:
        super().__init__(config)
        self.net = mlp_from(config)

    def _forward(self, inputs: Any, **kwargs: Any) -> dict[str, Any]:
        return {ENCODER_OUT: self.net(inputs[Columns.OBS])}


class TorchCNNEncoder(TorchModel, Encoder):
    """Convolutions over images `(B, height, width, channels)`."""

    def __init__(self, config: CNNEncoderConfig) -> None:
        super().__init__(config)
        if config.input_dims is None:
            raise ConfigError("a CNNEncoderConfig needs the input_dims of its images")
        names = {field.name for field in fields(CNNEncoderConfig) if field.name.startswith("cnn_")}
        settings = {name: value for name, value in vars(config).items() if name in names}
        layers: list[nn.Module] = [TorchCNN(input_dims=config.input_dims, **settings)]
        if config.flatten_at_end:
            layers.append(nn.Flatten())
        self.net = nn.Sequential(*layers)

    def _forward(self, inputs: Any, **kwargs: Any) -> dict[str, Any]:
        return {ENCODER_OUT: self.net(inputs[Columns.OBS])}


class _RecurrentEncoder(TorchModel, Encoder):
    """Base class of LSTM and GRU encoders, with a tokenizer; states are batch-first."""

    config: RecurrentEncoderConfig
    _state_keys: tuple[str, ...]

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
        self.gate: nn.Linear | None = None
        if config.is_residual:
            self.gate = nn.Linear(config.hidden_dim, self.input_width, bias=False)
            nn.init.zeros_(self.gate.weight)  # it learns at once: what comes to it is not 0

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

    def get_initial_state(self) -> dict[str, Any]:
        """Return zeros `(layers, cells)`."""
        shape = (self.config.num_layers, self.config.hidden_dim)
        return {key: torch.zeros(shape) for key in self._state_keys}

    def _outputs(self, features: Tensor, out: Tensor, *states: Tensor) -> dict[str, Any]:
        """Return the output columns, with the gated residual connection if there is one."""
        return {
            ENCODER_OUT: out if self.gate is None else features + self.gate(out),
            Columns.STATE_OUT: {
                key: state.transpose(0, 1)
                for key, state in zip(self._state_keys, states, strict=True)
            },
        }

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
    """An LSTM; its state is `{"h": (layers, cells), "c": (layers, cells)}` per episode."""

    _state_keys = ("h", "c")

    def __init__(self, config: RecurrentEncoderConfig) -> None:
        super().__init__(config)
        self.lstm = self._recurrent(nn.LSTM)

    def _forward(self, inputs: Any, **kwargs: Any) -> dict[str, Any]:
        features = self._features(inputs)
        state = inputs[Columns.STATE_IN]
        # torch wants the layers' axis first, batches want their own first
        before = (_swapped(state["h"]), _swapped(state["c"]))
        out, (h, c) = self.lstm(features, before)
        return self._outputs(features, out, h, c)


class TorchGRUEncoder(_RecurrentEncoder):
    """A GRU; its state is `{"h": (layers, cells)}` per episode."""

    _state_keys = ("h",)

    def __init__(self, config: RecurrentEncoderConfig) -> None:
        super().__init__(config)
        self.gru = self._recurrent(nn.GRU)

    def _forward(self, inputs: Any, **kwargs: Any) -> dict[str, Any]:
        features = self._features(inputs)
        out, h = self.gru(features, _swapped(inputs[Columns.STATE_IN]["h"]))
        return self._outputs(features, out, h)


def _swapped(state: Tensor) -> Tensor:
    return state.float().transpose(0, 1).contiguous()


class TorchMultiStreamEncoder(TorchModel, Encoder):
    """One encoder per column; each joining layer sees the joined features again."""

    def __init__(self, config: MultiStreamEncoderConfig) -> None:
        super().__init__(config)
        streams = sorted(config.base_encoder_configs.items())  # features are sorted by name
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


class TorchActorCriticEncoder(TorchModel, ActorCriticEncoder):
    """Features for actor and critic from stateless encoders."""

    framework = "torch"

    def __init__(self, config: ActorCriticEncoderConfig) -> None:
        super().__init__(config)
        base: Any = config.base_encoder_config
        if base is None:
            raise ConfigError("an ActorCriticEncoderConfig needs a base_encoder_config")
        if config.shared:
            self.encoder = base.build(framework="torch")
            return
        self.actor_encoder = base.build(framework="torch")
        is_left_out = config.inference_only and not isinstance(self, StatefulActorCriticEncoder)
        self.critic_encoder: Any = None if is_left_out else base.build(framework="torch")

    def _forward(self, inputs: Any, **kwargs: Any) -> dict[str, Any]:
        if self.config.shared:
            features = self.encoder(inputs, **kwargs)[ENCODER_OUT]
            critic = {} if self.config.inference_only else {CRITIC: features}
            return {ENCODER_OUT: {ACTOR: features, **critic}}
        out = {ACTOR: self.actor_encoder(inputs, **kwargs)[ENCODER_OUT]}
        if self.critic_encoder is not None:
            out[CRITIC] = self.critic_encoder(inputs, **kwargs)[ENCODER_OUT]
        return {ENCODER_OUT: out}


class TorchStatefulActorCriticEncoder(TorchActorCriticEncoder, StatefulActorCriticEncoder):
    """Features for actor and critic from recurrent encoders.

    The critic stays even where the module only acts: its state is part of the episodes.
    """

    def get_initial_state(self) -> dict[str, Any]:
        """Return the shared encoder's, or `{ACTOR: ..., CRITIC: ...}`."""
        if self.config.shared:
            return self.encoder.get_initial_state()  # type: ignore[no-any-return]  # a submodule
        return {
            ACTOR: self.actor_encoder.get_initial_state(),
            CRITIC: self.critic_encoder.get_initial_state(),
        }

    def _forward(self, inputs: Any, **kwargs: Any) -> dict[str, Any]:
        if self.config.shared:
            both = self.encoder(inputs, **kwargs)
            features = both[ENCODER_OUT]
            return {
                ENCODER_OUT: {ACTOR: features, CRITIC: features},
                Columns.STATE_OUT: both[Columns.STATE_OUT],
            }
        state = inputs[Columns.STATE_IN]
        actor = self.actor_encoder({**inputs, Columns.STATE_IN: state[ACTOR]}, **kwargs)
        critic = self.critic_encoder({**inputs, Columns.STATE_IN: state[CRITIC]}, **kwargs)
        return {
            ENCODER_OUT: {ACTOR: actor[ENCODER_OUT], CRITIC: critic[ENCODER_OUT]},
            Columns.STATE_OUT: {
                ACTOR: actor[Columns.STATE_OUT],
                CRITIC: critic[Columns.STATE_OUT],
            },
        }
