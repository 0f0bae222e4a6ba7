"""Linear bandits: one regression an arm, from the observation to what the arm is worth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from gymnasium.spaces import Discrete, Space
from torch import Tensor, nn

from ...core.formulas.schedules import class_name
from ..distributions.choice import DistributionChoice, by_space, require
from ..models.base import LegacyModel, ModelOutput
from .family import Blueprint, Family
from .head import ActorHead, PolicyHead


class LinearArm(nn.Module):
    """The sums of one arm's regression, under Ray's names, and what follows from them."""

    def __init__(self, width: int) -> None:
        super().__init__()

        def kept(value: Tensor) -> nn.Parameter:
            return nn.Parameter(value, requires_grad=False)

        self.precision = kept(torch.eye(width))
        self.covariance = kept(torch.eye(width))
        self.f = kept(torch.zeros(width))
        self.theta = kept(torch.zeros(width))


class LinearBanditModel(LegacyModel):
    """The worth of each arm as a linear function of the observation.

    It gives one score an arm, or (Thompson sampling) worth and deviation of each.
    """

    def _add_own_layers(self) -> None:
        arms = int(self.action_space.n)
        width = int((self.obs_space.shape or (1,))[0])
        self.arms = nn.ModuleList([LinearArm(width) for _ in range(arms)])
        self.tells_deviations = self.num_outputs == 2 * arms

    def forward(self, input_dict: Any, state: list[Tensor], seq_lens: Tensor | None) -> ModelOutput:
        """Scores `(B, arms)`: worth plus one deviation; or both, `(B, 2 * arms)`."""
        x = input_dict["obs_flat"].float()
        theta = torch.stack([arm.theta for arm in self.arms])  # type: ignore[misc]  # a LinearArm
        covariance = torch.stack([arm.covariance for arm in self.arms])  # type: ignore[misc]
        worth = x @ theta.T
        deviation = torch.einsum("bi,aij,bj->ba", x, covariance, x).clamp_min(0.0).sqrt()
        if self.tells_deviations:
            return torch.cat([worth, deviation], dim=-1), state
        return worth + deviation, state

    def value_function(self) -> Tensor:
        """Zero: there is no value estimate."""
        return torch.zeros(1)


def _head(plan: Blueprint) -> PolicyHead:
    outputs = plan.distribution.size
    return plan.head(ActorHead, outputs, algorithm=plan.algorithm, default_model=LinearBanditModel)


def _distribution(
    space: Space[Any], algorithm: str, config: Mapping[str, Any]
) -> DistributionChoice:
    require(space, Discrete, algorithm)
    # One policy class serves both; how it explores tells them apart.
    usual = "ThompsonSampling" if algorithm == "BanditLinTS" else ""
    explores = (config.get("exploration_config") or {}).get("type", usual)
    choice = by_space(space)
    if class_name(explores) != "ThompsonSampling":
        return choice
    return DistributionChoice("gaussian_arms", 2 * choice.size, space)


FAMILY = Family(_head, distribution=_distribution)
