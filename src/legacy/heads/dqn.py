"""Heads that act by Q values: DQN with all its variants, Apex, R2D2 and SimpleQ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gymnasium.spaces import Space
from torch import Tensor

from ...core.formulas.schedules import class_name
from ..distributions.choice import DistributionChoice
from ..models.catalog import build_model
from .dqn_model import DQNTorchModel
from .head import PolicyHead, PolicyOutputs


class DQNHead(PolicyHead):
    """Q values are the logits the best action is chosen by.

    Where the trunk is recurrent (R2D2) the state goes through it.

    Args:
        algorithm: The algorithm's name.
        model: A trunk with `DQNTorchModel` in front.
        distribution: A categorical one.
        temperature: Q values are divided by it, in the fetches as well (as in Ray).
    """

    def __init__(
        self,
        algorithm: str,
        model: Any,
        distribution: DistributionChoice,
        temperature: float = 1.0,
    ) -> None:
        super().__init__(algorithm, model, distribution)
        self.temperature = float(temperature)

    def _outputs(
        self, input_dict: Mapping[str, Any], state: list[Tensor], seq_lens: Tensor | None
    ) -> PolicyOutputs:
        """Run trunk and branches on a batch."""
        features, state_out = self.model(input_dict, state, seq_lens)
        values = self.model.q_values(features)
        if self.temperature != 1.0:
            values = values / self.temperature
        return PolicyOutputs(values, self.dist_class, state_out, {"q_values": values})


class SimpleQHead(PolicyHead):
    """The network's outputs are the Q values."""

    def _extra(self, dist_inputs: Tensor) -> dict[str, Tensor]:
        return {"q_values": dist_inputs}


def build_q_model(
    obs_space: Space[Any],
    action_space: Space[Any],
    config: Mapping[str, Any],
    *,
    custom_models: Mapping[str, Any] | None = None,
) -> Any:
    """DQN's network for a trainer config; unset settings are DQN's defaults."""
    model_config = dict(config.get("model") or {})
    hiddens = config.get("hiddens", [256])
    hiddens = [] if hiddens is None else list(hiddens)
    num_outputs = int(action_space.n)  # type: ignore[attr-defined]  # Discrete
    if hiddens:
        # With branches on top the trunk ends in its last hidden layer.
        num_outputs = [256, *(model_config.get("fcnet_hiddens", [256, 256]) or [])][-1]
        model_config["no_final_linear"] = True
    explores = class_name((config.get("exploration_config") or {}).get("type", ""))
    return build_model(
        obs_space,
        action_space,
        num_outputs,
        model_config,
        custom_models=custom_models,
        interface=DQNTorchModel,
        name="q_func",
        q_hiddens=hiddens,
        dueling=bool(config.get("dueling", True)),
        num_atoms=int(config.get("num_atoms", 1)),
        use_noisy=bool(config.get("noisy", False)),
        v_min=float(config.get("v_min", -10.0)),
        v_max=float(config.get("v_max", 10.0)),
        sigma0=float(config.get("sigma0", 0.5)),
        add_layer_norm=explores == "ParameterNoise",
    )
