"""The network for nested observations: one trunk per component, joined, then outputs and value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box, Discrete, MultiDiscrete, Space
from torch import Tensor, nn

from ...core import nest
from ...core.errors import PieceError
from ...core.runtime.sharing import PerThread
from ..distributions.action_leaves import leaf_spaces
from .base import LegacyModel, ModelOutput
from .defaults import get_filter_config
from .encodings import one_hot
from .fcnet import FullyConnectedNetwork
from .layers import SlimFC, normc_initializer
from .leaves import leaf_width
from .visionnet import VisionNetwork


class ComplexInputNetwork(LegacyModel):
    """Convolutions for images, dense trunks for one-hot and plain vectors, joined by a dense stack.

    Components are numbered depth-first with sorted dict keys. Settings read: `conv_filters`,
    `conv_activation`, `fcnet_hiddens`, `fcnet_activation` (each per component),
    `post_fcnet_hiddens` and `post_fcnet_activation` (after joining).

    Args:
        obs_space: Any space; its `original_space`, if any, is what is taken apart.
        num_outputs: Width of the outputs; `None` ends after the joined stack.
    """

    # Each trunk has value branches that are saved and never read.
    unused_weights = ("post_fc_stack._value_branch",)

    _value_out = PerThread[Tensor]()

    def _add_own_layers(self) -> None:
        model_config, num_outputs = self.model_config, self.num_outputs
        self.obs_space = getattr(self.obs_space, "original_space", self.obs_space)
        self.original_space = self.obs_space
        self.flattened_input_space = leaf_spaces(self.original_space)
        self.cnns = nn.ModuleDict()
        self.one_hot = nn.ModuleDict()
        self.flatten = nn.ModuleDict()
        width = 0
        for i, space in enumerate(self.flattened_input_space):
            kind, trunk = self._trunk(space, model_config)
            {"cnn": self.cnns, "one_hot": self.one_hot, "flatten": self.flatten}[kind][str(i)] = (
                trunk
            )
            # Ray registers each trunk under this name too, so its weights are saved twice.
            self.add_module(f"{kind}_{i}", trunk)
            width += trunk.num_outputs

        stack = {
            "fcnet_hiddens": model_config.get("post_fcnet_hiddens") or [],
            "fcnet_activation": model_config.get("post_fcnet_activation", "relu"),
        }
        self.post_fc_stack = FullyConnectedNetwork(_vector(width), self.action_space, None, stack)
        features = self.post_fc_stack.num_outputs
        self.logits_layer: SlimFC | None = None
        self.value_layer: SlimFC | None = None
        if num_outputs:
            self.logits_layer = SlimFC(features, num_outputs, normc_initializer(0.01))
            self.value_layer = SlimFC(features, 1, normc_initializer(0.01))
        else:
            self.num_outputs = features

    def _trunk(self, space: Space[Any], config: Mapping[str, Any]) -> tuple[str, LegacyModel]:
        if isinstance(space, Box) and len(space.shape) == 3:
            conv = {
                "conv_filters": config.get("conv_filters") or get_filter_config(space.shape),
                "conv_activation": config.get("conv_activation"),
            }
            return "cnn", VisionNetwork(space, self.action_space, None, conv)
        dense = {
            "fcnet_hiddens": config.get("fcnet_hiddens") or [],
            "fcnet_activation": config.get("fcnet_activation"),
        }
        kind = "one_hot" if isinstance(space, (Discrete, MultiDiscrete)) else "flatten"
        vector = _vector(leaf_width(space))
        return kind, FullyConnectedNetwork(vector, self.action_space, None, dense)

    def forward(
        self, input_dict: dict[str, Any], state: list[Tensor], seq_lens: Tensor | None
    ) -> ModelOutput:
        """Map the nested `obs` to the outputs; there is no state."""
        parts = nest.flatten(input_dict["obs"])
        if len(parts) != len(self.flattened_input_space):
            raise PieceError(
                "observations do not have the parts of the observation space",
                expected=f"{len(self.flattened_input_space)} leaves",
                found=f"{len(parts)}",
            )
        outs = []
        for i, (x, space) in enumerate(zip(parts, self.flattened_input_space, strict=True)):
            key = str(i)
            if key in self.cnns:
                columns, trunk = {"obs": x}, self.cnns[key]
            elif key in self.one_hot:
                # The preprocessors hand over discrete parts encoded already.
                encoded = x if x.is_floating_point() else one_hot(x, space)
                columns, trunk = {"obs_flat": encoded}, self.one_hot[key]
            else:
                columns, trunk = {"obs_flat": x.reshape(x.shape[0], -1)}, self.flatten[key]
            outs.append(trunk.forward(columns, [], None)[0])
        joined = {"obs_flat": torch.cat(outs, dim=1)}
        features, _ = self.post_fc_stack.forward(joined, [], None)
        if self.logits_layer is None or self.value_layer is None:
            return features, []
        self._value_out = self.value_layer(features).reshape(-1)
        return self.logits_layer(features), []

    def value_function(self) -> Tensor:
        """Return the value estimates `(B,)` of the last `forward`."""
        if self._value_out is None:
            raise PieceError("value_function() was called before forward().")
        return self._value_out


def _vector(width: int) -> Box:
    return Box(-np.inf, np.inf, (width,), np.float32)
