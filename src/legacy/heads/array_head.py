"""Heads in pure numpy, for dense and LSTM networks on a CPU: torch is never imported.

`build_array_head` gives the twin of what `registry.build_head` gives, or None where only torch
can run the network. Noisy layers act by their mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Space

from ...core.errors import ConfigError, WeightsError
from ...core.nets.activations import Activation
from ...core.nets.learned_swish import has_learned_swish
from ...core.nets.numpy_columns import ColumnStack, quickest
from ...core.nets.numpy_layers import Dense, Stack, dense, numpy_activation
from ..distributions.choice import DistributionChoice
from ..models.defaults import with_defaults
from .algorithms import algorithm_named
from .family import Blueprint, family

Array = npt.NDArray[Any]
Columns = Mapping[str, Any]
Weights = Mapping[str, Any]
Finish = Callable[[Array], Array]
Forward = Callable[[Columns, Sequence[Array], Any], "ArrayOutputs"]

_TRUNK: Final = ("_hidden_layers.", "_logits.", "_value_branch")


class ArrayOutputs(NamedTuple):
    """One forward pass, seen by a policy: as `PolicyOutputs`, with arrays.

    Args:
        dist_inputs: Inputs of the action distribution, (B, n).
        state_out: The next state, one array per entry of the initial state.
        extra: Fetches the algorithm adds, such as `vf_preds`.
    """

    dist_inputs: Array
    state_out: list[Array]
    extra: dict[str, Array]


class ArrayHead:
    """A network in numpy and the distribution its outputs are inputs of.

    Args:
        algorithm: The algorithm's name.
        distribution: What the outputs are inputs of.
        forward: From columns, state and sequence lengths to outputs.
        initial_state: The state at an episode's start, without batch dimension.
        bare_when_greedy: Whether fetches without exploration are the inputs alone.
        direct: Dense layers from float32 observations `(B, n)`, where the network sees nothing but
            them.
        finish: From what those give to distribution inputs, where that is something else.
    """

    def __init__(
        self,
        algorithm: str,
        distribution: DistributionChoice,
        forward: Forward,
        initial_state: Sequence[Array] = (),
        bare_when_greedy: bool = False,
        direct: ColumnStack | Stack | None = None,
        finish: Finish | None = None,
    ) -> None:
        self.algorithm = algorithm
        self.distribution = distribution
        self.bare_when_greedy = bare_when_greedy
        self.direct, self.finish = direct, finish
        self.forward = forward
        self._initial_state = tuple(initial_state)

    def policy_outputs(
        self, columns: Columns, state: Sequence[Array] = (), seq_lens: Any = None
    ) -> ArrayOutputs:
        """Run the network on a batch.

        Args:
            columns: Arrays by column name; `obs` as the policy sees it.
            state: One array `(B, ...)` per entry of `get_initial_state`.
            seq_lens: Steps per sequence where the rows are padded sequences.
        """
        return self.forward(columns, state, seq_lens)

    def get_initial_state(self) -> list[Array]:
        """The state at an episode's start, without batch dimension; empty if stateless."""
        return [part.copy() for part in self._initial_state]


def build_array_head(
    algorithm: Any,
    obs_space: Space[Any],
    action_space: Space[Any],
    config: Mapping[str, Any],
    weights: Weights,
) -> ArrayHead | None:
    """Build the numpy twin of a policy's head.

    Args:
        algorithm: The algorithm, in any spelling `algorithm_named` knows.
        obs_space: What the policy sees, preprocessed.
        action_space: Where actions come from.
        config: The trainer config.
        weights: Saved weights by Ray's names.

    Returns:
        The head, or None where the network has a part that only torch runs.

    Raises:
        WeightsError: The network could run here, but the weights do not fit it.
    """
    name = algorithm_named(algorithm)
    if (config.get("model") or {}).get("custom_action_dist") or not isinstance(weights, Mapping):
        return None
    if has_learned_swish(weights):
        return None
    own = family(name)
    distribution = own.distribution(action_space, name, config)
    if own.array_head is None:
        return None
    try:
        return own.array_head(
            Blueprint(name, obs_space, action_space, config, distribution), weights
        )
    except ConfigError:
        return None


def feed_forward(
    name: str, distribution: DistributionChoice, stack: Stack, finish: Finish | None = None
) -> ArrayHead:
    """A head whose dense layers, and what is done with their outputs, are all there is."""

    def forward(columns: Columns, state: Sequence[Array], seq_lens: Any) -> ArrayOutputs:
        found = stack(flat_rows(columns["obs"]))
        return ArrayOutputs(found if finish is None else finish(found), [], {})

    return ArrayHead(name, distribution, forward, direct=quickest(stack.layers), finish=finish)


def flat_rows(obs: Any) -> Array:
    """Observations as float32 rows `(B, n)`."""
    rows = np.asarray(obs, np.float32)
    return rows if rows.ndim == 2 else rows.reshape(len(rows), -1)


def dense_trunk(weights: Weights, model_config: Mapping[str, Any]) -> Stack | None:
    """A fully connected network without its value branch; None if it is another kind."""
    config = with_defaults(model_config)
    foreign = any(not key.startswith(_TRUNK) for key in weights)
    images = any(np.ndim(value) > 2 for value in weights.values())
    if foreign or images or config["custom_model"] or config["free_log_std"]:
        return None
    first = "fcnet" if config["fcnet_hiddens"] else "post_fcnet"
    layers = numbered(weights, "_hidden_layers.{}", numpy_activation(config[f"{first}_activation"]))
    if "_logits._model.0.weight" in weights:
        layers.append(dense_layer(weights, "_logits"))
    return Stack(layers)


def numbered(weights: Weights, pattern: str, act: Activation | None) -> list[Dense]:
    """The dense layers whose names are a pattern with the numbers 0, 1..."""
    layers: list[Dense] = []
    while any(key.startswith(f"{pattern.format(len(layers))}.") for key in weights):
        layers.append(dense_layer(weights, pattern.format(len(layers)), act))
    return layers


def dense_layer(weights: Weights, name: str, act: Activation | None = None) -> Dense:
    """One dense or noisy layer, the latter without its noise."""
    noisy = weights.get(f"{name}.w")
    if noisy is not None:
        return Dense(
            np.ascontiguousarray(noisy, np.float32),
            np.ascontiguousarray(weights[f"{name}.b"], np.float32),
            act,
        )
    try:
        return dense(weights[f"{name}._model.0.weight"], weights[f"{name}._model.0.bias"], act)
    except KeyError as missing:
        raise WeightsError(
            f"weights lack {missing.args[0]!r}.", missing=[missing.args[0]]
        ) from None
