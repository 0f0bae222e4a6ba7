"""Recurrent networks: the base for a user's own, and the LSTM put around another network."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any

import torch
from gymnasium.spaces import Box, Discrete, MultiDiscrete, Space
from torch import Tensor, nn

from ...core.errors import ConfigError, PieceError
from ...core.runtime.sharing import PerThread
from .base import ModelOutput, TorchModelV2
from .encodings import encode_actions
from .layers import LayersByUse, SlimFC
from .leaves import action_width


class RecurrentNetwork(TorchModelV2):
    """Base of networks that see `(B, T, features)`; a subclass writes `forward_rnn`."""

    def forward(
        self, input_dict: dict[str, Any], state: list[Tensor], seq_lens: Tensor | None
    ) -> ModelOutput:
        """Add a time axis to the rows of `obs_flat`, run `forward_rnn`, and remove it again."""
        flat = (input_dict["obs_flat"] if "obs_flat" in input_dict else input_dict["obs"]).float()
        inputs = add_time_dimension(flat, seq_lens, self.time_major)
        outputs, state_out = self.forward_rnn(inputs, state, seq_lens)
        return outputs.reshape(-1, self.num_outputs), state_out

    def forward_rnn(
        self, inputs: Tensor, state: list[Tensor], seq_lens: Tensor | None
    ) -> ModelOutput:
        """Compute outputs `(B, T, num_outputs)` and the state after the last step.

        Args:
            inputs: `(B, T, features)`; `(T, B, features)` if time-major.
            state: State before the first step, `(B, ...)` each.
            seq_lens: Real steps of each sequence `(B,)`.
        """
        raise NotImplementedError(f"{type(self).__name__} must implement forward_rnn().")


class WrapperNetwork(TorchModelV2):
    """Base class of networks on top of another network, with their own outputs and values.

    `catalog.build_model` mixes a subclass into the network that it wraps.

    Args:
        num_outputs: Width of the outputs.
    """

    _features = PerThread[Tensor]()

    def __init__(
        self,
        obs_space: Space[Any],
        action_space: Space[Any],
        num_outputs: int | None,
        model_config: Mapping[str, Any],
        name: str = "",
        **custom: Any,
    ) -> None:
        super().__init__(obs_space, action_space, None, model_config, name, **custom)
        if num_outputs is None or self.num_outputs is None:
            raise ConfigError(
                f"model {type(self).__name__!r} cannot be wrapped by an LSTM or by attention",
                expected="a known width of its features and of the outputs",
                found=f"features {self.num_outputs}, outputs {num_outputs}",
                hint="set self.num_outputs in the model's constructor when it is given None.",
            )
        self.action_dim = action_width(action_space)
        width = self._add_memory(self.num_outputs, model_config)
        self.num_outputs = num_outputs
        self._logits_branch = SlimFC(width, num_outputs)
        self._value_branch = SlimFC(width, 1)

    @abc.abstractmethod
    def _add_memory(self, width: int, model_config: Mapping[str, Any]) -> int:
        """Make what remembers, over features of a width; gives the width of what comes out."""

    def value_function(self) -> Tensor:
        """Return the value estimates `(B * T,)` of the last `forward`."""
        if self._features is None:
            raise PieceError("value_function() was called before forward().")
        value: Tensor = self._value_branch(self._features)
        return value.reshape(-1)

    def _with_past(
        self, features: Tensor, input_dict: dict[str, Any], actions: int, rewards: int
    ) -> Tensor:
        """Features of the wrapped network, and so many earlier actions and rewards behind them."""
        parts = [features]
        if actions:
            parts.append(
                previous_actions(input_dict, self.action_space, self.model_config, actions)
            )
        if rewards:
            parts.append(input_dict["prev_rewards"].float().reshape(-1, rewards))
        return features if len(parts) == 1 else torch.cat(parts, dim=1)


class LSTMWrapper(WrapperNetwork, RecurrentNetwork):
    """An LSTM on top of another network's features, with outputs and value from its cells.

    Settings read: `lstm_cell_size`, `lstm_use_prev_action`, `lstm_use_prev_reward`, `_time_major`,
    `_disable_action_flattening`. Padding is processed like any step, as Ray does.

    Args:
        num_outputs: Width of the outputs.
    """

    def _add_memory(self, width: int, model_config: Mapping[str, Any]) -> int:
        self.cell_size = int(model_config["lstm_cell_size"])
        self.use_prev_action = bool(model_config.get("lstm_use_prev_action"))
        self.use_prev_reward = bool(model_config.get("lstm_use_prev_reward"))
        if self.use_prev_action:
            width += self.action_dim
            self.view_requirements["prev_actions"] = {
                "data_col": "actions",
                "shift": -1,
                "space": self.action_space,
            }
        if self.use_prev_reward:
            width += 1
            self.view_requirements["prev_rewards"] = {"data_col": "rewards", "shift": -1}
        self.lstm = nn.LSTM(width, self.cell_size, batch_first=not self.time_major)
        return self.cell_size

    def forward(
        self, input_dict: dict[str, Any], state: list[Tensor], seq_lens: Tensor | None
    ) -> ModelOutput:
        """Run the wrapped network on every row, then the LSTM along each sequence."""
        features, _ = super(RecurrentNetwork, self).forward(input_dict, [], None)
        actions, rewards = int(self.use_prev_action), int(self.use_prev_reward)
        input_dict["obs_flat"] = self._with_past(features, input_dict, actions, rewards)
        return super().forward(input_dict, state, seq_lens)

    def forward_rnn(
        self, inputs: Tensor, state: list[Tensor], seq_lens: Tensor | None
    ) -> ModelOutput:
        """Run the LSTM and the output layer; the state is `[h, c]`, `(B, cell_size)` each."""
        if len(state) != 2:
            raise PieceError(
                "an LSTM policy needs its state",
                expected="[h, c]",
                found=f"{len(state)} arrays",
                hint="pass get_initial_state() at an episode's start, then what came out last.",
            )
        hidden, (h, c) = self.lstm(inputs, (state[0].unsqueeze(0), state[1].unsqueeze(0)))
        self._features = hidden
        return self._logits_branch(hidden), [h.squeeze(0), c.squeeze(0)]

    def layers_by_use(self) -> LayersByUse:
        """Tell what the layers are for before the cells, and the two behind them."""
        inner: LayersByUse = super().layers_by_use()  # type: ignore[misc]  # the wrapped network's
        return LayersByUse(inner.trunk, self._logits_branch, self._value_branch)

    def get_initial_state(self) -> list[Tensor]:
        """Return zeros for `[h, c]`, `(cell_size,)` each, on the device of the weights."""
        like = next(self.lstm.parameters())
        return [like.new_zeros(self.cell_size), like.new_zeros(self.cell_size)]


def add_time_dimension(flat: Tensor, seq_lens: Any, time_major: bool = False) -> Tensor:
    """Cut rows of padded sequences into `(B, T, ...)`, or `(T, B, ...)` if time-major.

    Args:
        flat: `(B * T, ...)`, sequence after sequence.
        seq_lens: One entry per sequence; `None` when every row is its own.
        time_major: Whether time comes first.
    """
    sequences = flat.shape[0] if seq_lens is None else len(seq_lens)
    if sequences == 0 or flat.shape[0] % sequences:
        raise PieceError(
            "rows cannot be cut into sequences of one length",
            expected=f"a multiple of the {sequences} sequences in seq_lens",
            found=f"{flat.shape[0]} rows",
        )
    timed = flat.reshape(sequences, -1, *flat.shape[1:])
    return timed.transpose(0, 1) if time_major else timed


def previous_actions(
    input_dict: Any, space: Space[Any], config: Mapping[str, Any], steps: int = 1
) -> Tensor:
    """Encode the column `prev_actions` as the features a wrapper adds."""
    actions = input_dict["prev_actions"]
    if config.get("_disable_action_flattening") or isinstance(
        space, (Discrete, MultiDiscrete, Box)
    ):
        return encode_actions(actions, space, steps)
    encoded: Tensor = actions.float()
    return encoded.reshape(encoded.shape[0], -1)
