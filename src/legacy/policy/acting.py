"""How a policy acts: batches of columns in, actions, states and fetches out.

Connectors have no part in this; `inference` runs a policy with them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from gymnasium.spaces import Space

from ...core import nest
from ...core.errors import PieceError
from ...core.runtime.sharing import Turn
from ...core.types import Array
from ..batches.column_store import ColumnStore
from ..exploration.exploration import ArraySource, Exploration
from .networks import Chooser, Network, NetworkOutput, PolicyNetworks, rows_of
from .refusals import column_refusal, nan_refusal, odd_shape

_NO_LOGP: Final = np.float32(0.0)
_SURE: Final = np.float32(1.0)


class Acting:
    """The acting part of a policy; `Policy` says what its attributes are."""

    name: str
    algorithm: str
    config: dict[str, Any]
    observation_space: Space[Any]
    action_space_struct: Any
    exploration: Exploration
    networks: PolicyNetworks
    global_timestep: int
    rng: np.random.Generator
    _row_shape: tuple[int, ...] | None
    turn: Turn

    def get_initial_state(self) -> list[Array]:
        """The recurrent state at an episode's start, without batch axis; empty if stateless."""
        return [part.copy() for part in self.networks.initial_state]

    def compute_actions_from_input_dict(
        self,
        input_dict: Mapping[str, Any],
        explore: bool | None = None,
        timestep: int | None = None,
        episodes: Any = None,
        **kwargs: Any,
    ) -> tuple[Any, list[Array], dict[str, Any]]:
        """Compute actions, next states and fetches for a batch of columns.

        Args:
            input_dict: Columns with a leading batch axis: `obs` and the columns of the views.
            explore: Whether to explore; None follows the config.
            timestep: The global timestep for exploration schedules.
            episodes: Ignored; for RLlib's signature.
            **kwargs: Ignored; for RLlib's signature.
        """
        columns = input_dict.as_read() if isinstance(input_dict, ColumnStore) else input_dict
        network, outputs = self._forward(columns, states_in(columns))
        actions, fetches = self._chosen(network, outputs, columns, explore, timestep)
        return actions, outputs.state_out, fetches

    def answer_alone(
        self, columns: Mapping[str, Any], explore: bool | None = None, timestep: int | None = None
    ) -> tuple[Any, list[Array], dict[str, Any]]:
        """The answer to columns of one row, without batch axis."""
        network = self.networks.numpy or self.networks.torch()
        _, outputs = self._forward(columns, states_in(columns), network)
        dist_inputs, state_out, extra = outputs
        kind, distribution = type(self.exploration), network.distribution
        explore = self.config.get("explore", True) if explore is None else explore
        is_usual = kind.choose is Exploration.choose and kind.prepare is Exploration.prepare
        if explore or distribution is None or not is_usual or has_nan(dist_inputs):
            actions, fetches = self._chosen(network, outputs, columns, explore, timestep)
            fetches = {name: part[0] for name, part in fetches.items()}
        else:  # the same result, without a source and without powers of zeros
            with self.turn:
                now = self.global_timestep if timestep is None else timestep
                self.exploration.last_timestep = int(now)
                self.global_timestep += 1
            actions = distribution.deterministic(dist_inputs)
            fetches = {}
            if not network.bare_when_greedy:
                fetches = {name: part[0] for name, part in extra.items()}
            fetches["action_dist_inputs"] = dist_inputs[0]
            if not network.bare_when_greedy:
                fetches["action_prob"], fetches["action_logp"] = _SURE, _NO_LOGP
        action = actions[0] if type(actions) is np.ndarray else nest.taken(actions, 0)
        return action, [part[0] for part in state_out], fetches

    def _chosen(
        self,
        network: Network,
        outputs: NetworkOutput,
        columns: Mapping[str, Any],
        explore: bool | None,
        timestep: int | None,
    ) -> tuple[Any, dict[str, Array]]:
        """The actions for what a network made of columns, and the fetches; the steps are counted.

        Raises:
            SpaceError: The network put out NaN.
        """
        inputs = outputs.dist_inputs
        if has_nan(inputs):
            raise nan_refusal(self, columns, inputs)
        with self.turn:
            distribution = network.distribution
            chosen = choose_actions(
                network.chooser(self.rng) if distribution is None else distribution,
                inputs,
                outputs.extra,
                self.exploration,
                explore=bool(self.config.get("explore", True) if explore is None else explore),
                timestep=self.global_timestep if timestep is None else timestep,
                rng=self.rng,
                bare_when_greedy=network.bare_when_greedy,
            )
            self.global_timestep += len(inputs)
        return chosen

    def compute_actions(
        self,
        obs_batch: Any,
        state_batches: Sequence[Any] | None = None,
        prev_action_batch: Any = None,
        prev_reward_batch: Any = None,
        info_batch: Any = None,
        episodes: Any = None,
        explore: bool | None = None,
        timestep: int | None = None,
        **kwargs: Any,
    ) -> tuple[Any, list[Array], dict[str, Any]]:
        """Actions, next states and fetches for a batch of preprocessed observations."""
        columns = self._columns(obs_batch, prev_action_batch, prev_reward_batch)
        for index, part in enumerate(state_batches or ()):
            columns[f"state_in_{index}"] = part
        return self.compute_actions_from_input_dict(columns, explore, timestep)

    def compute_single_action(
        self,
        obs: Any = None,
        state: Sequence[Any] | None = None,
        *,
        prev_action: Any = None,
        prev_reward: Any = None,
        info: Any = None,
        input_dict: Mapping[str, Any] | None = None,
        episode: Any = None,
        explore: bool | None = None,
        timestep: int | None = None,
        **kwargs: Any,
    ) -> tuple[Any, list[Array], dict[str, Any]]:
        """Action, next state and fetches for one preprocessed observation, without batch axis."""
        if input_dict is None:
            columns: dict[str, Any] = {"obs": obs}
            if prev_action is not None:
                columns["prev_actions"] = prev_action
            if prev_reward is not None:
                columns["prev_rewards"] = prev_reward
            for index, part in enumerate(state or self.get_initial_state()):
                columns[f"state_in_{index}"] = part
        else:
            columns = dict(input_dict)
        batch = {
            name: nest.map_structure(lambda leaf: np.asarray(leaf)[None], value)
            for name, value in columns.items()
            if name != "infos"
        }
        actions, states, fetches = self.compute_actions_from_input_dict(batch, explore, timestep)
        return (
            nest.taken(actions, 0),
            [part[0] for part in states],
            nest.taken(fetches, 0),
        )

    def compute_log_likelihoods(
        self,
        actions: Any,
        obs_batch: Any,
        state_batches: Sequence[Any] | None = None,
        prev_action_batch: Any = None,
        prev_reward_batch: Any = None,
        actions_normalized: bool = True,
        in_training: bool = True,
    ) -> Array:
        """Log-probabilities (B,) of actions under the policy's own distribution.

        Args:
            actions: Actions, a leading batch axis on each leaf.
            obs_batch: Preprocessed observations.
            state_batches: The state before each.
            prev_action_batch: Earlier actions, if the network sees them.
            prev_reward_batch: Earlier rewards, if it sees them.
            actions_normalized: Whether the actions are in the network's range; otherwise they
                are brought there first, if the config normalises actions.
            in_training: Ignored; for RLlib's signature.
        """
        columns = self._columns(obs_batch, prev_action_batch, prev_reward_batch)
        state = [np.asarray(part) for part in state_batches or ()]
        network, outputs = self._forward(columns, state)
        if not actions_normalized and self.config.get("normalize_actions", True):
            from ...core.formulas.actions import normalize_action

            actions = normalize_action(actions, self.action_space_struct)
        distribution = network.chooser(self.rng)
        if callable(distribution):
            raise PieceError(
                "a custom action distribution gives log-probabilities only to torch",
                hint="build it from policy.model and policy.dist_class.",
            )
        inputs = self.exploration.prepare(outputs.dist_inputs)
        logp: Array = distribution.logp(inputs, actions)
        return logp

    def value(self, input_dict: Mapping[str, Any]) -> Array:
        """The value estimates (B,) for a batch of columns.

        Raises:
            PieceError: The algorithm has no value network.
        """
        columns = dict(input_dict)
        columns["obs"] = self._batched(columns["obs"])
        state = [columns[key] for key in sorted(columns) if key.startswith("state_in_")]
        extra = self._forward(columns, state)[1].extra
        if "vf_preds" not in extra:
            raise PieceError(f"{self.algorithm} policies have no value estimate")
        return extra["vf_preds"]

    def _forward(
        self, columns: Mapping[str, Any], state: Sequence[Any], network: Network | None = None
    ) -> tuple[Network, NetworkOutput]:
        """Run a network, by default the one for this number of rows, on a batch.

        Errors of the network are explained in terms of columns.
        """
        try:
            obs = columns["obs"]
            is_array = type(obs) is np.ndarray
            if is_array and obs.shape[1:] != self._row_shape:
                raise odd_shape(self, obs)
            if network is None:
                rows = len(obs) if is_array and obs.ndim else rows_of(obs)
                network = self.networks.for_rows(rows)
            lens = columns.get("seq_lens") if state else None
            if state:
                lens = np.ones(len(state[0]), np.int32) if lens is None else np.asarray(lens)
            return network, network.run(columns, state, lens)
        except (IndexError, KeyError, RuntimeError, TypeError, ValueError) as error:
            better = column_refusal(self, columns, error)
            if better is error:
                raise
            raise better from error

    def _columns(self, obs: Any, prev_actions: Any, prev_rewards: Any) -> dict[str, Any]:
        columns: dict[str, Any] = {"obs": self._batched(obs)}
        if prev_actions is not None:
            columns["prev_actions"] = nest.map_structure(np.asarray, prev_actions)
        if prev_rewards is not None:
            columns["prev_rewards"] = np.asarray(prev_rewards)
        return columns

    def _batched(self, obs: Any) -> Any:
        """A batch of observations as arrays; a list of them is stacked."""
        if isinstance(obs, list) and obs and not isinstance(obs[0], (list, int, float)):
            return nest.map_structure(lambda *leaves: np.stack(leaves), *obs)
        if isinstance(obs, list):
            return np.asarray(obs, np.float32)
        return nest.map_structure(np.asarray, obs)


def states_in(columns: Mapping[str, Any]) -> list[Any]:
    """The states among columns, in order."""
    states: list[Any] = []
    while (name := f"state_in_{len(states)}") in columns:
        states.append(columns[name])
    return states


def choose_actions(
    distribution: Chooser,
    dist_inputs: Array,
    extra: Mapping[str, Array],
    exploration: Exploration,
    *,
    explore: bool,
    timestep: int | None,
    rng: np.random.Generator,
    bare_when_greedy: bool = False,
) -> tuple[Any, dict[str, Array]]:
    """Pick actions for a batch and put the fetches together as Ray orders and names them.

    Fetches are `extra`, then `action_dist_inputs`, `action_prob` and `action_logp` (one and zero
    wherever nothing was sampled); with `bare_when_greedy` the inputs alone where nothing explores.
    """
    inputs = exploration.prepare(dist_inputs)
    source = (
        distribution(inputs) if callable(distribution) else ArraySource(distribution, inputs, rng)
    )
    actions, logp = exploration.choose(source, explore=explore, timestep=timestep, rng=rng)
    if bare_when_greedy and not explore:
        return actions, {"action_dist_inputs": inputs}
    fetches = {**extra, "action_dist_inputs": inputs}
    fetches["action_prob"], fetches["action_logp"] = np.exp(logp), logp
    if inputs is not dist_inputs and "q_values" in fetches:
        fetches["q_values"] = inputs  # in Ray both names are the one tensor that was scaled
    return actions, fetches


def has_nan(outputs: Array) -> bool:
    """Whether a network put out a NaN; minus infinity, a masked action, is no matter.

    Example:
        >>> has_nan(np.array([[0.5, -np.inf]])), has_nan(np.array([[0.5, np.nan]]))
        (False, True)
    """
    # A search through bytes: on one row it is several times as fast as any().
    return b"\x01" in np.isnan(outputs).tobytes()
