"""Explorations asked the way Ray asks them: a torch distribution in, tensors out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from typing_extensions import override

from ...core.arrays.tensors import as_array
from ...core.runtime.torch_draws import drawing
from ...core.types import Array
from ..distributions.action_leaves import map_actions
from .exploration import Choice

if TYPE_CHECKING:
    from .exploration import Exploration


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
    """Choose actions from a torch distribution, on its device."""
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


class TorchSource(DistributionSource):
    """A user's own torch distribution as a source of actions; see `exploration.ActionSource`.

    Its draws come from torch's global generator, which is seeded from `rng` for the draw and put
    back afterwards.
    """

    def __init__(
        self, dist_class: Any, model: Any, inputs: Array, rng: np.random.Generator
    ) -> None:
        self.rng = rng
        self.device = next((p.device for p in model.parameters()), torch.device("cpu"))
        tensor = torch.from_numpy(np.array(inputs)).to(self.device)
        super().__init__(dist_class(tensor, model), inputs)

    @override
    def sample(self) -> Choice:
        with drawing(int(self.rng.integers(2**63)), self.device):
            return super().sample()

    @staticmethod
    @override
    def array(value: Any) -> Array:
        return as_array(value)

    def logp(self, actions: Any) -> Array:
        """The log-probabilities of given actions."""
        with torch.no_grad():
            tensors = map_actions(lambda leaf: torch.as_tensor(leaf, device=self.device), actions)
            return as_array(self.dist.logp(tensors))
