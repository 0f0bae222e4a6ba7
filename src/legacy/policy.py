"""A policy of the old stack: weights and connectors that turn observations into actions.

`Policy.from_checkpoint(path)` loads what any Ray 2.x saved. What it computes with is chosen in
`networks`, how it explores in `exploration`, what flows around it in `pipeline`; `build` makes
policies from records, `export` writes them, `inference` steps them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from gymnasium.spaces import Space

from ..core import nest
from ..core.actions import get_base_struct_from_space
from ..core.errors import PieceError, RlconnectError, SpaceError
from ..core.types import Array
from .default_views import default_views, lstm_views
from .exploration_config import exploration_for
from .heads.acting import choose_actions
from .heads.algorithms import algorithm_named
from .heads.array_head import build_array_head
from .networks import MAX_NUMPY_ROWS, ArrayNetwork, Network, NetworkOutput, TorchNetwork, rows_of

if TYPE_CHECKING:
    from ..core.vault import PolicyRecord
    from .pipeline import ActionConnectorPipeline, AgentConnectorPipeline

DEFAULT_POLICY_ID = "default_policy"


class Policy:
    """A network, its exploration and its connectors.

    Args:
        observation_space: What the network takes; its `original_space` is the environment's.
        action_space: The environment's.
        config: The old trainer config; missing settings have RLlib's defaults.
        algorithm: Which algorithm's head to build, in any spelling RLlib ever used.
        weights: Arrays by Ray's names; None for freshly initialised ones.
        device: Where torch networks run.
        noise: What noisy layers do: "mean" acts by their means, "ray" draws at every call.
        custom_models: Classes for model names of the config.
        custom_distributions: Classes for names of custom action distributions.
        exploration_state: What a checkpoint saved of the exploration.
        name: The policy's id.

    Example:
        >>> from gymnasium.spaces import Box, Discrete
        >>> policy = Policy(Box(-1, 1, (4,)), Discrete(2), {"seed": 0})
        >>> action, state, fetches = policy.compute_single_action(np.zeros(4), explore=False)
        >>> int(action) in (0, 1), state, sorted(fetches)[:2]
        (True, [], ['action_dist_inputs', 'action_logp'])
    """

    framework = "torch"

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Space[Any],
        config: Mapping[str, Any] | None = None,
        *,
        algorithm: Any = "PPO",
        weights: Mapping[str, Any] | None = None,
        device: str = "cpu",
        noise: Literal["mean", "ray"] = "mean",
        custom_models: Mapping[str, Any] | None = None,
        custom_distributions: Mapping[str, Any] | None = None,
        exploration_state: Any = None,
        name: str = DEFAULT_POLICY_ID,
    ) -> None:
        self.observation_space = observation_space
        self.action_space = action_space
        self.observation_space_struct = get_base_struct_from_space(observation_space)
        self.action_space_struct = get_base_struct_from_space(action_space)
        self.config: dict[str, Any] = dict(config or {})
        self.algorithm = algorithm_named(algorithm)
        self.device = str(device)
        self.noise = noise
        self.name = name
        self.global_timestep = 0
        self.num_grad_updates = 0
        self.record: PolicyRecord | None = None
        self.exploration = exploration_for(action_space, self.config, exploration_state)
        self.agent_connectors: AgentConnectorPipeline | None = None
        self.action_connectors: ActionConnectorPipeline | None = None
        self._custom_models = dict(custom_models or {})
        self._custom_distributions = dict(custom_distributions or {})
        self._weights: dict[str, Array] | None = None if weights is None else dict(weights)
        self._torch: TorchNetwork | None = None
        self._numpy: ArrayNetwork | None = None
        self.seed(self.config.get("seed"))
        self._numpy = self._numpy_network()
        self.view_requirements = self._views()

    # Loading and saving.

    @classmethod
    def from_checkpoint(
        cls,
        checkpoint: str | os.PathLike[str],
        policy_ids: Iterable[str] | None = None,
        *,
        device: str = "cpu",
        noise: Literal["mean", "ray"] = "mean",
        custom_models: Mapping[str, Any] | None = None,
        custom_distributions: Mapping[str, Any] | None = None,
        custom_preprocessors: Mapping[str, Any] | None = None,
    ) -> Any:
        """The policy in a policy folder, or a dict of all (or some) in an algorithm folder.

        Args:
            checkpoint: Any checkpoint of the old stack, or one that rlconnect exported.
            policy_ids: Only these, from a folder of several.
            device: Where torch networks run.
            noise: What noisy layers do; see the class.
            custom_models: Classes for model names the config holds.
            custom_distributions: Classes for names of custom action distributions.
            custom_preprocessors: Classes for preprocessor names the config holds.

        Raises:
            CheckpointError: The checkpoint cannot be read.
            UnknownNameError: It holds no policy, or connector, of some name.
            ConfigError: Its network is a class of its author's that was not supplied.
        """
        from .build import load_policies

        return load_policies(
            cls,
            checkpoint,
            policy_ids,
            device=device,
            noise=noise,
            custom_models=custom_models,
            custom_distributions=custom_distributions,
            custom_preprocessors=custom_preprocessors,
        )

    @classmethod
    def from_state(cls, state: Mapping[str, Any], **options: Any) -> Policy:
        """The policy whose `get_state()` this is; options as for `from_checkpoint`."""
        from .build import policy_from_state

        return policy_from_state(cls, state, **options)

    def export_checkpoint(
        self,
        export_dir: str | os.PathLike[str],
        *,
        arrays: Literal["file", "inline"] = "file",
    ) -> None:
        """Save the policy in rlconnect's format: JSON, safetensors, no pickle; all or nothing.

        Args:
            export_dir: The folder to write; a name that ends in `.json` makes one file.
            arrays: "inline" writes the weights into the JSON, for small networks.

        Raises:
            CheckpointWriteError: The disk refuses; what was there before is untouched.
        """
        from .export import export_policy

        export_policy(self, export_dir, arrays=arrays)

    # Acting.

    def compute_actions_from_input_dict(
        self,
        input_dict: Mapping[str, Any],
        explore: bool | None = None,
        timestep: int | None = None,
        episodes: Any = None,
        **kwargs: Any,
    ) -> tuple[Any, list[Array], dict[str, Any]]:
        """Actions, next states and fetches for a batch of columns.

        Args:
            input_dict: Columns with a leading batch axis: `obs`, and what the views ask for.
            explore: Whether to explore; None does as the config says.
            timestep: The global timestep, which exploration schedules look at.
            episodes: Ignored; for RLlib's signature.
            **kwargs: Ignored; for RLlib's signature.
        """
        columns = input_dict
        state, index = [], 0
        while (key := f"state_in_{index}") in columns:
            state.append(columns[key])
            index += 1
        rows = rows_of(columns["obs"])
        found = self._network(rows).run(columns, state, self._seq_lens(columns, state))
        return self._act(found, explore, timestep, rows)

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
        columns: dict[str, Any] = {"obs": self._batched(obs_batch)}
        if prev_action_batch is not None:
            columns["prev_actions"] = nest.map_structure(np.asarray, prev_action_batch)
        if prev_reward_batch is not None:
            columns["prev_rewards"] = np.asarray(prev_reward_batch)
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
        columns["obs"] = self._checked(columns["obs"])
        batch = {
            name: nest.map_structure(lambda leaf: np.asarray(leaf)[None], value)
            for name, value in columns.items()
            if name != "infos"
        }
        actions, states, fetches = self.compute_actions_from_input_dict(batch, explore, timestep)
        return (
            nest.map_structure(lambda leaf: leaf[0], actions),
            [part[0] for part in states],
            nest.map_structure(lambda leaf: leaf[0], fetches),
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
        columns: dict[str, Any] = {"obs": self._batched(obs_batch)}
        if prev_action_batch is not None:
            columns["prev_actions"] = nest.map_structure(np.asarray, prev_action_batch)
        if prev_reward_batch is not None:
            columns["prev_rewards"] = np.asarray(prev_reward_batch)
        state = [np.asarray(part) for part in state_batches or ()]
        network = self._network(rows_of(columns["obs"]))
        found = network.run(columns, state, self._seq_lens(columns, state))
        if not actions_normalized and self.config.get("normalize_actions", True):
            from ..core.actions import normalize_action

            actions = normalize_action(actions, self.action_space_struct)
        distribution = network.chooser(self.rng)
        if callable(distribution):
            raise PieceError(
                "a custom action distribution gives log-probabilities only to torch",
                hint="build it from policy.model and policy.dist_class.",
            )
        inputs = self.exploration.prepare(found.dist_inputs)
        return distribution.logp(inputs, actions)

    def value(self, input_dict: Mapping[str, Any]) -> Array:
        """The value estimates (B,) for a batch of columns.

        Raises:
            PieceError: The algorithm has no value network.
        """
        columns = dict(input_dict)
        columns["obs"] = self._batched(columns["obs"])
        state = [columns[key] for key in sorted(columns) if key.startswith("state_in_")]
        network = self._network(rows_of(columns["obs"]))
        extra = network.run(columns, state, self._seq_lens(columns, state)).extra
        if "vf_preds" not in extra:
            raise PieceError(f"{self.algorithm} policies have no value estimate")
        return extra["vf_preds"]

    # State.

    def get_initial_state(self) -> list[Array]:
        """The recurrent state at an episode's start, without batch axis; empty if stateless."""
        network = self._numpy or self._torch_network()
        return [part.copy() for part in network.initial_state]

    def is_recurrent(self) -> bool:
        """Whether the policy carries a state from step to step."""
        return bool((self._numpy or self._torch_network()).initial_state)

    def num_state_tensors(self) -> int:
        """How many arrays the state consists of."""
        return len((self._numpy or self._torch_network()).initial_state)

    def get_weights(self) -> dict[str, Array]:
        """The weights by Ray's names, as copies."""
        if self._weights is None or self._torch is not None:
            named = self._torch_network().head.model.state_dict()
            return {name: part.detach().cpu().numpy().copy() for name, part in named.items()}
        return {name: np.array(part) for name, part in self._weights.items()}

    def set_weights(self, weights: Mapping[str, Any]) -> None:
        """Take other weights of the same names and shapes.

        Raises:
            WeightsError: A name or shape does not fit; the old weights stay.
        """
        fresh = {name: np.array(part) for name, part in weights.items()}
        if self._numpy is not None:
            older, self._weights = self._weights, fresh
            try:
                self._numpy = self._numpy_network()
            except RlconnectError:
                self._weights = older
                raise
        if self._torch is not None:
            self._torch.head.load_weights(fresh)
        self._weights = fresh

    def get_state(self) -> dict[str, Any]:
        """Everything needed to make the policy again, as plain data and arrays."""
        from .export import policy_state

        return policy_state(self)

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take weights, timesteps, exploration and connectors from a state."""
        from .build import restore_state

        restore_state(self, state)

    def get_exploration_state(self) -> dict[str, Any]:
        """What the exploration would save."""
        return self.exploration.get_state()

    def reset_connectors(self, env_id: Any) -> None:
        """Let all connectors forget an environment, whose episode is over."""
        for pipeline in (self.agent_connectors, self.action_connectors):
            if pipeline is not None:
                pipeline.reset(env_id)

    def seed(self, seed: int | None = None) -> None:
        """Restart the random numbers that sampling and exploration draw."""
        self.rng = np.random.default_rng(seed)

    @property
    def model(self) -> Any:
        """The torch network; built on first use where numpy does the acting."""
        return self._torch_network().head.model

    @property
    def dist_class(self) -> Any:
        """The torch distribution, built from `(inputs, model)`."""
        return self._torch_network().head.dist_class

    def __repr__(self) -> str:
        spaces = f"{self.observation_space} -> {self.action_space}"
        return f"<{self.algorithm} policy {self.name!r}: {spaces}>"

    # How it computes.

    def _act(
        self, found: NetworkOutput, explore: bool | None, timestep: int | None, rows: int
    ) -> tuple[Any, list[Array], dict[str, Any]]:
        if explore is None:
            explore = bool(self.config.get("explore", True))
        network = self._network(rows)
        actions, fetches = choose_actions(
            network.chooser(self.rng),
            found.dist_inputs,
            found.extra,
            self.exploration,
            explore=explore,
            timestep=self.global_timestep if timestep is None else timestep,
            rng=self.rng,
            bare_when_greedy=network.bare_when_greedy,
        )
        self.global_timestep += rows
        return actions, found.state_out, fetches

    def _network(self, rows: int) -> Network:
        if self._numpy is not None and rows <= MAX_NUMPY_ROWS:
            return self._numpy
        return self._torch_network()

    def _numpy_network(self) -> ArrayNetwork | None:
        """The numpy twin of the network, where one may act and there is one."""
        if self._weights is None or self.device != "cpu" or self.noise != "mean":
            return None
        model_config = self.config.get("model") or {}
        if model_config.get("custom_model"):
            return None
        head = build_array_head(
            self.algorithm, self.observation_space, self.action_space, self.config, self._weights
        )
        return None if head is None else ArrayNetwork(head)

    def _torch_network(self) -> TorchNetwork:
        if self._torch is None:
            from .heads.registry import build_head

            head = build_head(
                self.algorithm,
                self.observation_space,
                self.action_space,
                self.config,
                weights=self._weights,
                noise=self.noise,
                custom_models=self._custom_models,
                custom_distributions=self._custom_distributions,
            )
            self._torch = TorchNetwork(head, self.device)
        return self._torch

    def _views(self) -> Any:
        model_config = self.config.get("model") or {}
        if self._numpy is not None:
            asked = lstm_views(model_config, self.action_space) if self.is_recurrent() else {}
        else:
            asked = getattr(self.model, "view_requirements", {})
        names = self._weights or {}
        return default_views(
            self.observation_space,
            self.action_space,
            asked,
            self.get_initial_state(),
            max_seq_len=int(model_config.get("max_seq_len") or 20),
            for_module=any(name.startswith("encoder.") for name in names),
        )

    def _seq_lens(self, columns: Mapping[str, Any], state: Sequence[Any]) -> Any:
        if not state:
            return None
        lens = columns.get("seq_lens")
        return np.ones(len(state[0]), np.int32) if lens is None else np.asarray(lens)

    def _batched(self, obs: Any) -> Any:
        """A batch of observations as arrays; a list of them is stacked."""
        if isinstance(obs, list):
            return nest.map_structure(lambda *leaves: np.stack(leaves), *obs)
        return nest.map_structure(np.asarray, obs)

    def _checked(self, obs: Any) -> Any:
        """One observation, refused where its shape cannot be the network's."""
        shape = self.observation_space.shape
        if shape is not None and not isinstance(obs, (dict, tuple)) and np.shape(obs) != shape:
            raise SpaceError(
                f"the observation does not fit policy {self.name!r}",
                expected=f"shape {shape} (preprocessed)",
                found=f"shape {np.shape(obs)}",
                hint="local_policy_inference() takes raw observations and preprocesses them.",
            )
        return obs
