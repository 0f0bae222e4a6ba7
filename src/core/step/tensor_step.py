"""The complete step of a plan as a torch module: constants as buffers, memory as tensors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from .. import array_namespace as xp
from .. import nest
from ..types import Nest
from .plan import ActPlan, Running, run_step


class TensorStep(nn.Module):
    """A plan on tensors: from raw observations to environment actions.

    Args:
        plan: The plan.

    Attributes:
        plan: The plan.
        brain: Network and distribution.
    """

    def __init__(self, plan: ActPlan) -> None:
        super().__init__()
        self.plan = plan
        self.brain: Any = plan.brain.tensor_module()
        self._names = [
            [self._held(f"part_{place}_{at}", each) for at, each in enumerate(part.constants)]
            for place, part in enumerate((*plan.obs, *plan.reward, *plan.action))
        ]
        self._starts = [self._held(f"start_{at}", each) for at, each in enumerate(plan.start)]

    def forward(
        self, obs: Nest, reward: Tensor | None, first: Tensor, *memory: Tensor
    ) -> tuple[Nest, tuple[Tensor, ...]]:
        """Run one step without exploration.

        `first` marks the rows that start an episode. Returns the environment's actions and the new
        memory.
        """
        return run_step(self.plan, self._running(self.brain.greedy), obs, reward, first, memory)

    @torch.inference_mode()
    def act(
        self,
        obs: Nest,
        reward: Any,
        first: Any,
        memory: tuple[Any, ...],
        rng: np.random.Generator | None = None,
    ) -> tuple[Nest, tuple[Tensor, ...]]:
        """A step from arrays or tensors; explores if there is a generator."""
        device = self.device
        observations = nest.map_structure(lambda leaf: placed(leaf, device), obs)
        if first is None:
            first = torch.zeros(nest.a_leaf(observations).shape[0], dtype=torch.bool, device=device)
        earned = None if reward is None else placed(reward, device)
        remembered = tuple(placed(each, device) for each in memory)
        if rng is None:
            actions, after = self(observations, earned, placed(first, device), *remembered)
            return actions, after
        how = self._running(lambda inputs: self._explored(inputs, rng))
        exploring = self.plan.brain.exploring(rng, self.brain)
        how = how if exploring is None else replace(how, run=exploring)
        return run_step(self.plan, how, observations, earned, placed(first, device), remembered)

    @property
    def device(self) -> Any:
        """The device of the step."""
        for tensor in (*self.parameters(), *self.buffers()):
            return tensor.device
        return torch.device("cpu")

    def _running(self, choose: Any) -> Running:
        constants = [[getattr(self, name) for name in names] for names in self._names]
        starts = [getattr(self, name) for name in self._starts]
        return Running(self.brain, choose, constants, starts)

    def _explored(self, inputs: Tensor, rng: np.random.Generator) -> Nest:
        # Explorations count timesteps and keep noise in arrays: they choose on the host.
        actions = self.plan.brain.explored(xp.to_numpy(inputs), rng)
        return nest.map_structure(lambda leaf: placed(np.asarray(leaf), inputs.device), actions)

    def _held(self, name: str, value: Any) -> str:
        self.register_buffer(name, torch.as_tensor(np.array(value)))
        return name


def placed(value: Any, device: Any) -> Tensor:
    """An array or a tensor as a tensor on `device`, in its own dtype."""
    if isinstance(value, Tensor):
        return value.to(device)
    array = np.asarray(value)
    if not array.flags.writeable:
        array = array.copy()  # torch shares the memory, and warns where it may not write
    return torch.from_numpy(np.ascontiguousarray(array)).to(device)
