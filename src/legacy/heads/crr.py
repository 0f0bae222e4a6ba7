"""CRR: a stochastic policy, with separate Q networks that only training uses."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final

from gymnasium.spaces import Discrete
from torch import Tensor

from ..models.base import ModelOutput
from .ddpg_model import NoopModel, dense_net
from .family import Blueprint, Family
from .head import ActorHead, PolicyHead

_SETTINGS: Final = (
    "actor_hiddens",
    "actor_hidden_activation",
    "critic_hiddens",
    "critic_hidden_activation",
    "twin_q",
)


class CRRModel(NoopModel):
    """Dense layers from the flat observation to distribution inputs."""

    def _add_own_layers(
        self,
        actor_hiddens: Sequence[int] = (256, 256),
        actor_hidden_activation: str = "relu",
        critic_hiddens: Sequence[int] = (256, 256),
        critic_hidden_activation: str = "relu",
        twin_q: bool = True,
    ) -> None:
        action_space, num_outputs = self.action_space, self.num_outputs
        width = prod(self.obs_space.shape or ())
        actor = (width, actor_hiddens, actor_hidden_activation, num_outputs)
        is_discrete = isinstance(action_space, Discrete)
        actions = 0 if is_discrete else prod(action_space.shape or ())
        critic = (critic_hiddens, critic_hidden_activation, num_outputs if is_discrete else 1)
        self.actor_model = dense_net("actor", *actor)
        self.q_model = dense_net("q", width + actions, *critic)
        self.twin_q_model = dense_net("twin_q", width + actions, *critic) if twin_q else None

    def forward(self, input_dict: Any, state: list[Tensor], seq_lens: Tensor | None) -> ModelOutput:
        """Distribution inputs `(B, num_outputs)`; the state passes through."""
        features, state = super().forward(input_dict, state, seq_lens)
        return self.actor_model(features), state


def _head(plan: Blueprint) -> PolicyHead:
    return plan.head(
        ActorHead,
        plan.distribution.size,
        algorithm=plan.algorithm,
        default_model=CRRModel,
        **{setting: plan.config[setting] for setting in _SETTINGS if setting in plan.config},
    )


FAMILY = Family(_head)
