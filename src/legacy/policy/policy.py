"""A policy of the old stack: weights and connectors that turn observations into actions.

`Policy.from_checkpoint(path)` loads what any Ray 2.x saved. What it computes with is chosen in
`networks`, how it explores in `exploration`, what flows around it in `pipeline`; `build` makes
policies from records, `export` writes them, `inference` steps them.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Hashable, Iterable, Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from gymnasium.spaces import Space

from ...core.data.budget import one_load
from ...core.data.damage import at
from ...core.formulas.actions import get_base_struct_from_space
from ...core.runtime.sharing import Turn
from ...core.spaces.text import short_space
from ...core.trust import NOTHING, Words
from ...core.types import Array
from ..exploration.config import exploration_for
from ..heads.family import algorithm_named
from ..views.views import default_views
from .acting import Acting
from .endings import Endings
from .networks import PolicyNetworks

if TYPE_CHECKING:
    from ...core.pages.figure import Figure
    from ...core.vault import Checkpoint, PolicyRecord
    from ..connectors.pipeline import ActionConnectorPipeline, AgentConnectorPipeline

DEFAULT_POLICY_ID = "default_policy"
_MOST_SESSIONS = "most sessions"


class Policy(Acting):
    """A network, its exploration and its connectors; threads may share it.

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
        self.trust = NOTHING
        self.exploration = exploration_for(action_space, self.config, exploration_state)
        self.agent_connectors: AgentConnectorPipeline | None = None
        self.action_connectors: ActionConnectorPipeline | None = None
        self.endings = Endings()
        self.turn = Turn()
        self._row_shape = observation_space.shape
        self.networks = PolicyNetworks(
            self.algorithm,
            observation_space,
            action_space,
            self.config,
            weights,
            device=self.device,
            noise=noise,
            custom_models=custom_models,
            custom_distributions=custom_distributions,
        )
        self.seed(self.config.get("seed"))
        self.view_requirements: Any = default_views(
            observation_space,
            action_space,
            self.networks.views(),
            self.networks.initial_state,
            max_seq_len=int((self.config.get("model") or {}).get("max_seq_len") or 20),
            for_module=self.networks.is_module,
        )

    # Loading and saving.

    @classmethod
    def from_checkpoint(
        cls,
        checkpoint: str | os.PathLike[str] | Checkpoint,
        policy_ids: Iterable[str] | None = None,
        *,
        config: Mapping[str, Any] | None = None,
        model: Any = None,
        observation_space: Space[Any] | Mapping[str, Space[Any]] | None = None,
        action_space: Space[Any] | Mapping[str, Space[Any]] | None = None,
        algorithm: str | None = None,
        device: str = "cpu",
        noise: Literal["mean", "ray"] = "mean",
        custom_models: Mapping[str, Any] | None = None,
        custom_distributions: Mapping[str, Any] | None = None,
        custom_preprocessors: Mapping[str, Any] | None = None,
        trust: Words = None,
        check: bool = False,
    ) -> Any:
        """The policy in a policy folder, or a dict of all (or some) in an algorithm folder.

        Args:
            checkpoint: Any checkpoint of the old stack, or one that rlconnect exported; or what
                `rlconnect.open_checkpoint` gave of it.
            policy_ids: Only these, from a folder of several.
            config: Settings laid over the checkpoint's, or those it lacks (Ray 1 saved none).
            model: The network as data, where its code is not here: a dict, a
                `rlconnect.core.nets.Network`, or the path of a TOML file; see
                `docs/custom-networks.md`.
            observation_space: The environment's, where the checkpoint has lost it; a dict of them
                by policy id for several.
            action_space: As `observation_space`.
            algorithm: "PPO", "DQN"..., where the checkpoint names none.
            device: Where torch networks run.
            noise: What noisy layers do; see the class.
            custom_models: Classes for model names the config holds.
            custom_distributions: Classes for names of custom action distributions.
            custom_preprocessors: Classes for preprocessor names the config holds.
            trust: Your own classes that the checkpoint names, whatever they are: connectors,
                models, distributions. A list of them, or a mapping of the names in the file.
            check: Whether to hold each policy to its parity certificate, which checkpoints that
                rlconnect exported carry.

        Raises:
            CheckpointError: The checkpoint cannot be read.
            WeightsError: A policy does not act as it did where it was exported.
            UnknownNameError: It holds no policy, or connector, of some name.
            ConfigError: Its network is a class of its author's that was not supplied.
            SpaceError: A space that was given does not fit the weights.
        """
        from .build import load_policies

        with one_load():
            loaded = load_policies(
                cls,
                checkpoint,
                policy_ids,
                config=config,
                model=model,
                observation_space=observation_space,
                action_space=action_space,
                algorithm=algorithm,
                device=device,
                noise=noise,
                custom_models=custom_models,
                custom_distributions=custom_distributions,
                custom_preprocessors=custom_preprocessors,
                trust=trust,
            )
            if check:
                from .certificate import check_certificate

                for policy in loaded.values() if isinstance(loaded, dict) else (loaded,):
                    check_certificate(policy)
            return loaded

    @classmethod
    def from_state(cls, state: Mapping[str, Any], **options: Any) -> Policy:
        """The policy whose `get_state()` this is; options as for `from_checkpoint`."""
        from .build import policy_from_state

        with one_load():
            return policy_from_state(cls, state, **options)

    def export_checkpoint(
        self,
        export_dir: str | os.PathLike[str],
        *,
        arrays: Literal["file", "inline"] = "file",
    ) -> None:
        """Save the policy in rlconnect's format: JSON and safetensors, without pickle; atomic.

        Args:
            export_dir: The folder to write; a name that ends in `.json` writes a single file.
            arrays: "inline" writes the weights into the JSON, for small networks.

        Raises:
            CheckpointWriteError: Writing failed; existing files are unchanged.
        """
        from .export import export_policy

        export_policy(self, export_dir, arrays=arrays)

    # State.

    def is_recurrent(self) -> bool:
        """Whether the policy carries a state from step to step."""
        return bool(self.networks.initial_state)

    def num_state_tensors(self) -> int:
        """Number of arrays in the state."""
        return len(self.networks.initial_state)

    def get_weights(self) -> dict[str, Array]:
        """The weights by Ray's names, as copies."""
        return self.networks.get_weights()

    def set_weights(self, weights: Mapping[str, Any]) -> None:
        """Take other weights of the same names and shapes.

        Raises:
            WeightsError: A name or shape does not fit; the old weights stay.
        """
        with at("weights"):
            self.networks.set_weights(weights)

    def get_state(self) -> dict[str, Any]:
        """Everything needed to make the policy again, as plain data and arrays."""
        from .export import policy_state

        return policy_state(self)

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take weights, timesteps, exploration and connectors from a state."""
        from .build import restore_state

        with one_load():
            restore_state(self, state)

    def __getstate__(self) -> dict[str, Any]:
        # Pipelines travel as what checkpoints hold of them: connectors made of lambdas, which
        # cannot be pickled, are found by name on the other side.
        from .export import saved_pipelines

        agent, action = saved_pipelines(self)
        pipelines = {"agent_connectors": agent, "action_connectors": action}
        sessions = getattr(self.agent_connectors, "sessions", None)
        most = None if sessions is None else sessions.most
        return {**vars(self), **pipelines, "endings": Endings(), _MOST_SESSIONS: most}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        from .build import restore_pipelines

        attributes = dict(state)
        most = attributes.pop(_MOST_SESSIONS, None)
        vars(self).update(attributes)
        restore_pipelines(self, attributes["agent_connectors"], attributes["action_connectors"])
        if most is not None and self.agent_connectors is not None:
            self.agent_connectors.sessions.most = most

    def __deepcopy__(self, memo: dict[int, Any]) -> Policy:
        # Unlike a pickle, a copy in the same process keeps the running episodes.
        twin = object.__new__(type(self))
        memo[id(self)] = twin
        vars(twin).update(deepcopy(vars(self), memo))
        return twin

    def get_exploration_state(self) -> dict[str, Any]:
        """Return the state that the exploration would save."""
        return self.exploration.get_state()

    def reset_connectors(self, env_id: Hashable) -> None:
        """Let all connectors forget an environment, whose episode is over."""
        for pipeline in (self.agent_connectors, self.action_connectors):
            if pipeline is not None:
                pipeline.reset(env_id)
        self.endings.forget(env_id)

    def restore_connectors(self, state: Mapping[str, Any]) -> None:
        """Take both pipelines from a state's "connector_configs"."""
        from .build import restore_connectors

        restore_connectors(self, state)

    def on_global_var_update(self, global_vars: Mapping[str, Any]) -> None:
        """Take the timestep that all policies share, which exploration schedules look at."""
        self.global_timestep = int(global_vars["timestep"])

    def get_session(self) -> None:
        """None: there is no TensorFlow session."""

    def get_host(self) -> str:
        """The name of this computer."""
        return platform.node()

    def seed(self, seed: int | None = None) -> None:
        """Restart the random numbers that sampling and exploration draw."""
        self.rng = np.random.default_rng(seed)

    @property
    def model(self) -> Any:
        """The torch network; built on first use where numpy does the acting."""
        return self.networks.torch().head.model

    @property
    def dist_class(self) -> Any:
        """The torch distribution, built from `(inputs, model)`."""
        return self.networks.torch().head.dist_class

    def __repr__(self) -> str:
        spaces = f"{short_space(self.observation_space)} -> {short_space(self.action_space)}"
        return f"<{self.algorithm} policy {self.name!r}: {spaces}>"

    def draw(self) -> Figure:
        """The connectors with the network between them, as boxes and arrows."""
        from ..connectors.drawing import draw_policy

        return draw_policy(self)

    def _repr_html_(self) -> str:
        return self.draw()._repr_html_()
