"""The gated transformer network and the wrapper that puts it on top of another network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Space
from torch import Tensor, nn

from ...core.errors import ConfigError, PieceError
from ...core.runtime.sharing import PerThread
from .base import LegacyModel, ModelOutput
from .defaults import KERAS_LAYERS, NORM_EPSILON
from .gtrxl import GRUGate, RelativeMultiHeadAttention, SkipConnection
from .layers import SlimFC
from .lstm import WrapperNetwork, add_time_dimension


class GTrXLNet(LegacyModel):
    """Transformer units over the present observations and the units' own earlier inputs.

    The state is one memory `(B, memory_inference, attention_dim)` per unit, newest last; what
    `forward` gives back is one new row per step, which the caller appends.

    Args:
        observation_space: A box of one vector.
        num_outputs: Width of the outputs; `None` ends after the last unit.
        model_config: The model settings; `max_seq_len` is read.
        num_transformer_units: Units.
        attention_dim: Features inside.
        num_heads: Attention heads.
        memory_inference: Earlier steps seen when acting.
        memory_training: Earlier steps seen when training.
        head_dim: Features per head.
        position_wise_mlp_dim: Width of the dense part of a unit.
        init_gru_gate_bias: Start of the gates' bias.
    """

    _value_out = PerThread[Tensor]()

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Space[Any],
        num_outputs: int | None,
        model_config: Mapping[str, Any],
        name: str = "",
        *,
        num_transformer_units: int = 1,
        attention_dim: int = 64,
        num_heads: int = 2,
        memory_inference: int = 50,
        memory_training: int = 50,
        head_dim: int = 32,
        position_wise_mlp_dim: int = 32,
        init_gru_gate_bias: float = 2.0,
    ) -> None:
        super().__init__(observation_space, action_space, num_outputs, model_config, name)
        if attention_dim % 2:
            raise ConfigError(
                "attention needs pairs of features",
                expected="even attention_dim",
                found=str(attention_dim),
            )
        self.num_transformer_units = num_transformer_units
        self.attention_dim = attention_dim
        self.memory_inference = memory_inference
        self.memory_training = memory_training
        self.linear_layer = SlimFC(int(np.prod(observation_space.shape or ())), attention_dim)
        keras = bool(model_config.get(KERAS_LAYERS))
        epsilon = NORM_EPSILON if keras else 1e-5
        layers: list[nn.Module] = []
        for _ in range(num_transformer_units):
            attend = RelativeMultiHeadAttention(attention_dim, num_heads, head_dim, epsilon)
            widen = SlimFC(attention_dim, position_wise_mlp_dim, None, nn.ReLU, keras)
            narrow = SlimFC(position_wise_mlp_dim, attention_dim, None, nn.ReLU, keras)
            dense = nn.Sequential(nn.LayerNorm(attention_dim, epsilon), widen, narrow)
            for layer in (attend, dense):
                layers.append(SkipConnection(layer, GRUGate(attention_dim, init_gru_gate_bias)))
        self.attention_layers = nn.Sequential(*layers)
        self.logits: SlimFC | None = None
        self.values_out: SlimFC | None = None
        if num_outputs is None:
            self.num_outputs = attention_dim
        else:
            self.logits = SlimFC(attention_dim, num_outputs, activation_fn=nn.ReLU)
            self.values_out = SlimFC(attention_dim, 1)
        self.view_requirements.update(
            _memory_views(
                num_transformer_units, attention_dim, memory_inference, model_config["max_seq_len"]
            )
        )

    def forward(
        self, input_dict: dict[str, Any], state: list[Tensor], seq_lens: Tensor | None
    ) -> ModelOutput:
        """Map `obs` `(B * T, features)` to outputs and each unit's inputs, `(B * T, dim)`."""
        if len(state) != self.num_transformer_units:
            raise PieceError(
                "an attention policy needs its memories",
                expected=f"{self.num_transformer_units} of (B, M, {self.attention_dim})",
                found=f"{len(state)} arrays",
            )
        x = self.linear_layer(add_time_dimension(input_dict["obs"].float(), seq_lens))
        memories = []
        for i, layer in enumerate(self.attention_layers):
            if i % 2:
                x = layer(x)
            else:
                memories.append(x.reshape(-1, self.attention_dim))
                x = layer(x, memory=state[i // 2].float())
        x = x.reshape(-1, self.attention_dim)
        if self.logits is None or self.values_out is None:
            return x, memories
        self._value_out = self.values_out(x).reshape(-1)
        return self.logits(x), memories

    def value_function(self) -> Tensor:
        """Give the value estimates `(B * T,)` of the last `forward`."""
        if self._value_out is None:
            raise PieceError("there are no values: forward() has not run, or num_outputs is None.")
        return self._value_out

    def get_initial_state(self) -> list[Tensor]:
        """Give zeros `(attention_dim,)` per unit: one row of each memory."""
        like = next(self.linear_layer.parameters())
        return [like.new_zeros(self.attention_dim) for _ in range(self.num_transformer_units)]


class AttentionWrapper(WrapperNetwork):
    """A gated transformer on top of another network's features.

    Settings read: every `attention_*`, `max_seq_len`, `_disable_action_flattening`.

    Args:
        num_outputs: Width of the outputs.
    """

    def _add_memory(self, width: int, model_config: Mapping[str, Any]) -> int:
        self.use_n_prev_actions = int(model_config.get("attention_use_n_prev_actions") or 0)
        self.use_n_prev_rewards = int(model_config.get("attention_use_n_prev_rewards") or 0)
        width += self.use_n_prev_rewards + self.use_n_prev_actions * self.action_dim
        self.attention_dim = int(model_config["attention_dim"])
        self.gtrxl = GTrXLNet(
            Box(-np.inf, np.inf, (width,), np.float32),
            self.action_space,
            None,
            model_config,
            "gtrxl",
            num_transformer_units=model_config["attention_num_transformer_units"],
            attention_dim=self.attention_dim,
            num_heads=model_config["attention_num_heads"],
            head_dim=model_config["attention_head_dim"],
            memory_inference=model_config["attention_memory_inference"],
            memory_training=model_config["attention_memory_training"],
            position_wise_mlp_dim=model_config["attention_position_wise_mlp_dim"],
            init_gru_gate_bias=model_config["attention_init_gru_gate_bias"],
        )
        observation = {"obs": self.view_requirements["obs"]}
        self.view_requirements = {
            **self.view_requirements,
            **self.gtrxl.view_requirements,
            **observation,
        }
        self.view_requirements.update(
            _previous_views(self.action_space, self.use_n_prev_actions, self.use_n_prev_rewards)
        )
        return self.attention_dim

    def forward(
        self, input_dict: dict[str, Any], state: list[Tensor], seq_lens: Tensor | None
    ) -> ModelOutput:
        """Run the wrapped network on every row, then the transformer along each sequence."""
        features, _ = super().forward(input_dict, [], None)
        joined = self._with_past(
            features, input_dict, self.use_n_prev_actions, self.use_n_prev_rewards
        )
        self._features, memories = self.gtrxl.forward({"obs": joined}, state, seq_lens)
        return self._logits_branch(self._features), memories

    def get_initial_state(self) -> list[Tensor]:
        """Give zeros `(attention_dim,)` per unit: one row of each memory."""
        return self.gtrxl.get_initial_state()


def _memory_views(units: int, dim: int, memory: int, max_seq_len: int) -> dict[str, Any]:
    space = Box(-1.0, 1.0, (dim,), np.float32)
    views: dict[str, Any] = {}
    for i in range(units):
        views[f"state_in_{i}"] = {
            "data_col": f"state_out_{i}",
            "shift": f"-{memory}:-1",
            "batch_repeat_value": max_seq_len,
            "space": space,
        }
        views[f"state_out_{i}"] = {"space": space, "used_for_training": False}
    return views


def _previous_views(space: Space[Any], actions: int, rewards: int) -> dict[str, Any]:
    views: dict[str, Any] = {}
    if actions:
        views["prev_actions"] = {"data_col": "actions", "shift": f"-{actions}:-1", "space": space}
    if rewards:
        views["prev_rewards"] = {"data_col": "rewards", "shift": f"-{rewards}:-1"}
    return views
