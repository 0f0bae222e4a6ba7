"""Explorations asked the way Ray asks them: a torch distribution in, tensors out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..distributions.action_leaves import map_actions

if TYPE_CHECKING:
    from ...core.types import Array
    from .exploration import Choice, Exploration


class DistributionSource:
    """A torch distribution as an `exploration.ActionSource`; draws come from torch's generator.

    Args:
        dist: The distribution, built from its inputs.
        inputs: These, (B, n); what the distribution holds if None.
    """

    def __init__(self, dist: Any, inputs: Array | None = None) -> None:
        self.dist = dist
        self.inputs = self.array(dist.inputs) if inputs is None else inputs

    def deterministic(self) -> Any:
        """The actions taken without exploration."""
        return map_actions(self.array, self.dist.deterministic_sample())

    def sample(self) -> Choice:
        """Random actions and their log-probabilities."""
        actions = self.dist.sample()
        return map_actions(self.array, actions), self.array(self.dist.sampled_action_logp())

    @staticmethod
    def array(value: Any) -> Array:
        """A tensor as an array."""
        return np.asarray(value.detach().cpu())


def tensor_choice(
    exploration: Exploration, dist: Any, *, timestep: Any, explore: bool
) -> tuple[Any, torch.Tensor]:
    """What an exploration picks from a torch distribution, on that distribution's device."""
    inputs = exploration.prepare(dist.inputs)
    if inputs is not dist.inputs:
        dist = type(dist)(inputs, dist.model)
    rng = np.random.default_rng(int(torch.randint(2**62, ())))
    actions, logp = exploration.choose(
        DistributionSource(dist),
        explore=bool(explore),
        timestep=None if timestep is None else int(timestep),
        rng=rng,
    )

    def tensor(array: Array) -> torch.Tensor:
        tensor = torch.as_tensor(np.asarray(array), device=inputs.device)
        return tensor.long() if tensor.dtype == torch.int32 else tensor

    return map_actions(tensor, actions), tensor(logp)
