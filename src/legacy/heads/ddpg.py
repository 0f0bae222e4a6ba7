"""Heads of DDPG, TD3 and Apex-DDPG: the policy branch gives the action itself."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from gymnasium.spaces import Space
from torch import Tensor

from ...core.formulas.schedules import class_name
from ..models.catalog import build_model
from .ddpg_model import DDPGTorchModel, NoopModel
from .head import PolicyHead, PolicyOutputs

# TD3 is DDPG with other settings; those a config may leave out follow the algorithm.
_HIDDENS: Mapping[str, list[int]] = {"DDPG": [400, 300], "TD3": [400, 300], "APEX_DDPG": [400, 300]}


class DDPGHead(PolicyHead):
    """The action in the environment's own units (the pipeline unsquashes it once more, as Ray)."""

    def _outputs(
        self, input_dict: Mapping[str, Any], state: list[Tensor], seq_lens: Tensor | None
    ) -> PolicyOutputs:
        """Run features and policy branch on a batch."""
        features, _ = self.model(input_dict, [], None)
        action = self.model.get_policy_output(features)
        return PolicyOutputs(action, self.dist_class, [], {})


def build_ddpg_model(
    obs_space: Space[Any],
    action_space: Space[Any],
    config: Mapping[str, Any],
    *,
    algorithm: str = "DDPG",
    custom_models: Mapping[str, Any] | None = None,
) -> Any:
    """DDPG's networks for a trainer config; unset settings are the algorithm's defaults."""
    model_config = dict(config.get("model") or {})
    hiddens = _HIDDENS[algorithm]
    explores = class_name((config.get("exploration_config") or {}).get("type", ""))
    preprocesses = config.get("use_state_preprocessor") is True
    if preprocesses:
        model_config["no_final_linear"] = True
    return build_model(
        obs_space,
        action_space,
        256 if preprocesses else prod(obs_space.shape or ()),
        model_config,
        custom_models=custom_models,
        interface=DDPGTorchModel,
        default_model=None if preprocesses else NoopModel,
        name="ddpg_model",
        actor_hiddens=config.get("actor_hiddens", hiddens),
        actor_hidden_activation=config.get("actor_hidden_activation", "relu"),
        critic_hiddens=config.get("critic_hiddens", hiddens),
        critic_hidden_activation=config.get("critic_hidden_activation", "relu"),
        twin_q=bool(config.get("twin_q", algorithm == "TD3")),
        add_layer_norm=explores == "ParameterNoise",
    )
