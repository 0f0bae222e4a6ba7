"""Acting with torch: a head's forward pass, then the same choice of actions as in numpy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from typing_extensions import override

from ...core.runtime.torch_draws import drawing
from ..distributions.action_leaves import map_actions
from ..exploration.exploration import Choice, Exploration
from ..exploration.tensors import DistributionSource
from .acting import choose_actions
from .head import PolicyHead

Array = npt.NDArray[Any]

# A policy's results have at most 32 bits: so does Ray cut them.
_REDUCED = {np.dtype(np.int64): np.int32, np.dtype(np.float64): np.float32}


class TorchSource(DistributionSource):
    """A user's own torch distribution as a source of actions; see `exploration.ActionSource`.

    Its draws come from torch's global generator, which is seeded from `rng` for the draw and put
    back afterwards.

    Args:
        dist_class: Builds the distribution from `(inputs, model)`.
        model: The network.
        inputs: Distribution inputs, (B, n).
        rng: Where seeds come from.
    """

    def __init__(
        self, dist_class: Any, model: Any, inputs: Array, rng: np.random.Generator
    ) -> None:
        self.rng = rng
        self.device = next((p.device for p in model.parameters()), torch.device("cpu"))
        given = torch.from_numpy(np.array(inputs)).to(self.device)
        super().__init__(dist_class(given, model), inputs)

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
            given = map_actions(lambda leaf: torch.as_tensor(leaf, device=self.device), actions)
            return as_array(self.dist.logp(given))


def compute_actions(
    head: PolicyHead,
    input_dict: Mapping[str, Any],
    state: list[Tensor] | None = None,
    seq_lens: Tensor | None = None,
    *,
    exploration: Exploration,
    explore: bool,
    timestep: int | None,
    rng: np.random.Generator,
) -> tuple[Any, list[Array], dict[str, Array]]:
    """Run a head and act: actions, next state and fetches as arrays.

    Args:
        head: The head.
        input_dict: Columns as tensors; `obs` as the policy sees it.
        state: One tensor `(B, ...)` per entry of `get_initial_state`.
        seq_lens: Steps per sequence where the rows are padded sequences.
        exploration: How to explore; counts timesteps.
        explore: False takes the deterministic action.
        timestep: The policy's global timestep, or None.
        rng: Where random numbers come from.
    """
    with torch.no_grad():
        out = head.policy_outputs(input_dict, state, seq_lens)
        source = (
            (lambda inputs: TorchSource(head.dist_class, head.model, inputs, rng))
            if head.distribution.kind == "custom"
            else head.distribution.arrays()
        )
        actions, fetches = choose_actions(
            source,
            as_array(out.dist_inputs),
            {name: as_array(value) for name, value in out.extra.items()},
            exploration,
            explore=explore,
            timestep=timestep,
            rng=rng,
            bare_when_greedy=head.bare_when_greedy,
        )
    return actions, [as_array(part) for part in out.state_out], fetches


def as_array(value: Any) -> Array:
    """A tensor as an array of at most 32 bits."""
    array = np.asarray(value.detach().cpu() if isinstance(value, Tensor) else value)
    return array.astype(_REDUCED.get(array.dtype, array.dtype), copy=False)
