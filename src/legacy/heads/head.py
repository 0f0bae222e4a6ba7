"""What every head offers: a network under Ray's parameter names, and how a policy reads it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any, Final, NamedTuple

import numpy as np
from torch import Tensor

from ...core.runtime.sharing import Turn
from ..distributions.choice import DistributionChoice
from .evolution import unflattened


class PolicyOutputs(NamedTuple):
    """One forward pass, seen by a policy.

    Args:
        dist_inputs: Inputs of the action distribution, (B, n).
        dist_class: Builds the torch distribution from `(dist_inputs, model)`.
        state_out: The next state, one tensor an entry; empty if stateless.
        extra: Fetches the algorithm adds, e.g. `vf_preds` or `q_values`.
    """

    dist_inputs: Tensor
    dist_class: Any
    state_out: list[Tensor]
    extra: dict[str, Tensor]


class PolicyHead:
    """A network and the algorithm's way to get distribution inputs from it.

    `bare_when_greedy` tells whether fetches without exploration are the inputs alone.
    """

    bare_when_greedy = False

    def __init__(self, algorithm: str, model: Any, distribution: DistributionChoice) -> None:
        self.algorithm = algorithm
        self.model: Any = model
        self.distribution = distribution
        self.dist_class = distribution.torch_class()
        self._turn: Any = nullcontext() if keeps_by_thread(model) else Turn()

    def policy_outputs(
        self,
        input_dict: Mapping[str, Any],
        state: list[Tensor] | None = None,
        seq_lens: Tensor | None = None,
    ) -> PolicyOutputs:
        """Run the network on a batch; one of a user's own, one batch at a time.

        The state is one tensor `(B, ...)` per entry of `get_initial_state`; `seq_lens` counts the
        steps of padded sequences.
        """
        with self._turn:
            return self._outputs(input_dict, state or [], seq_lens)

    def _outputs(
        self, input_dict: Mapping[str, Any], state: list[Tensor], seq_lens: Tensor | None
    ) -> PolicyOutputs:
        dist_inputs, state_out = self.model(input_dict, state, seq_lens)
        return PolicyOutputs(dist_inputs, self.dist_class, state_out, self._extra(dist_inputs))

    def _extra(self, dist_inputs: Tensor) -> dict[str, Tensor]:
        return {}

    def get_initial_state(self) -> list[Any]:
        """The state at an episode's start, without batch dimension; empty if stateless."""
        states: list[Any] = self.model.get_initial_state()
        return states

    def load_weights(self, weights: Any) -> None:
        """Put saved weights into the network; every name and shape must fit."""
        from ..models.weights import load_weights

        load_weights(self.model, weights)


class ActorHead(PolicyHead):
    """PG: the network's outputs are the distribution's inputs, and that is all."""


class ActorCriticHead(PolicyHead):
    """PPO, APPO, IMPALA, A2C, A3C, MARWIL, BC: as PG, with the value estimate beside it."""

    def _extra(self, dist_inputs: Tensor) -> dict[str, Tensor]:
        return {"vf_preds": self.model.value_function()}


class SimpleQHead(PolicyHead):
    """A described network whose outputs are the Q values."""

    def _extra(self, dist_inputs: Tensor) -> dict[str, Tensor]:
        return {"q_values": dist_inputs}


class EvolutionHead(PolicyHead):
    """ES, ARS: as PG, with weights by name or as one vector in sorted order of the names."""

    def load_weights(self, weights: Any) -> None:
        """Put weights into the network."""
        if not isinstance(weights, Mapping):
            weights = unflattened(self.model, np.asarray(weights))
        super().load_weights(weights)


class RLModuleHead(ActorCriticHead):
    """An RLModule inside an old policy; values, if it has some, are told only when it explores."""

    bare_when_greedy = True

    def _extra(self, dist_inputs: Tensor) -> dict[str, Tensor]:
        has_values = getattr(self.model, "vf", None) is not None
        return super()._extra(dist_inputs) if has_values else {}

    def load_weights(self, weights: Any) -> None:
        """Nothing to do: the network was built from the weights."""


def keeps_by_thread(model: Any) -> bool:
    """Whether a network is wholly of our own making, and torch's.

    What a forward pass leaves for `value_function` is then kept by thread. Networks of a user's own
    keep it in their attributes.
    """
    modules = [*model.modules()] if hasattr(model, "modules") else [model]
    parts = [*modules, *(getattr(each, "_module", each) for each in modules)]
    kinds = {kind for part in parts for kind in type(part).__mro__}
    return {kind.__module__.partition(".")[0] for kind in kinds} <= _OURS


_OURS: Final = frozenset(
    {__name__.partition(".")[0], "torch", "builtins", "typing", "collections", "abc"}
)
