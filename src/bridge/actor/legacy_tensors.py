"""The network of an old-stack policy as one torch module over columns and states."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from ...core.types import Nest
from ...legacy.policy.policy import Policy
from .module_brain import as_int32


class LegacyTensors(nn.Module):
    """Network, distribution inputs and the most probable action, in torch.

    Its network is copied, so that moving this one moves nothing else.
    """

    def __init__(self, policy: Policy) -> None:
        super().__init__()
        head = policy.networks.torch().head
        self.network: nn.Module = copy.deepcopy(head.model)
        self.network.eval()
        self._head = copy.copy(head)
        self._head.model = self.network
        self._head.__dict__["_extra"] = _nothing  # actions need no value estimate
        self._prepare = policy.exploration.prepare
        kind = head.distribution
        self._shift = math.log(kind.size) if kind.kind == "categorical" else None

    def forward(
        self, columns: Mapping[str, Any], states: list[Tensor]
    ) -> tuple[Tensor, list[Tensor]]:
        """Distribution inputs and next states."""
        output = self._head.policy_outputs(dict(columns), list(states), None)
        return output.dist_inputs, output.state_out

    def greedy(self, inputs: Tensor) -> Nest:
        """The most probable actions, whole numbers in 32 bits."""
        inputs = self._prepare(inputs)
        if self._shift is not None:  # as `most_probable_of_columns` chooses
            return as_int32((inputs - self._shift).argmax(dim=-1))
        return as_int32(self._head.dist_class(inputs, self.network).deterministic_sample())


def _nothing(dist_inputs: Tensor) -> dict[str, Tensor]:
    return {}
