"""What a policy computes with: a head run by numpy or by torch, behind one interface.

The rule of choice: on the CPU, a head that has a numpy twin (dense and LSTM networks) runs there
for up to `MAX_NUMPY_ROWS` rows, where torch's dispatch would cost more than the arithmetic; a
policy that only ever needs it does not import torch. Everything else, and larger batches, run
in torch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import numpy as np

from ..core.types import Array
from .distributions.arrays import ArrayDistribution
from .exploration import ActionSource
from .heads.array_head import ArrayHead

if TYPE_CHECKING:
    from .heads.head import PolicyHead

MAX_NUMPY_ROWS: Final = 1024
Chooser = ArrayDistribution | Callable[[Array], ActionSource]


class NetworkOutput(NamedTuple):
    """One forward pass.

    Args:
        dist_inputs: Inputs of the action distribution, (B, n).
        state_out: The next state, one array per entry of the initial state.
        extra: Fetches the algorithm adds, such as `vf_preds`.
    """

    dist_inputs: Array
    state_out: list[Array]
    extra: dict[str, Array]


class Network(Protocol):
    """A network that a policy can ask for distribution inputs.

    `initial_state` is the state at an episode's start, without batch dimension;
    `bare_when_greedy` tells whether fetches without exploration are the inputs alone.
    """

    initial_state: list[Array]
    bare_when_greedy: bool

    def run(self, columns: Mapping[str, Any], state: Sequence[Any], seq_lens: Any) -> NetworkOutput:
        """One forward pass over a batch of columns."""

    def chooser(self, rng: np.random.Generator) -> Chooser:
        """What turns distribution inputs into actions."""


class ArrayNetwork:
    """A head in numpy."""

    def __init__(self, head: ArrayHead) -> None:
        self.head = head
        self.initial_state = head.get_initial_state()
        self.bare_when_greedy = head.bare_when_greedy
        self._distribution = head.distribution.arrays()

    def run(self, columns: Mapping[str, Any], state: Sequence[Any], seq_lens: Any) -> NetworkOutput:
        """One forward pass over a batch of columns."""
        return NetworkOutput(*self.head.policy_outputs(columns, state, seq_lens))

    def chooser(self, rng: np.random.Generator) -> Chooser:
        """The numpy distribution."""
        return self._distribution


class TorchNetwork:
    """A head in torch, on some device.

    Args:
        head: The algorithm's head; its model is moved to `device`.
        device: Where the forward pass runs.
    """

    def __init__(self, head: PolicyHead, device: str = "cpu") -> None:
        from .heads.torch_source import as_array
        from ..core.tensors import as_tensors

        self.head = head
        self.device = device
        self._as_array, self._as_tensors = as_array, as_tensors
        head.model.to(device)
        self.initial_state: list[Array] = [as_array(part) for part in head.get_initial_state()]
        self.bare_when_greedy = head.bare_when_greedy

    def run(self, columns: Mapping[str, Any], state: Sequence[Any], seq_lens: Any) -> NetworkOutput:
        """One forward pass over a batch of columns."""
        import torch

        with torch.inference_mode():
            tensors = {name: self._as_tensors(part, self.device) for name, part in columns.items()}
            states = [self._as_tensors(part, self.device) for part in state]
            lens = None if seq_lens is None else self._as_tensors(seq_lens, self.device)
            out = self.head.policy_outputs(tensors, states, lens)
            return NetworkOutput(
                self._as_array(out.dist_inputs),
                [self._as_array(part) for part in out.state_out],
                {name: self._as_array(part) for name, part in out.extra.items()},
            )

    def chooser(self, rng: np.random.Generator) -> Chooser:
        """The numpy distribution, or the user's own torch class."""
        if self.head.distribution.kind != "custom":
            return self.head.distribution.arrays()
        from .heads.torch_source import TorchSource

        return lambda inputs: TorchSource(self.head.dist_class, self.head.model, inputs, rng)


def rows_of(obs: Any) -> int:
    """Rows in a batch of observations, nested or not."""
    while isinstance(obs, (dict, tuple, list)):
        obs = next(iter(obs.values())) if isinstance(obs, dict) else obs[0]
    return len(obs) if np.ndim(obs) else 1
