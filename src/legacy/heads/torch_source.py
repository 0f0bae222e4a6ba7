"""A torch distribution of a user's own among sources of actions."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from typing_extensions import override

from ...core.arrays.tensors import as_array
from ...core.runtime.torch_draws import drawing
from ...core.types import Array
from ..distributions.action_leaves import map_actions
from ..exploration.exploration import Choice
from ..exploration.tensors import DistributionSource


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
