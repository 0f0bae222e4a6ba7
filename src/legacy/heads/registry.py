"""An algorithm's name, spaces and trainer config -> the head that acts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.spaces import Space

from ...core.errors import RlconnectError, WeightsError
from ...core.limits.misfits import asked_shapes, shape_misfit
from ...core.limits.weight_room import BeyondWeightsError, WeightRoom
from ..models.defaults import (
    has_keras_layers,
    has_learned_swish,
    with_defaults,
    with_keras_layers,
    with_learned_swish,
)
from ..models.rlmodule import RLModuleNet, is_rlmodule
from .dqn_model import set_noise
from .family import Blueprint, algorithm_named, family, network_in, policy_distribution
from .head import ActorCriticHead, ActorHead, PolicyHead, RLModuleHead, SimpleQHead

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


def built_head(
    algorithm: Any,
    obs_space: Space[Any],
    action_space: Space[Any],
    config: Mapping[str, Any],
    weights: Mapping[str, Any] | None,
    **options: Any,
) -> PolicyHead:
    """Build a head like `build_head`, in at most the memory that its weights need.

    Raises:
        WeightsError: The settings require another network; names the setting and the weight.
    """
    described = (algorithm, obs_space, action_space, config)
    if weights is None:
        return build_head(*described, **options)
    size = sum(np.size(weight) * 4 for weight in weights.values())
    try:
        with WeightRoom(size, len(weights), "the policy's network"):
            return build_head(*described, weights=weights, **options)
    except BeyondWeightsError as error:
        misfit = _misfit(described, weights, options)
        if misfit is None:
            raise
        raise misfit from error


def _misfit(
    described: tuple[Any, ...], weights: Mapping[str, Any], options: Mapping[str, Any]
) -> WeightsError | None:
    if options.get("custom_models"):  # They may not do without real tensors.
        return None
    try:
        expected_shapes = asked_shapes(lambda: build_head(*described, **options).model)
    except (RlconnectError, RuntimeError, NotImplementedError):
        return None  # The original error is raised instead.
    config = described[3]
    saved_shapes = {name: np.shape(weight) for name, weight in weights.items()}
    return shape_misfit(
        expected_shapes, saved_shapes, "the policy", {**config, **(config.get("model") or {})}
    )
