"""An algorithm's name, spaces and trainer config -> the head that acts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gymnasium.spaces import Space

from ..models.defaults import (
    has_keras_layers,
    has_learned_swish,
    with_defaults,
    with_keras_layers,
    with_learned_swish,
)
from ..models.rlmodule import RLModuleNet, is_rlmodule
from .algorithms import algorithm_named
from .dqn_model import set_noise
from .family import Blueprint, family, policy_distribution
from .head import ActorCriticHead, ActorHead, PolicyHead, RLModuleHead, SimpleQHead
from .network_setting import network_in

if TYPE_CHECKING:
    from ...core.nets import Network


def build_head(
    algorithm: Any,
    obs_space: Space[Any],
    action_space: Space[Any],
    config: Mapping[str, Any],
    *,
    weights: Any = None,
    noise: str = "mean",
    custom_models: Mapping[str, Any] | None = None,
    custom_distributions: Mapping[str, Any] | None = None,
) -> PolicyHead:
    """Build what an old-stack policy computes with.

    Weights go by Ray's names (for ES and ARS they are a flat vector); None takes fresh ones.
    `noise` says what noisy layers do, "mean" or "ray"; see `NoisyLayer`.
    """
    name = algorithm_named(algorithm)
    if isinstance(weights, Mapping) and has_learned_swish(weights):
        config = with_learned_swish(config)
    if isinstance(weights, Mapping) and has_keras_layers(weights):
        config = with_keras_layers(config)
    model_config = config.get("model") or {}
    distribution = policy_distribution(name, action_space, config, custom_distributions)
    head: PolicyHead
    network = network_in(config)
    if network is not None:
        from .described_model import DescribedModel

        model = DescribedModel(
            obs_space, action_space, model_config, network, distribution, weights
        )
        head = _described_head(network)(name, model, distribution)
    elif isinstance(weights, Mapping) and is_rlmodule(weights):
        module = RLModuleNet(
            obs_space, action_space, distribution.size, with_defaults(model_config), weights=weights
        )
        head = RLModuleHead(name, module, distribution)
    else:
        plan = Blueprint(name, obs_space, action_space, config, distribution, custom_models)
        head = family(name).head(plan)
    set_noise(head.model, noise)
    if weights is not None:
        head.load_weights(weights)
    head.model.eval()
    return head


def _described_head(network: Network) -> type[PolicyHead]:
    if "q" in network.outputs:
        return SimpleQHead
    return ActorCriticHead if "value" in network.outputs else ActorHead
