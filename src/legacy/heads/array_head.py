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
from ...core.nets.numpy_layers import Dense, Stack, beside, dense, numpy_activation
from ..distributions.choice import DistributionChoice, distribution_for
from ..models.defaults import with_defaults
from ..models.numpy_forward import NumpyNet
from . import q_arrays
from .algorithms import FAMILIES, algorithm_named
from .sac_config import net_config

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
    model_config = config.get("model") or {}
    if model_config.get("custom_action_dist") or not isinstance(weights, Mapping):
        return None
    if has_learned_swish(weights):
        return None
    distribution = distribution_for(action_space, model_config, name, config=config)
    builders = {"dqn": _dqn, "sac": _sac, "ddpg": _ddpg}
    build = builders.get(FAMILIES[name], _plain)
    try:
        return build(name, obs_space, distribution, config, weights)
    except ConfigError:
        return None


def _plain(
    name: str,
    obs_space: Space[Any],
    distribution: DistributionChoice,
    config: Mapping[str, Any],
    weights: Weights,
) -> ArrayHead | None:
    settings = with_defaults(config.get("model") or {})
    if not NumpyNet.fits(weights, settings):
        return None
    net = NumpyNet.from_weights(weights, settings, obs_space, distribution.space, distribution.size)
    sees_actions = net.is_recurrent and settings["lstm_use_prev_action"]
    sees_rewards = net.is_recurrent and settings["lstm_use_prev_reward"]
    family = FAMILIES[name]

    def forward(columns: Columns, state: Sequence[Array], seq_lens: Any) -> ArrayOutputs:
        before = net.encode_actions(columns["prev_actions"]) if sees_actions else None
        reward = columns["prev_rewards"] if sees_rewards else None
        outputs, value, after = net.forward(columns["obs"], state, before, reward, seq_lens)
        extra: dict[str, Array] = {}
        if family == "actor_critic" and value is not None:
            extra["vf_preds"] = value
        elif family == "simple_q":
            extra["q_values"] = outputs
        return ArrayOutputs(outputs, after, extra)

    bare = any(key.startswith("encoder.") for key in weights)
    return ArrayHead(name, distribution, forward, net.get_initial_state(), bare, net.direct())


def _dqn(
    name: str,
    obs_space: Space[Any],
    distribution: DistributionChoice,
    config: Mapping[str, Any],
    weights: Weights,
) -> ArrayHead | None:
    branches = ("advantage_module.", "value_module.")
    below = {key: value for key, value in weights.items() if not key.startswith(branches)}
    trunk = _trunk(below, config.get("model") or {})
    if trunk is None or any("LayerNorm" in key for key in weights):
        return None
    advantage, value = (_branch(weights, branch) for branch in branches)
    dueling = bool(config.get("dueling", True))
    joint = beside(advantage, value) if dueling else advantage
    stack = Stack([*trunk.layers, *(() if joint is None else joint.layers)])
    outputs = advantage.layers[-1].bias.size if advantage.layers else 0
    num_atoms = int(config.get("num_atoms", 1))
    v_min, v_max = float(config.get("v_min", -10.0)), float(config.get("v_max", 10.0))
    atoms = q_arrays.support(num_atoms, v_min, v_max) if num_atoms > 1 else None
    temperature = np.float32(config.get("categorical_distribution_temperature", 1.0))

    def values(found: Array) -> Array:
        scores = worth = found
        if joint is None:
            scores, worth = advantage(found), value(found)
        elif dueling:
            scores, worth = found[:, :outputs], found[:, outputs:]
        if atoms is not None:
            logits = scores.reshape(len(scores), -1, num_atoms)
            if dueling:
                logits = q_arrays.dueling_logits(logits, worth)
            scores = q_arrays.expected_return(logits, atoms)
        elif dueling:
            scores = q_arrays.dueling_q(scores, worth)
        return scores if temperature == 1 else scores / temperature

    def forward(columns: Columns, state: Sequence[Array], seq_lens: Any) -> ArrayOutputs:
        scores = values(stack(_flat(columns["obs"])))
        return ArrayOutputs(scores, [], {"q_values": scores})

    return ArrayHead(name, distribution, forward, direct=quickest(stack.layers), finish=values)


def _sac(
    name: str,
    obs_space: Space[Any],
    distribution: DistributionChoice,
    config: Mapping[str, Any],
    weights: Weights,
) -> ArrayHead | None:
    policy = _below(weights, "action_model.")
    trunk = _trunk(policy, net_config(config, "policy_model_config", "policy_model"))
    return None if trunk is None else _feed_forward(name, distribution, trunk)


def _ddpg(
    name: str,
    obs_space: Space[Any],
    distribution: DistributionChoice,
    config: Mapping[str, Any],
    weights: Weights,
) -> ArrayHead | None:
    own = ("policy_model.", "q_model.", "twin_q_model.")
    if any("LayerNorm" in key or not key.startswith(own) for key in weights):
        return None
    act = numpy_activation(config.get("actor_hidden_activation", "relu"))
    policy = _below(weights, "policy_model.")
    hidden = _numbered(policy, "action_{}", act)
    stack = Stack([*hidden, _dense(policy, "action_out")])
    low = policy.get("action_out_squashed.low_action")
    if low is None:
        return _feed_forward(name, distribution, stack)
    span = np.asarray(policy["action_out_squashed.action_range"], np.float32)

    def squashed(x: Array) -> Array:
        # By way of tanh: range * sigmoid(2x) + low without an overflow to silence.
        bent = (np.tanh(x) + np.float32(1)) * np.float32(0.5)
        return np.asarray(span * bent + low, np.float32)

    return _feed_forward(name, distribution, stack, squashed)


def _feed_forward(
    name: str, distribution: DistributionChoice, stack: Stack, finish: Finish | None = None
) -> ArrayHead:
    def forward(columns: Columns, state: Sequence[Array], seq_lens: Any) -> ArrayOutputs:
        found = stack(_flat(columns["obs"]))
        return ArrayOutputs(found if finish is None else finish(found), [], {})

    return ArrayHead(name, distribution, forward, direct=quickest(stack.layers), finish=finish)


def _flat(obs: Any) -> Array:
    rows = np.asarray(obs, np.float32)
    return rows if rows.ndim == 2 else rows.reshape(len(rows), -1)


def _trunk(weights: Weights, model_config: Mapping[str, Any]) -> Stack | None:
    """A fully connected network without its value branch; None if it is another kind."""
    config = with_defaults(model_config)
    foreign = any(not key.startswith(_TRUNK) for key in weights)
    images = any(np.ndim(value) > 2 for value in weights.values())
    if foreign or images or config["custom_model"] or config["free_log_std"]:
        return None
    first = "fcnet" if config["fcnet_hiddens"] else "post_fcnet"
    layers = _numbered(
        weights, "_hidden_layers.{}", numpy_activation(config[f"{first}_activation"])
    )
    if "_logits._model.0.weight" in weights:
        layers.append(_dense(weights, "_logits"))
    return Stack(layers)


def _branch(weights: Weights, prefix: str) -> Stack:
    """A Q branch, its noisy layers without their noise; an absent one hands features through."""
    own = _below(weights, prefix)
    letter = prefix[0].upper()
    layers = _numbered(own, f"dueling_{letter}_{{}}", numpy_activation("relu"))
    if any(key.startswith(f"{letter}.") for key in own):
        layers.append(_dense(own, letter))
    return Stack(layers)


def _below(weights: Weights, prefix: str) -> dict[str, Any]:
    return {k.removeprefix(prefix): v for k, v in weights.items() if k.startswith(prefix)}


def _numbered(weights: Weights, pattern: str, act: Activation | None) -> list[Dense]:
    layers: list[Dense] = []
    while any(key.startswith(f"{pattern.format(len(layers))}.") for key in weights):
        layers.append(_dense(weights, pattern.format(len(layers)), act))
    return layers


def _dense(weights: Weights, name: str, act: Activation | None = None) -> Dense:
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
