"""The step of a plan with flat inputs and outputs by name: the form that exporters take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import Parameter, Signature
from typing import Any

import numpy as np
from torch import Tensor, nn

from ...core import nest
from ...core.step.plan import ActPlan
from ...core.step.tensor_step import TensorStep, placed
from ...core.types import Array, Nest
from ...legacy.batches.step_rows import zero_of


@dataclass(frozen=True)
class Port:
    """One tensor that goes in or comes out.

    Args:
        name: "obs", "obs.<path>", "reward", "first", "state.<name>", "action", ...
        shape: Of one row.
        dtype: In numpy's words.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str

    def to_data(self) -> dict[str, Any]:
        """The port as plain data."""
        return {"name": self.name, "shape": list(self.shape), "dtype": self.dtype}

    def zeros(self, rows: int) -> Array:
        """A batch of zeros for it."""
        return np.zeros((rows, *self.shape), self.dtype)


def ports_of(prefix: str, value: Nest) -> list[Port]:
    """One port a leaf, named by its path: keys and positions joined by dots."""
    return [
        Port(name, np.shape(leaf), np.asarray(leaf).dtype.name)
        for name, leaf in nest.named_leaves(prefix, value)
    ]


class FlatStep(nn.Module):
    """A `TensorStep` over a flat list of tensors, as its ports name them.

    `inputs` are observations, reward and first where they matter, and states; `outputs` are
    actions, then states.
    """

    def __init__(self, plan: ActPlan) -> None:
        super().__init__()
        self.step = TensorStep(plan).eval()
        for tensor in (*self.step.parameters(), *self.step.buffers()):
            tensor.data = tensor.data.clone()  # weights of a checkpoint are views of one storage
        self.observation = zero_of(plan.observation_space)
        states = list(zip(plan.memory_names, plan.start, strict=True))
        observed = ports_of("obs", self.observation)
        self._observed = len(observed)
        self._takes_reward = plan.needs_reward
        self._remembers = plan.remembers
        self.inputs = [
            *observed,
            *([Port("reward", (), "float32")] if plan.needs_reward else []),
            *([Port("first", (), "bool")] if plan.remembers else []),
            *(Port(f"state.{name}", state.shape, state.dtype.name) for name, state in states),
        ]
        rows = [placed(port.zeros(2), "cpu") for port in self.inputs]
        flat = self(*rows)
        actions = [tuple(leaf.shape[1:]) for leaf in flat[: len(flat) - len(states)]]
        self.action = self._action(rows)
        named = ports_of("action", self.action)
        self.outputs = [
            *(
                Port(port.name, shape, str(leaf.dtype).removeprefix("torch."))
                for port, shape, leaf in zip(named, actions, flat, strict=False)
            ),
            *(Port(f"next_state.{name}", state.shape, state.dtype.name) for name, state in states),
        ]

    @contextmanager
    def naming_inputs(self) -> Iterator[FlatStep]:
        """This step with a parameter a tensor: torch 2.9 cannot check those of one `*tensors`."""
        names = [f"tensors_{place}" for place in range(len(self.inputs))]
        kind = Parameter.POSITIONAL_OR_KEYWORD

        def forward(*tensors: Tensor) -> tuple[Tensor, ...]:
            return FlatStep.forward(self, *tensors)

        signature = Signature([Parameter(name, kind) for name in names])
        vars(self)["forward"] = forward
        vars(forward)["__signature__"] = signature
        try:
            yield self
        finally:
            del vars(self)["forward"]

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        """Actions and next states, in the order of `outputs`."""
        actions, after = self._run(tensors)
        return (*nest.flatten(actions), *after)

    def _run(self, tensors: Sequence[Tensor]) -> tuple[Nest, tuple[Tensor, ...]]:
        rest = list(tensors)
        obs = nest.unflatten_as(self.observation, rest[: self._observed])
        rest = rest[self._observed :]
        reward = rest.pop(0) if self._takes_reward else None
        first = rest.pop(0) if self._remembers else None
        actions, after = self.step(obs, reward, first, *rest)
        return actions, after

    def _action(self, rows: Sequence[Tensor]) -> Nest:
        actions, _ = self._run(rows)
        return nest.map_structure(lambda leaf: leaf[0].detach().numpy(), actions)
