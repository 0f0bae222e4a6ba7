"""Base class of heads: a network with Ray's parameter names, and how a policy uses it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from ...core.errors import WeightsError
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
        load_weights(self.model, weights)


class ActorHead(PolicyHead):
    """PG: the network's outputs are the distribution's inputs, and that is all."""


class ActorCriticHead(PolicyHead):
    """PPO, APPO, IMPALA, A2C, A3C, MARWIL, BC: like PG, with a value function."""

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
    """An RLModule in an old policy; its values are only returned while exploring."""

    bare_when_greedy = True

    def _extra(self, dist_inputs: Tensor) -> dict[str, Tensor]:
        has_values = getattr(self.model, "vf", None) is not None
        return super()._extra(dist_inputs) if has_values else {}

    def load_weights(self, weights: Any) -> None:
        """Nothing to do: the network was built from the weights."""


def keeps_by_thread(model: Any) -> bool:
    """Return True if a network consists only of classes of rlconnect and torch.

    The results of a forward pass for `value_function` are then stored per thread. Custom networks
    store them in their attributes.
    """
    modules = [*model.modules()] if hasattr(model, "modules") else [model]
    parts = [*modules, *(getattr(each, "_module", each) for each in modules)]
    kinds = {kind for part in parts for kind in type(part).__mro__}
    return {kind.__module__.partition(".")[0] for kind in kinds} <= _OURS


_OURS: Final = frozenset(
    {__name__.partition(".")[0], "torch", "builtins", "typing", "collections", "abc"}
)


_SHOWN = 12
# The networks of the components of nested observations, see `complex.py`.
_COMPONENT: Final = re.compile(r"(^|\.)(cnns?|flatten|one_hot)[._]\d+\.")


def load_weights(model: nn.Module, weights: Mapping[str, Any]) -> None:
    """Copy weights into a model by name, strictly; on an error, the model is unchanged.

    Aliases of a loaded tensor (`cnns.0` is also `cnn_0`), constant buffers and the names in the
    model's `unused_weights` may be missing.

    Raises:
        WeightsError: Names are missing or unexpected, or shapes differ; all of them are listed
            in the message and in `missing`, `unexpected` and `misshaped`.
    """
    parameters = model.state_dict(keep_vars=True)
    unexpected = [name for name in weights if name not in parameters]
    misshaped = [
        f"{name} (expected {tuple(parameters[name].shape)}, found {np.shape(value)})"
        for name, value in weights.items()
        if name in parameters and tuple(parameters[name].shape) != tuple(np.shape(value))
    ]
    missing = _missing(model, parameters, weights)
    if missing or unexpected or misshaped:
        raise _misfit(model, missing, unexpected, misshaped)
    with torch.no_grad():
        for name, value in weights.items():
            parameters[name].copy_(_tensor(value))


def _missing(
    model: nn.Module, parameters: Mapping[str, Tensor], weights: Mapping[str, Any]
) -> list[str]:
    filled = {id(parameters[name]) for name in weights if name in parameters}
    optional = tuple(getattr(model, "unused_weights", ()))
    buffers = {name for name, _ in model.named_buffers(remove_duplicate=False)}
    return [
        name
        for name, tensor in parameters.items()
        if name not in weights
        and id(tensor) not in filled
        and name not in buffers
        and not (optional and name.startswith(optional))
    ]


def _tensor(value: Any) -> Tensor:
    if isinstance(value, Tensor):
        return value
    return torch.from_numpy(np.array(value))  # a copy: saved arrays may be read-only


def _misfit(
    model: nn.Module, missing: list[str], unexpected: list[str], misshaped: list[str]
) -> WeightsError:
    parts = [
        f"{word}: {', '.join(names[:_SHOWN])}" + (f" and {more} more" if more > 0 else "")
        for word, names in (
            ("missing", missing),
            ("unexpected", unexpected),
            ("of another shape", misshaped),
        )
        if names
        for more in [len(names) - _SHOWN]
    ]
    is_loss = not unexpected and not misshaped and all(map(_COMPONENT.search, missing))
    return WeightsError(
        f"weights do not fit {type(model).__name__}; {'; '.join(parts)}",
        hint="Ray up to 2.0 did not save networks of an observation's components: they are lost."
        if is_loss
        else "model settings and spaces must be those the weights were saved with.",
        missing=missing,
        unexpected=unexpected,
        misshaped=misshaped,
    )
