"""The networks of SAC: a policy network, one or two Q-networks, and the entropy parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import torch
from gymnasium.spaces import Box, Discrete, Space
from torch import Tensor, nn

from ..models.base import LegacyModel
from ..models.catalog import build_model
from .head import PolicyHead, PolicyOutputs


class SACTorchModel(LegacyModel):
    """SAC's networks; the model itself hands the observation through.

    Args:
        action_space: Discrete, a Box of one axis, or a Simplex.
        num_outputs: Not used; kept for the signature.
        policy_model_config: Model settings of the policy net.
        q_model_config: Model settings of the Q nets.
        twin_q: Whether there are two Q nets.
        initial_alpha: Where the entropy coefficient starts.
        target_entropy: What training aims at; None or "auto" for the usual choice.
        custom_models: Classes for names that the model settings may hold.
    """

    # TensorFlow policies compute the target from the settings. Ray 2.0 lost parts of Q nets over
    # nested spaces; acting needs no Q net.
    unused_weights: tuple[str, ...] = (
        "target_entropy",
        *(
            f"{net}.{part}"
            for net in ("q_net", "twin_q_net")
            for part in ("cnn", "flatten", "one_hot")
        ),
    )

    def __init__(
        self,
        obs_space: Space[Any],
        action_space: Space[Any],
        num_outputs: int | None,
        model_config: Mapping[str, Any],
        name: str = "",
        policy_model_config: Mapping[str, Any] | None = None,
        q_model_config: Mapping[str, Any] | None = None,
        twin_q: bool = False,
        initial_alpha: float = 1.0,
        target_entropy: float | str | None = None,
        custom_models: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(obs_space, action_space, num_outputs, model_config, name)
        self.custom_models = custom_models
        self.discrete = isinstance(action_space, Discrete)
        if isinstance(action_space, Discrete):
            self.action_dim, outputs, q_outputs = int(action_space.n), int(action_space.n), 1
            q_outputs = self.action_dim
        else:
            self.action_dim = math.prod(action_space.shape or ())
            outputs = self.action_dim * (2 if isinstance(action_space, Box) else 1)
            q_outputs = 1
        policy, q = policy_model_config or {}, q_model_config or {}
        self.action_model = self.build_policy_model(obs_space, outputs, policy, "policy_model")
        self.q_net = self.build_q_model(obs_space, action_space, q_outputs, q, "q")
        self.twin_q_net = (
            self.build_q_model(obs_space, action_space, q_outputs, q, "twin_q") if twin_q else None
        )
        self.log_alpha = nn.Parameter(torch.tensor([math.log(initial_alpha)]))
        target = self._target_entropy(target_entropy)
        self.target_entropy = nn.Parameter(torch.tensor([target]), requires_grad=False)

    def _target_entropy(self, setting: float | str | None) -> float:
        if setting is not None and not isinstance(setting, str):
            return float(setting)
        return 0.98 * math.log(self.action_dim) if self.discrete else -float(self.action_dim)

    def build_policy_model(
        self, obs_space: Any, num_outputs: int, policy_model_config: Any, name: str
    ) -> Any:
        """The policy net; a subclass may build another."""
        return self._net(obs_space, num_outputs, policy_model_config, name)

    def build_q_model(
        self, obs_space: Any, action_space: Any, num_outputs: int, q_model_config: Any, name: str
    ) -> Any:
        """One Q net; a subclass may build another."""
        self.concat_obs_and_actions = False
        original = getattr(obs_space, "original_space", obs_space)
        q_space: Space[Any] = obs_space
        if not self.discrete and isinstance(original, Box) and len(original.shape) == 1:
            width = original.shape[0] + action_space.shape[0]
            q_space = Box(float("-inf"), float("inf"), shape=(width,))
            self.concat_obs_and_actions = True
        elif not self.discrete:
            q_space = gym.spaces.Tuple([original, action_space])
        return self._net(q_space, num_outputs, q_model_config, name)

    def _net(self, space: Any, num_outputs: int, model_config: Mapping[str, Any], name: str) -> Any:
        return build_model(
            space,
            self.action_space,
            num_outputs,
            model_config,
            custom_models=self.custom_models,
            name=name,
        )

    def forward(
        self, input_dict: Any, state: list[Tensor], seq_lens: Tensor | None
    ) -> tuple[Any, list[Tensor]]:
        """Hand the observation through."""
        return input_dict["obs"], state

    def get_action_model_outputs(
        self,
        model_out: Any,
        state_in: list[Tensor] | None = None,
        seq_lens: Tensor | None = None,
    ) -> tuple[Tensor, list[Tensor]]:
        """Distribution inputs and next state of the policy net.

        Args:
            model_out: The observation, flat or nested, or a dict of columns with an `obs`.
            state_in: State of a recurrent policy net.
            seq_lens: Steps per sequence.
        """
        has_columns = isinstance(model_out, dict) and "obs" in model_out
        columns = dict(model_out) if has_columns else {"obs": model_out}
        if isinstance(self.action_model.obs_space, Box):
            columns["obs"] = _joined(columns["obs"])
        outputs: tuple[Tensor, list[Tensor]] = self.action_model(columns, state_in or [], seq_lens)
        return outputs

    def get_q_values(
        self, model_out: Any, actions: Tensor | None = None
    ) -> tuple[Tensor, list[Tensor]]:
        """Q values of given actions `(B, 1)`, or of all discrete ones `(B, n)`."""
        return self._q(self.q_net, model_out, actions)

    def get_twin_q_values(
        self, model_out: Any, actions: Tensor | None = None
    ) -> tuple[Tensor, list[Tensor]]:
        """The same from the second Q net."""
        return self._q(self.twin_q_net, model_out, actions)

    def _q(self, net: Any, model_out: Any, actions: Tensor | None) -> tuple[Tensor, list[Tensor]]:
        obs = _joined(model_out) if isinstance(net.obs_space, Box) else model_out
        if actions is not None:
            obs = torch.cat([obs, actions], -1) if self.concat_obs_and_actions else (obs, actions)
        outputs: tuple[Tensor, list[Tensor]] = net({"obs": obs}, [], None)
        return outputs


class SACHead(PolicyHead):
    """The policy net's outputs are the distribution's inputs.

    The state of a recurrent policy net (RNNSAC) comes first in the list of states. What the Q
    nets keep behind it only matters in training and is handed on unchanged.
    """

    def _outputs(
        self, input_dict: Mapping[str, Any], state: list[Tensor], seq_lens: Tensor | None
    ) -> PolicyOutputs:
        """Run the policy net on a batch."""
        state_count = len(self.model.action_model.get_initial_state())
        dist_inputs, state_out = self.model.get_action_model_outputs(
            dict(input_dict), state[:state_count], seq_lens
        )
        return PolicyOutputs(dist_inputs, self.dist_class, [*state_out, *state[state_count:]], {})

    def get_initial_state(self) -> list[Any]:
        """The states of policy net and Q nets at an episode's start."""
        nets = [self.model.action_model, self.model.q_net, self.model.twin_q_net]
        return [part for net in nets if net is not None for part in net.get_initial_state()]


def _joined(obs: Any) -> Any:
    """Concatenate nested observations; return a tensor unchanged."""
    if isinstance(obs, dict):
        obs = list(obs.values())
    if not isinstance(obs, (list, tuple)):
        return obs
    parts = [_joined(part) for part in obs]
    return torch.cat([p.unsqueeze(1) if p.ndim == 1 else p for p in parts], dim=-1)
