"""Configuration of environments, env runners, modules and learning."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Generic

from gymnasium.spaces import Space
from typing_extensions import Self, TypeVar

from ...core.columns import DEFAULT_MODULE_ID
from ...core.errors import ConfigError
from ...core.trust import Slot, Words
from ..connectors.env_to_module.env_to_module_pipeline import EnvToModulePipeline
from ..connectors.learner.learner_connector_pipeline import LearnerConnectorPipeline
from ..connectors.module_to_env.module_to_env_pipeline import ModuleToEnvPipeline
from ..modules.multi_spec import MultiRLModuleSpec
from ..modules.spec import RLModuleSpec
from ..saving.class_slots import ALGORITHM, LEARNER, MODULE
from . import connector_builders, module_specs, toml_settings
from .policies import default_policy_mapping_fn, is_trained
from .rules import check_together
from .setting_methods import SettingMethods

if TYPE_CHECKING:
    import torch

Built = TypeVar("Built", bound=Any, default=Any)
"""The algorithm that a config is of."""


class NoAlgorithmError(ConfigError, NotImplementedError):
    """The config does not belong to an algorithm, so it has no default for this."""


class AlgorithmConfig(SettingMethods, Generic[Built]):
    """The settings of an algorithm, given by methods that can be chained.

    Unknown settings and impossible values raise at once. The settings of each method and what
    they mean are in its documentation: `help(PPOConfig.env_runners)`.

    Args:
        algo_class: What `build_algo` makes.

    Example:
        >>> config = AlgorithmConfig().environment("CartPole-v1").training(gamma=0.9)
        >>> config.gamma, config["env"], config.is_multi_agent
        (0.9, 'CartPole-v1', False)
    """

    DEFAULT_POLICY_MAPPING_FN = staticmethod(default_policy_mapping_fn)
    DEFAULT_AGENT_TO_MODULE_MAPPING_FN = staticmethod(default_policy_mapping_fn)

    own_defaults: ClassVar[Mapping[str, Any]] = {}
    """Defaults that differ from those of other algorithms."""
    own_classes: ClassVar[tuple[str, str, str] | None] = None
    """The names of its algorithm, of its default module and of its learner, loaded when needed."""

    def __init__(self, algo_class: Any = None) -> None:
        super().__init__()
        self.algo_class: type[Built] | None = algo_class or self.own_algorithm()
        self.in_evaluation = False
        for name, value in self.own_defaults.items():
            setattr(self, name, value)

    @classmethod
    def own_algorithm(cls) -> type[Any] | None:
        """Return the algorithm that these are the settings of."""
        return None if cls.own_classes is None else cls._own_class(0, ALGORITHM)

    def from_migrated(self, path: str | os.PathLike[str], *, trust: Words = None) -> Self:
        """Continue training a migrated policy.

        Spaces, module with weights, connectors on both sides of it and what its old config said of
        learning become settings; runners and learners are in this process. Any of it may be
        changed afterwards; the environment is still to be given.

        Args:
            path: What `rlconnect.migrate(..., out=path)` wrote; learners load the weights there.
            trust: Your own classes that it names.

        Raises:
            CheckpointError: It is no such folder, or damaged.
            ConfigError: This algorithm cannot train its module.
        """
        from .migrated import take_migrated  # It loads every kind of piece.

        take_migrated(self, path, trust)
        return self

    def to_toml(self, *, whole: bool = False) -> str:
        """Return the settings as TOML: what differs from the defaults.

        Args:
            whole: Every setting that means something, with its meaning, to read and to edit.

        Raises:
            ConfigError: Some are no plain data (classes, functions, spaces); all are named.

        Example:
            >>> from rlconnect.v2 import PPOConfig
            >>> print(PPOConfig().training(lr=3e-4).to_toml(), end="")
            algorithm = "PPO"
            <BLANKLINE>
            [training]
            lr = 0.0003
        """
        if whole:
            return toml_settings.whole_toml(self)
        return toml_settings.toml_of(toml_settings.settings_of(self))

    @classmethod
    def from_toml(cls, source: str | os.PathLike[str]) -> Self:
        """Create a config from the output of `to_toml`, without importing anything.

        Args:
            source: A file, or the text itself.

        Raises:
            ConfigError: The text is not TOML, belongs to another algorithm, or a value is invalid.
            UnknownNameError: The table or algorithm does not exist.
        """
        config: Self = toml_settings.config_of(cls, source)
        return config

    # What follows from it

    @property
    def modules_by_id(self) -> Mapping[str, Any] | list[str]:
        """The specs of all modules as the user gave them, or only their ids."""
        spec = self._rl_module_spec
        inside = isinstance(spec, MultiRLModuleSpec) and spec.rl_module_specs
        return inside or [*self.policies]

    @property
    def is_multi_agent(self) -> bool:
        """Whether there is any module but the default one."""
        return set(self.policies) != {DEFAULT_MODULE_ID}

    @property
    def is_atari(self) -> bool:
        """Whether the environment is one of Atari's, by setting or by name."""
        if self._is_atari is not None:
            return bool(self._is_atari)
        return isinstance(self.env, str) and self.env.startswith("ALE/")

    @property
    def is_online(self) -> bool:
        """Whether episodes are sampled to learn from."""
        return True

    @property
    def is_offline(self) -> bool:
        """Whether recorded episodes are learnt from."""
        return not self.is_online

    @property
    def train_batch_size_per_learner(self) -> int:
        """Steps per update of each learner."""
        size: int | None = self._train_batch_size_per_learner
        if size is not None:
            return size
        shared: int = self.train_batch_size // max(self.num_learners, 1)
        return shared

    @train_batch_size_per_learner.setter
    def train_batch_size_per_learner(self, value: int | None) -> None:
        self._train_batch_size_per_learner = value

    @property
    def total_train_batch_size(self) -> int:
        """Steps per update of all learners together."""
        size: int = self.train_batch_size
        if self._train_batch_size_per_learner is not None:
            size = self._train_batch_size_per_learner * max(self.num_learners, 1)
        return size

    @property
    def learner_resources(self) -> dict[str, float]:
        """Ray resources of each learner."""
        gpus, cpus = self.num_gpus_per_learner, self.num_cpus_per_learner
        cpus = (0 if gpus else 1) if cpus == "auto" else cpus
        return {"CPU": cpus, "GPU": gpus, **self.custom_resources_per_learner}

    def get_rollout_fragment_length(self, worker_index: int = 0) -> int:
        """Return the steps each environment of an env runner makes per sample.

        Args:
            worker_index: Which runner; what does not divide goes to the first ones.
        """
        if self.rollout_fragment_length != "auto":
            length: int = self.rollout_fragment_length
            return length
        envs = self.num_envs_per_env_runner
        share, rest = divmod(self.total_train_batch_size, envs * max(self.num_env_runners, 1))
        steps: int = max(share + ((max(worker_index, 1) - 1) * envs < rest), 1)
        return steps

    @property
    def model_config(self) -> dict[str, Any]:
        """Settings of the default networks: the algorithm's own, then the user's."""
        return {**self._model_config_auto_includes, **self._model_config}

    @property
    def _model_config_auto_includes(self) -> dict[str, Any]:
        return {}

    @property
    def rl_module_spec(self) -> RLModuleSpec | MultiRLModuleSpec:
        """The user's spec, filled with the algorithm's defaults; without spaces."""
        return module_specs.with_defaults(self, self._rl_module_spec)

    def get_default_rl_module_spec(self) -> RLModuleSpec:
        """Return the spec of the default module.

        Raises:
            NoAlgorithmError: This config is of no algorithm.
        """
        return RLModuleSpec(self._own_class(1, MODULE, "rl_module(rl_module_spec=...)"))

    def get_default_learner_class(self) -> type[Any]:
        """Return the default learner class.

        Raises:
            NoAlgorithmError: The config does not belong to an algorithm.
        """
        return self._own_class(2, LEARNER, "learners(learner_class=...)")  # type: ignore[no-any-return]

    @classmethod
    def _own_class(cls, index: int, slot: Slot, setting: str = "") -> Any:
        if cls.own_classes is None:
            raise NoAlgorithmError(
                f"{cls.__name__} has no default {('', 'module', 'learner')[index]}",
                hint=f"use the config of an algorithm, or config.{setting}.",
            )
        return slot.table(f"rlconnect.v2.{cls.own_classes[index]}")

    @property
    def learner_class(self) -> type[Any]:
        """The learner class."""
        return self._learner_class or self.get_default_learner_class()

    def get_rl_module_spec(
        self,
        env: Any = None,
        spaces: Mapping[str, Any] | None = None,
        inference_only: bool | None = None,
    ) -> RLModuleSpec:
        """Return the spec of the one module, with its spaces.

        Args:
            env: Whose spaces it gets.
            spaces: Or these: `{"default_policy": (observation space, action space)}`.
            inference_only: Whether it only acts; None leaves that to the spec.
        """
        return module_specs.single_spec(self, env, spaces, inference_only)

    def get_multi_rl_module_spec(
        self,
        *,
        env: Any = None,
        spaces: Mapping[str, Any] | None = None,
        inference_only: bool = False,
        single_agent_rl_module_spec: RLModuleSpec | None = None,
    ) -> MultiRLModuleSpec:
        """Return the specs of all modules, with their spaces.

        Args:
            env: The environment whose spaces they get, by the agents mapped to them.
            spaces: Or these spaces, by module id.
            inference_only: Whether to build them for inference only.
            single_agent_rl_module_spec: The spec of modules without one.
        """
        return module_specs.multi_spec(
            self, env, spaces, inference_only, single_agent_rl_module_spec
        )

    def get_config_for_module(self, module_id: str) -> Self:
        """Return the config with the settings of one module; itself if it has none."""
        policy = self.policies.get(module_id)
        overrides = {
            **(getattr(policy, "config", None) or {}),
            **self.algorithm_config_overrides_per_module.get(module_id, {}),
        }
        if not overrides:
            return self
        config = self.copy(copy_frozen=False).update_from_dict(overrides)
        if self._is_frozen:
            config.freeze()
        return config

    def is_trained(self, module_id: str, batch: Any = None) -> bool:
        """Whether a module learns."""
        return is_trained(self.policies_to_train, module_id, batch)

    def get_evaluation_config_object(self) -> Self:
        """Return the config for evaluations: this one with `evaluation_config` on top."""
        if isinstance(self.evaluation_config, AlgorithmConfig):
            config: Any = self.evaluation_config.copy(copy_frozen=False)
        else:
            config = self.copy(copy_frozen=False)
            config.num_env_runners = self.evaluation_num_env_runners
            config.rollout_fragment_length = 1
            config.update_from_dict(self.evaluation_config or {})
        config.in_evaluation = True
        return config  # type: ignore[no-any-return]

    # Components built from the config

    def build_env_to_module_connector(
        self,
        env: Any = None,
        spaces: Mapping[str, Any] | None = None,
        device: str | torch.device | None = None,
    ) -> EnvToModulePipeline:
        """Build the pipeline from episodes to a forward batch.

        Args:
            env: Whose spaces it gets.
            spaces: Or these: `{"__env_single__": (observation space, action space)}`.
            device: Where tensors go.
        """
        return connector_builders.build_env_to_module(self, env, spaces, device)

    def build_module_to_env_connector(
        self, env: Any = None, spaces: Mapping[str, Any] | None = None
    ) -> ModuleToEnvPipeline:
        """Build the pipeline from a module's outputs to actions.

        Args:
            env: Whose spaces it gets.
            spaces: Or these: `{"__env_single__": (observation space, action space)}`.
        """
        return connector_builders.build_module_to_env(self, env, spaces)

    def build_learner_connector(
        self,
        input_observation_space: Space[Any] | None = None,
        input_action_space: Space[Any] | None = None,
        device: str | torch.device | None = None,
    ) -> LearnerConnectorPipeline:
        """Build the pipeline from sampled episodes to a train batch.

        Args:
            input_observation_space: The environment's; the config's if not given.
            input_action_space: The environment's; the config's if not given.
            device: Where tensors go.
        """
        pipeline = connector_builders.build_learner(
            self, input_observation_space, input_action_space, device
        )
        if self.add_default_connectors_to_learner_pipeline:
            self._add_learner_pieces(pipeline)
        return pipeline

    def _add_learner_pieces(self, pipeline: LearnerConnectorPipeline) -> None:
        """Add to the default pieces what an algorithm needs besides; nothing here."""

    def build_learner(self, *, env: Any = None, spaces: Mapping[str, Any] | None = None) -> Any:
        """Build a learner right here; its pipeline is `learner.learner_connector`.

        Args:
            env: Whose spaces its modules get.
            spaces: Or these.
        """
        config = self.copy(copy_frozen=False)
        seen, acted = connector_builders.env_spaces(self, env, spaces)
        config.observation_space, config.action_space = seen, acted
        learner = self.learner_class(
            config=config, module_spec=self.get_multi_rl_module_spec(env=env, spaces=spaces)
        )
        learner.build()
        return learner

    def build_learner_group(
        self, *, env: Any = None, spaces: Mapping[str, Any] | None = None, **kwargs: Any
    ) -> Any:
        """Build what holds the learners.

        Args:
            env: Whose spaces the modules get.
            spaces: Or these.
            **kwargs: For the LearnerGroup.
        """
        spec = self.get_multi_rl_module_spec(env=env, spaces=spaces)
        return self.learner_class.in_group(config=self.copy(), module_spec=spec, **kwargs)

    def build_algo(
        self,
        env: str | Callable[..., Any] | None = None,
        use_copy: bool = True,
        *,
        logger_creator: Callable[..., Any] | None = None,
    ) -> Built:
        """Build the algorithm.

        Args:
            env: What is acted in, if `environment()` has not said.
            use_copy: Whether this config may be changed further.
            logger_creator: Makes what results are logged with.

        Raises:
            ConfigError: This config is of no algorithm, or contradicts itself.
        """
        config = self.copy(copy_frozen=False) if use_copy else self
        if env is not None:
            config.environment(env)
        algo_class = config.get_algo_class()
        config.validate()
        more = {} if logger_creator is None else {"logger_creator": logger_creator}
        built: Built = algo_class(config=config, **more)
        return built

    def build(self, *args: Any, **kwargs: Any) -> Built:
        """Do as `build_algo`, which is its name since Ray 2.44."""
        warnings.warn(
            "config.build() is now called build_algo().", DeprecationWarning, stacklevel=2
        )
        return self.build_algo(*args, **kwargs)

    def get_algo_class(self) -> type[Built]:
        """Return the class that `build_algo` creates.

        Raises:
            ConfigError: The config does not belong to an algorithm.
        """
        if self.algo_class is None:
            raise ConfigError(
                f"{type(self).__name__} is of no algorithm", hint="use PPOConfig, for instance."
            )
        return self.algo_class

    # Contradictions

    def validate(self) -> None:
        """Check what one setting alone cannot tell.

        Raises:
            ConfigError: Settings contradict each other.
        """
        if not self._validate_config:
            return
        for section in type(self).SECTIONS.values():
            for name in section.settings:
                if name not in ("model_config", "evaluation_config", "policies"):
                    section.check(name, self.__dict__[section.attribute(name)])
        check_together(self)
