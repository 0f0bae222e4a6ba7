"""Fully connected network: dense layers, outputs, and a separate or shared value branch."""

from __future__ import annotations

from math import prod
from typing import Any

from torch import Tensor, nn

from ...core.errors import ConfigError, PieceError
from ...core.runtime.sharing import PerThread
from .base import LegacyModel, ModelOutput
from .layers import AppendBiasLayer, LayersByUse, SlimFC, dense_stack, normc_initializer


class FullyConnectedNetwork(LegacyModel):
    """Dense layers over the flat observation.

    Settings read: `fcnet_hiddens`, `fcnet_activation`, `post_fcnet_hiddens`,
    `post_fcnet_activation`, `no_final_linear`, `vf_share_layers`, `free_log_std`.

    Args:
        obs_space: A space of one vector (any shape is flattened).
        num_outputs: Width of the outputs; `None` ends at the last hidden layer.
    """

    _features = PerThread[Tensor]()
    _last_flat_in = PerThread[Tensor]()

    def _add_own_layers(self) -> None:
        model_config, num_outputs = self.model_config, self.num_outputs
        first = list(model_config.get("fcnet_hiddens") or [])
        hiddens = first + list(model_config.get("post_fcnet_hiddens") or [])
        # Ray uses the post activation only when there is nothing before the post layers.
        act = model_config.get("fcnet_activation" if first else "post_fcnet_activation")
        ends_hidden = bool(model_config.get("no_final_linear") and num_outputs)
        self.vf_share_layers = bool(model_config.get("vf_share_layers"))
        self.free_log_std = bool(model_config.get("free_log_std"))
        outputs = _means(num_outputs, ends_hidden) if self.free_log_std else num_outputs

        width = prod(self.obs_space.shape or ())
        sizes = [*hiddens[:-1], outputs] if ends_hidden else hiddens
        self._hidden_layers = dense_stack(width, sizes, act)
        features = ([width, *sizes])[-1]
        self._logits: SlimFC | None = None
        if not ends_hidden and outputs:
            self._logits = SlimFC(features, outputs, normc_initializer(0.01))
        elif not outputs:
            self.num_outputs = features
        if self.free_log_std and outputs:
            self._append_free_log_std = AppendBiasLayer(outputs)
        self._value_branch_separate: nn.Sequential | None = None
        if not self.vf_share_layers:
            self._value_branch_separate = dense_stack(width, hiddens, act)
        self._value_branch = SlimFC(features, 1, normc_initializer(0.01))

    def forward(
        self, input_dict: dict[str, Any], state: list[Tensor], seq_lens: Tensor | None
    ) -> ModelOutput:
        """Map `obs_flat` to the outputs; the state passes through."""
        obs = input_dict["obs_flat"].float()
        flat = self._last_flat_in = obs if obs.ndim == 2 else obs.reshape(obs.shape[0], -1)
        features = self._features = self._hidden_layers(flat)
        outputs = features if self._logits is None else self._logits(features)
        if self.free_log_std:
            outputs = self._append_free_log_std(outputs)
        return outputs, state

    def layers_by_use(self) -> LayersByUse:
        """Tell what its layers are for."""
        free = self._append_free_log_std.log_std if self.free_log_std else None
        critic = self._value_branch_separate
        return LayersByUse(self._hidden_layers, self._logits, self._value_branch, critic, free)

    def value_function(self) -> Tensor:
        """Return the value estimates `(B,)` of the last `forward`."""
        if self._features is None:
            raise PieceError("value_function() was called before forward().")
        features = self._features
        if self._value_branch_separate:
            features = self._value_branch_separate(self._last_flat_in)
            if features.shape[1] != self.num_outputs and self._logits is None:
                raise ConfigError(
                    "no_final_linear with a separate value branch requires equal widths",
                    expected=f"a last hidden layer of {self.num_outputs}",
                    found=str(features.shape[1]),
                )
        value: Tensor = self._value_branch(features)
        return value.squeeze(1)


def _means(num_outputs: int | None, ends_hidden: bool) -> int:
    if num_outputs is None or num_outputs % 2 or ends_hidden:
        raise ConfigError(
            "free_log_std needs a linear output layer of means and log deviations",
            expected="an even num_outputs without no_final_linear or a recurrent wrapper",
            found=f"num_outputs={num_outputs}, no_final_linear={ends_hidden}",
        )
    return num_outputs // 2
