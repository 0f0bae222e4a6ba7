"""The networks of DDPG and TD3: a deterministic policy squashed into the action space, and Q."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import prod
from typing import Any

import torch
from gymnasium.spaces import Space
from torch import Tensor, nn

from ..models.base import LegacyModel, ModelOutput
from ..models.layers import SlimFC
from .ddpg import Float32, squash_bounds
from .head import PolicyHead, PolicyOutputs


class NoopModel(LegacyModel):
    """Hand the flat observation through, as floats."""

    def forward(self, input_dict: Any, state: list[Tensor], seq_lens: Tensor | None) -> ModelOutput:
        """Return `obs_flat` back; the state passes through."""
        return input_dict["obs_flat"].float(), state

    def value_function(self) -> Tensor:
        """Zero: there is no value estimate."""
        return torch.zeros(1)


class SquashToBox(nn.Module):
    """Map real numbers into the action space with a sigmoid.

    Args:
        low: Lower bounds of the space; stored as parameters that are not trained.
        span: Widths of the space; stored in the same way.
    """

    def __init__(self, low: Float32, span: Float32) -> None:
        super().__init__()
        self.low_action = nn.Parameter(torch.from_numpy(low), requires_grad=False)
        self.action_range = nn.Parameter(torch.from_numpy(span), requires_grad=False)

    def forward(self, x: Tensor) -> Tensor:
        """Map `(B, n)` into the space."""
        # Doubling the input gives the sigmoid the slope of the tanh in the papers.
        return self.action_range * torch.sigmoid(2.0 * x) + self.low_action


def dense_net(
    prefix: str, width: int, hiddens: Sequence[int], activation: str, outputs: int
) -> nn.Sequential:
    """Dense layers under Ray's names: `<prefix>_hidden_0`, ..., `<prefix>_out`."""
    net = nn.Sequential()
    sizes = [width, *hiddens]
    for i, (before, units) in enumerate(pairwise(sizes)):
        net.add_module(f"{prefix}_hidden_{i}", SlimFC(before, units, activation_fn=activation))
    net.add_module(f"{prefix}_out", SlimFC(sizes[-1], outputs))
    return net


class DDPGTorchModel(LegacyModel):
    """Policy and Q branches, to be mixed in front of the network that makes the features."""

    def __init__(
        self,
        obs_space: Space[Any],
        action_space: Space[Any],
        num_outputs: int,
        model_config: Mapping[str, Any],
        name: str = "",
        *,
        actor_hiddens: Sequence[int] = (256, 256),
        actor_hidden_activation: str = "relu",
        critic_hiddens: Sequence[int] = (256, 256),
        critic_hidden_activation: str = "relu",
        twin_q: bool = False,
        add_layer_norm: bool = False,
    ) -> None:
        super().__init__(obs_space, action_space, num_outputs, model_config, name)
        # Nothing reads the trunk's value output, and TensorFlow policies save none that fits.
        self.unused_weights = (*super().unused_weights, "_value_branch")
        self.action_dim = prod(action_space.shape or ())
        self.policy_model = nn.Sequential()
        widths = [num_outputs, *actor_hiddens]
        for i, (width, units) in enumerate(pairwise(widths)):
            layer = SlimFC(width, units, activation_fn=actor_hidden_activation)
            self.policy_model.add_module(f"action_{i}", layer)
            if add_layer_norm:
                self.policy_model.add_module(f"LayerNorm_A_{i}", nn.LayerNorm(units))
        self.policy_model.add_module("action_out", SlimFC(widths[-1], self.action_dim))
        bounds = squash_bounds(action_space)
        if bounds is not None:
            self.policy_model.add_module("action_out_squashed", SquashToBox(*bounds))

        critic = (num_outputs + self.action_dim, critic_hiddens, critic_hidden_activation, 1)
        self.q_model = dense_net("q", *critic)
        self.twin_q_model = dense_net("twin_q", *critic) if twin_q else None

    def get_policy_output(self, model_out: Tensor) -> Tensor:
        """The action for features, `(B, n)`, in the units of the environment."""
        action: Tensor = self.policy_model(model_out)
        return action

    def get_q_values(self, model_out: Tensor, actions: Tensor) -> Tensor:
        """Q values of features and actions, `(B, 1)`."""
        value: Tensor = self.q_model(torch.cat([model_out, actions], -1))
        return value

    def get_twin_q_values(self, model_out: Tensor, actions: Tensor) -> Tensor:
        """The same from the second Q net."""
        assert self.twin_q_model is not None, "this model was built without a second Q net."
        value: Tensor = self.twin_q_model(torch.cat([model_out, actions], -1))
        return value


class DDPGHead(PolicyHead):
    """The action in the environment's own units (the pipeline unsquashes it once more, as Ray)."""

    def _outputs(
        self, input_dict: Mapping[str, Any], state: list[Tensor], seq_lens: Tensor | None
    ) -> PolicyOutputs:
        """Run features and policy branch on a batch."""
        features, _ = self.model(input_dict, [], None)
        action = self.model.get_policy_output(features)
        return PolicyOutputs(action, self.dist_class, [], {})
