"""A described network of the old stack as a described module: the same data, the same weights."""

from __future__ import annotations

from typing import Any, Final

from gymnasium.spaces import Space

from ...core.nets.over_vector import over_vector
from ...core.nets.setting import NETWORK
from ...legacy.heads.described_model import DescribedModel
from ...legacy.policy.policy import Policy
from ...v2.modules.described import DescribedTorchRLModule
from ...v2.modules.rl_module import RLModule
from .refusal import NoTwin

_BESIDE: Final = ("prev_actions", "prev_rewards")


def described_module(policy: Policy, model: DescribedModel, vector_space: Space[Any]) -> RLModule:
    """The module of a policy whose network is data.

    Raises:
        NoTwin: It acts by Q values, or sees earlier actions or rewards.
    """
    network = model.bound.described()
    if "q" in network.outputs:
        raise NoTwin("its described network gives Q values, V2's described module a distribution")
    if any(name in _BESIDE for name in network.inputs):
        raise NoTwin("its described network sees earlier actions or rewards, V2's modules do not")
    network = over_vector(network, model.observed.parts, tuple(vector_space.shape or ()))
    module = DescribedTorchRLModule(
        observation_space=vector_space,
        action_space=policy.action_space,
        inference_only=False,
        model_config={NETWORK: network.as_data()},
    )
    module.set_state(policy.get_weights())
    return module
