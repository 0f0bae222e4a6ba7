"""Network and distribution of a module of the new stack, for arrays and for tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ...core import nest, xp
from ...core.errors import PieceError
from ...core.tensors import as_tensors
from ...core.types import Array, Nest
from .int_actions import as_int32

_INPUTS = "action_dist_inputs"


class ModuleBrain:
    """What a torch RLModule computes when it acts.

    Args:
        module: The module; a copy of it is used, in evaluation mode.
    """

    def __init__(self, module: Any) -> None:
        self._tensors = ModuleTensors(module)

    def quick(self, rows: int) -> None:
        """Nothing: the module computes in torch."""

    def run(self, columns: Mapping[str, Any], states: list[Any]) -> tuple[Any, list[Any]]:
        """What actions are made of, and next states."""
        with torch.inference_mode():
            inputs, after = self._tensors(
                {name: as_tensors(part) for name, part in columns.items()},
                [as_tensors(part) for part in states],
            )
        return nest.map_structure(xp.to_numpy, inputs), [xp.to_numpy(part) for part in after]

    def greedy(self, inputs: Any) -> Nest:
        """The best actions."""
        with torch.inference_mode():
            actions = self._tensors.greedy(as_tensors(inputs))
        return nest.map_structure(xp.to_numpy, actions)

    def explored(self, inputs: Any, rng: np.random.Generator) -> Nest:
        """Actions drawn from the module's exploration distribution.

        Raises:
            PieceError: The module explores in some way of its own.
        """
        return nest.map_structure(xp.to_numpy, self._tensors.drawn(as_tensors(inputs), rng))

    def tensor_module(self) -> Any:
        """The module over columns and states."""
        import copy

        return copy.deepcopy(self._tensors)


class ModuleTensors(nn.Module):
    """A module's forward pass over columns and a flat list of states.

    Args:
        module: The module.
    """

    def __init__(self, module: Any) -> None:
        import copy

        super().__init__()
        self.module: Any = copy.deepcopy(module).eval()
        self._state = initial_state(module)
        self._gives_actions = False

    def forward(self, columns: Mapping[str, Any], states: list[Tensor]) -> tuple[Any, list[Tensor]]:
        """What actions are made of, and next states; rows have no time axis."""
        batch: dict[str, Any] = {"obs": columns["obs"]}
        if states:
            batch["obs"] = nest.map_structure(lambda leaf: leaf[:, None], columns["obs"])
            batch["state_in"] = nest.unflatten_as(self._state, states)
        found = self.module._forward_inference(batch)
        self._gives_actions = _INPUTS not in found
        inputs = found["actions" if self._gives_actions else _INPUTS]
        if states:
            inputs = nest.map_structure(lambda leaf: leaf[:, 0], inputs)
        return inputs, nest.flatten(found["state_out"]) if states else []

    def greedy(self, inputs: Any) -> Nest:
        """The best actions, whole numbers in 32 bits."""
        if self._gives_actions:
            return as_int32(inputs)
        kind = self.module.get_inference_action_dist_cls()
        return as_int32(kind.from_logits(inputs).to_deterministic().sample())

    def drawn(self, inputs: Any, rng: np.random.Generator) -> Nest:
        """Actions drawn with torch's generator, which is seeded for the draw and put back."""
        if self._gives_actions:
            raise PieceError(
                f"{type(self.module).__name__} explores in its own forward pass",
                expected="explore=False",
                hint="call its forward_exploration() through its pipelines.",
            )
        kind = self.module.get_exploration_action_dist_cls()
        with torch.random.fork_rng(devices=()), torch.no_grad():
            torch.manual_seed(int(rng.integers(2**63)))
            return as_int32(kind.from_logits(inputs).sample())


def initial_state(module: Any) -> Nest:
    """A module's state at an episode's start as arrays; an empty dict if it has none."""
    found: Nest = module.get_initial_state() if module.is_stateful() else {}
    return nest.map_structure(lambda leaf: np.asarray(xp.to_numpy(leaf), np.float32), found)


def state_leaves(module: Any) -> list[Array]:
    """The parts of that state."""
    found = initial_state(module)
    return nest.flatten(found) if found else []
