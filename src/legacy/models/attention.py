"""The gated transformer network and the wrapper that puts it on top of another network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box, Space
from torch import Tensor, nn

from ...core.errors import ConfigError, PieceError
from ...core.runtime.sharing import PerThread
from .base import LegacyModel, ModelOutput
from .defaults import KERAS_LAYERS, NORM_EPSILON
from .layers import SlimFC
from .lstm import WrapperNetwork, add_time_dimension


class GRUGate(nn.Module):
    """Mixes a skip input with a layer's output, biased to let the skip through at first.

    Args:
        dim: Features of both.
        init_bias: Start of the gate's bias; larger keeps more of the skip input.
    """

    def __init__(self, dim: int, init_bias: float = 0.0) -> None:
        super().__init__()
        self._w_r, self._u_r = _square(dim), _square(dim)
        self._w_z, self._u_z = _square(dim), _square(dim)
        self._w_h, self._u_h = _square(dim), _square(dim)
        self._bias_z = nn.Parameter(torch.full((dim,), float(init_bias)))

    def forward(self, skip: Tensor, x: Tensor) -> Tensor:
        """Mix two `(..., dim)` tensors."""
        r = torch.sigmoid(x @ self._w_r + skip @ self._u_r)
        z = torch.sigmoid(x @ self._w_z + skip @ self._u_z - self._bias_z)
        new = torch.tanh(x @ self._w_h + (skip * r) @ self._u_h)
        return (1 - z) * skip + z * new


class SkipConnection(nn.Module):
    """A layer whose input is gated with its output.

    Args:
        layer: The layer.
        fan_in_layer: The gate.
    """

    def __init__(self, layer: nn.Module, fan_in_layer: GRUGate) -> None:
        super().__init__()
        self._layer = layer
        self._fan_in_layer = fan_in_layer

    def forward(self, x: Tensor, **context: Any) -> Tensor:
        """Run the layer (with `memory`, if it takes one) and gate the result."""
        gated: Tensor = self._fan_in_layer(x, self._layer(x, **context))
        return gated


class RelativePositionEmbedding(nn.Module):
    """Sines and cosines of how far back each step lies.

    Args:
        out_dim: Features of the embedding; even.
    """

    inverse_freq: Tensor

    def __init__(self, out_dim: int) -> None:
        super().__init__()
        exponent = torch.arange(0, out_dim, 2.0) / out_dim
        self.register_buffer("inverse_freq", 1 / 10000**exponent)

    def forward(self, steps: int) -> Tensor:
        """Return `(steps, out_dim)`, the most distant step first."""
        back = torch.arange(steps - 1, -1, -1.0, device=self.inverse_freq.device)
        angles = back[:, None] * self.inverse_freq
        return torch.cat([angles.sin(), angles.cos()], dim=-1)


class RelativeMultiHeadAttention(nn.Module):
    """Causal self-attention over a memory and the present segment, with relative positions.

    Args:
        dim: Features in and out.
        num_heads: Heads.
        head_dim: Features per head.
        epsilon: What the layer norm adds to a variance.
    """

    def __init__(self, dim: int, num_heads: int, head_dim: int, epsilon: float = 1e-5) -> None:
        super().__init__()
        self._num_heads = num_heads
        self._head_dim = head_dim
        inner = num_heads * head_dim
        self._qkv_layer = SlimFC(dim, 3 * inner, use_bias=False)
        self._linear_layer = SlimFC(inner, dim, use_bias=False, activation_fn=nn.ReLU)
        self._uvar = nn.Parameter(torch.zeros(num_heads, head_dim))
        self._vvar = nn.Parameter(torch.zeros(num_heads, head_dim))
        nn.init.xavier_uniform_(self._uvar)
        nn.init.xavier_uniform_(self._vvar)
        self._pos_proj = SlimFC(dim, inner, use_bias=False)
        self._rel_pos_embedding = RelativePositionEmbedding(dim)
        self._input_layernorm = nn.LayerNorm(dim, epsilon)

    def forward(self, x: Tensor, memory: Tensor) -> Tensor:
        """Attend from `(B, T, dim)` to `(B, M, dim)` and itself; gives `(B, T, dim)`."""
        steps = x.shape[1]
        heads, size = self._num_heads, self._head_dim
        seen = self._input_layernorm(torch.cat([memory.detach(), x], dim=1))
        span = seen.shape[1]
        qkv = self._qkv_layer(seen).reshape(seen.shape[0], span, 3, heads, size)
        query, key, value = qkv[:, -steps:, 0], qkv[:, :, 1], qkv[:, :, 2]
        where = self._pos_proj(self._rel_pos_embedding(span)).reshape(span, heads, size)
        score = torch.einsum("bihd,bjhd->bijh", query + self._uvar, key)
        score = score + relative_shift(torch.einsum("bihd,jhd->bijh", query + self._vvar, where))
        future = torch.ones(steps, span, dtype=torch.bool, device=x.device).triu(span - steps + 1)
        score = (score / size**0.5).masked_fill(future[None, :, :, None], float("-inf"))
        mixed = torch.einsum("bijh,bjhd->bihd", score.softmax(dim=2), value)
        out: Tensor = self._linear_layer(mixed.reshape(x.shape[0], steps, heads * size))
        return out


def relative_shift(score: Tensor) -> Tensor:
    """Line scores by distance up with scores by position.

    Args:
        score: `(B, T, S, heads)`, `S` counted by distance from the last step.

    Returns:
        The same shape with row `t` moved so that `S` counts positions.
    """
    batch, rows, span, heads = score.shape
    padded = nn.functional.pad(score, (0, 0, 1, 0))
    return padded.reshape(batch, span + 1, rows, heads)[:, 1:].reshape(batch, rows, span, heads)


def _square(dim: int) -> nn.Parameter:
    return nn.Parameter(nn.init.xavier_uniform_(torch.empty(dim, dim)))


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
        """Return the value estimates `(B * T,)` of the last `forward`."""
        if self._value_out is None:
            raise PieceError("there are no values: forward() has not run, or num_outputs is None.")
        return self._value_out

    def get_initial_state(self) -> list[Tensor]:
        """Return zeros `(attention_dim,)` per unit: one row of each memory."""
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
        """Return zeros `(attention_dim,)` per unit: one row of each memory."""
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
