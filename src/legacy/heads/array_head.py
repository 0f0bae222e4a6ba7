"""Heads in pure numpy, for dense and LSTM networks on a CPU: torch is never imported.

`build_array_head` gives the twin of what `registry.build_head` gives, or None where only torch
can run the network. Noisy layers act by their mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Box, Space

from ...core.errors import ConfigError, SpaceError, WeightsError
from ...core.importing.torch_needed import has_torch
from ...core.nets import Network, bind
from ...core.nets.arrays import ArrayNetwork, Finish
from ...core.nets.numpy_layers import ColumnStack, Stack
from ...core.types import Array
from ..distributions.families import Family as Distribution
from ..models.defaults import has_learned_swish
from ..models.leaves import action_encoder, action_width
from .described import Observed, bound_to
from .family import Blueprint, algorithm_named, family, network_in

Columns = Mapping[str, Any]
Weights = Mapping[str, Any]


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


Forward = Callable[[Columns, Sequence[Array], Any], ArrayOutputs]
"""From columns, state and sequence lengths to outputs."""


class ArrayHead:
    """A network in numpy and the distribution its outputs are inputs of; `networks.Network`.

    `see` makes of the columns of a batch what the network sees; None where that is the same.
    """

    def __init__(
        self,
        plan: Blueprint,
        network: ArrayNetwork,
        see: Callable[[Columns], Columns] | None = None,
        bare_when_greedy: bool = False,
    ) -> None:
        self.initial_state: list[Array] = list(network.initial_state())
        self.bare_when_greedy = bare_when_greedy
        self.distribution = plan.distribution.arrays()
        self._network, self._sees_more = network, see is not None
        from_rows = network.from_rows() if see is None else None
        # No method of this object, which would keep it alive in a circle.
        self.run: Forward = (
            _forward(network, see, bool(plan.model_config.get("_time_major")))
            if from_rows is None
            else _of_rows("q" in network.bound.network.outputs, from_rows)
        )

    def chooser(self, rng: np.random.Generator) -> Distribution:
        """The numpy distribution."""
        return self.distribution

    def direct(self) -> tuple[ColumnStack | Stack, Finish | None] | None:
        """See `ArrayNetwork.direct`; None where the network sees more than observations."""
        return None if self._sees_more else self._network.direct()


def build_array_head(
    algorithm: Any,
    obs_space: Space[Any],
    action_space: Space[Any],
    config: Mapping[str, Any],
    weights: Weights,
) -> ArrayHead | None:
    """The numpy twin of a policy's head; None where the network has a part that only torch runs.

    Raises:
        WeightsError: The network could run here, but the weights do not fit it.
    """
    name, settings = algorithm_named(algorithm), config.get("model") or {}
    if settings.get("custom_action_dist") or not isinstance(weights, Mapping):
        return None
    of_algorithm = family(name)
    distribution = of_algorithm.distribution(action_space, name, config)
    plan = Blueprint(name, obs_space, action_space, config, distribution)
    described = network_in(config)
    if described is not None:
        return _of_description(plan, described, weights)
    if of_algorithm.network is None or settings.get("custom_model") or has_learned_swish(weights):
        return None
    try:
        shapes = {name: _shape(value) for name, value in weights.items()}
        return head_of(plan, of_algorithm.network(plan, shapes), weights)
    except ConfigError:
        return None


def head_of(plan: Blueprint, network: Network, weights: Weights) -> ArrayHead:
    """The head of a network read off a policy's weights, which sees vectors.

    Raises:
        WeightsError: The weights do not fit it, or the policy's spaces.
    """
    inputs = {
        "obs": (prod(plan.obs_space.shape or ()),),
        "prev_actions": (action_width(plan.action_space),),
        "prev_rewards": (1,),
    }
    size = plan.distribution.size
    try:
        bound = bind(network, network.shapes, inputs, {"logits": size, "q": size})
    except SpaceError as error:
        raise WeightsError(
            f"the weights have another width than settings and spaces: {error.message}",
            expected=error.expected,
            found=error.found,
        ) from error
    names = tuple(bound.inputs)
    see = _with_actions(plan.action_space, names) if len(names) > 1 else None
    is_module = any(key.startswith("encoder.") for key in weights)
    return ArrayHead(plan, ArrayNetwork(bound, weights), see, is_module)


def _of_description(plan: Blueprint, network: Network, weights: Weights) -> ArrayHead | None:
    """The head of a network that somebody described; None where torch is to run it."""
    observed = Observed(plan.obs_space, plan.action_space, plan.model_config)
    bound = bound_to(network, weights, observed, plan.distribution)
    if bound.has_images and has_torch():
        return None
    names, encode = set(network.inputs), action_encoder(plan.action_space)
    is_plain = names == {"obs"} and isinstance(observed.space, Box) and not observed.is_raw
    see = None if is_plain else lambda columns: observed.of(_as_arrays(columns), names, encode)
    return ArrayHead(plan, ArrayNetwork(bound, weights), see)


def _forward(
    network: ArrayNetwork, see: Callable[[Columns], Columns] | None, is_time_major: bool
) -> Forward:
    """The pass of any network."""
    is_q = "q" in network.bound.network.outputs

    def forward(columns: Columns, state: Sequence[Array], seq_lens: Any) -> ArrayOutputs:
        sequences = None if seq_lens is None else len(seq_lens)
        inputs = columns if see is None else see(columns)
        outputs, value, after = network.compute(inputs, state, sequences)
        if is_time_major and after and sequences:
            outputs = _time_first(outputs, sequences)
            value = None if value is None else _time_first(value, sequences)
        if value is not None:
            return ArrayOutputs(outputs, after, {"vf_preds": value})
        return ArrayOutputs(outputs, after, {"q_values": outputs} if is_q else {})

    return forward


def _of_rows(is_q: bool, from_rows: Callable[[Any], tuple[Any, Any]]) -> Forward:
    """The pass of a network that sees nothing but rows of observations, without a detour."""

    def forward(columns: Columns, state: Sequence[Array], seq_lens: Any) -> ArrayOutputs:
        outputs, value = from_rows(np.asarray(columns["obs"], np.float32))
        if value is not None:
            return ArrayOutputs(outputs, [], {"vf_preds": value})
        return ArrayOutputs(outputs, [], {"q_values": outputs} if is_q else {})

    return forward


def _shape(value: Any) -> tuple[int, ...]:
    return value.shape if type(value) is np.ndarray else np.shape(value)


def _with_actions(space: Space[Any], names: Sequence[str]) -> Callable[[Columns], Columns]:
    """Return a function that adds previous actions and rewards to the inputs of a network."""
    encode = action_encoder(space)
    sees_actions, sees_rewards = (f"prev_{what}" in names for what in ("actions", "rewards"))

    def see(columns: Columns) -> Columns:
        inputs = {"obs": columns["obs"]}
        if sees_actions:
            inputs["prev_actions"] = encode(columns["prev_actions"])
        if sees_rewards:
            inputs["prev_rewards"] = np.asarray(columns["prev_rewards"], np.float32).reshape(-1, 1)
        return inputs

    return see


def _as_arrays(columns: Columns) -> Columns:
    obs = columns["obs"]
    is_nested = isinstance(obs, (Mapping, list, tuple))
    return {**columns, "obs": obs if is_nested else np.asarray(obs)}


def _time_first(rows: Array, sequences: int) -> Array:
    """Rows of sequences as rows of steps."""
    by_time: Array = rows.reshape(sequences, -1, *rows.shape[1:]).swapaxes(0, 1).reshape(rows.shape)
    return by_time
