"""SAC, CQL, RNNSAC: a policy net acts, Q nets come along for the round trip."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from gymnasium.spaces import Box, Discrete, Space, Tuple

from ..distributions.choice import DistributionChoice, by_space, is_simplex, require
from ..models.as_data import Shapes, acting, trunk
from .agreement import Claim, dense_claims, twin_claims
from .catalog_networks import complete, no_lower_value
from .family import Blueprint, Family, TensorFlowReader, below

if TYPE_CHECKING:
    from ...core.nets import Network
    from ..tf.layers import Layer
    from .head import PolicyHead

Settings = Mapping[str, Any]

_POLICY: Final = ("policy_model_config", "policy_model")
_Q: Final = ("q_model_config", "Q_model")
_NET: Final[Mapping[str, Any]] = {
    "fcnet_hiddens": [256, 256],
    "fcnet_activation": "relu",
    "post_fcnet_hiddens": [],
    "post_fcnet_activation": None,
    "custom_model": None,
    "custom_model_config": {},
}
"""Default settings of each network."""


_OLDEST: Final = {"hidden_layer_sizes": "fcnet_hiddens", "hidden_activation": "fcnet_activation"}
"""Names of two settings until Ray 0.8."""


def net_config(config: Mapping[str, Any], spelling: str, older: str) -> Mapping[str, Any]:
    """The model settings of one network; what they leave out is as in the shared ones.

    A dict of the user's takes the place of SAC's own as a whole, so that it may leave out the
    activation, which is tanh then. Under the older spelling it was laid over SAC's own.

    `older` is what the key was called up to Ray 1.13; later configs keep it, with a -1 in it.
    """
    shared = config.get("model") or {}
    if isinstance(config.get(spelling), Mapping):
        return {**shared, **config[spelling]}
    older_settings = config.get(older)
    changes = older_settings if isinstance(older_settings, Mapping) else {}
    return {**shared, **_NET, **{_OLDEST.get(key, key): value for key, value in changes.items()}}


def _head(plan: Blueprint) -> PolicyHead:
    from .sac_model import SACHead, SACTorchModel

    config = plan.config
    return plan.head(
        SACHead,
        None,
        default_model=SACTorchModel,
        name="sac_model",
        policy_model_config=net_config(config, *_POLICY),
        q_model_config=net_config(config, *_Q),
        twin_q=bool(config.get("twin_q", True)),
        initial_alpha=float(config.get("initial_alpha", 1.0)),
        target_entropy=config.get("target_entropy"),
    )


def _network(plan: Blueprint, shapes: Shapes) -> Network:
    layers = trunk(shapes, net_config(plan.config, *_POLICY), "action_model.")
    return acting(layers, shapes, "logits")


def _distribution(space: Space[Any], algorithm: str, config: Settings) -> DistributionChoice:
    if isinstance(space, Discrete) or is_simplex(space):
        return by_space(space)
    require(space, Box, algorithm)
    size = 2 * int(np.prod(space.shape or ()))
    if not config.get("normalize_actions", True):
        return DistributionChoice("diag_gaussian", size, space)
    beta = bool(config.get("_use_beta_distribution", False))
    return DistributionChoice("beta" if beta else "squashed_gaussian", size, space)


def _claims(config: Settings, weights: Settings, action_space: Any) -> Iterator[Claim]:
    for keys, prefix in ((_POLICY, "action_model."), (_Q, "q_net.")):
        yield from dense_claims(net_config(config, *keys), below(weights, prefix), keys[0])
    yield from twin_claims(config, weights, "q_net.", "twin_q_net.")


def _layers(plan: Blueprint, named: bool) -> list[Layer]:
    from ..tf.layers import Layer
    from ..tf.networks import network

    config, obs_space, action_space = plan.config, plan.obs_space, plan.action_space
    policy = complete(net_config(config, *_POLICY))
    q_net = complete(net_config(config, *_Q))
    q_space, q_outputs = obs_space, 1
    original = getattr(obs_space, "original_space", obs_space)
    if isinstance(action_space, Discrete):
        q_outputs = int(action_space.n)
    elif not (isinstance(original, Box) and len(original.shape) == 1):
        q_space = Tuple([original, action_space])
    for space, settings in ((obs_space, policy), (q_space, q_net)):
        no_lower_value(space, settings)
    outputs = _distribution(action_space, plan.algorithm, config).size
    layers = network(obs_space, outputs, policy, "action_model.", named=named)
    for name in ("q_net.", "twin_q_net.")[: 2 if config.get("twin_q", True) else 1]:
        layers += network(q_space, q_outputs, q_net, name, named=named)
    return [*layers, Layer("scalar", "log_alpha", "log_alpha")]


FAMILY = Family(_head, _network, _distribution, _claims, TensorFlowReader(_layers))
