"""Heads of SAC, CQL and RNNSAC: a policy net acts, Q nets come along for the round trip."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gymnasium.spaces import Space
from torch import Tensor

from ..models.catalog import build_model
from .head import PolicyHead, PolicyOutputs
from .sac_config import net_config
from .sac_model import SACTorchModel


class SACHead(PolicyHead):
    """The policy net's outputs are the distribution's inputs.

    The state of a recurrent policy net (RNNSAC) comes first in the list of states. What the Q
    nets keep behind it only matters in training and is handed on unchanged.
    """

    def _outputs(
        self, input_dict: Mapping[str, Any], state: list[Tensor], seq_lens: Tensor | None
    ) -> PolicyOutputs:
        """Run the policy net on a batch."""
        own = len(self.model.action_model.get_initial_state())
        dist_inputs, state_out = self.model.get_action_model_outputs(
            dict(input_dict), state[:own], seq_lens
        )
        return PolicyOutputs(dist_inputs, self.dist_class, [*state_out, *state[own:]], {})

    def get_initial_state(self) -> list[Any]:
        """The states of policy net and Q nets at an episode's start."""
        nets = [self.model.action_model, self.model.q_net, self.model.twin_q_net]
        return [part for net in nets if net is not None for part in net.get_initial_state()]


def build_sac_model(
    obs_space: Space[Any],
    action_space: Space[Any],
    config: Mapping[str, Any],
    *,
    custom_models: Mapping[str, Any] | None = None,
) -> Any:
    """SAC's networks for a trainer config; unset settings are SAC's defaults."""
    return build_model(
        obs_space,
        action_space,
        None,
        config.get("model") or {},
        custom_models=custom_models,
        default_model=SACTorchModel,
        name="sac_model",
        policy_model_config=net_config(config, "policy_model_config", "policy_model"),
        q_model_config=net_config(config, "q_model_config", "Q_model"),
        twin_q=bool(config.get("twin_q", True)),
        initial_alpha=float(config.get("initial_alpha", 1.0)),
        target_entropy=config.get("target_entropy"),
    )
