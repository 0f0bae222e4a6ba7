"""A migrated algorithm as a folder for Ray's `Algorithm.from_checkpoint`.

rllib_checkpoint.json, class_and_ctor_args.pkl     Ray's class and settings, by name
algorithm_state.pkl                                empty: it starts at iteration 0
learner_group/learner/rl_module/<id>/              the modules
env_runner/                                        the states of the pipelines

Settings are plain values, and Ray creates pipelines with functions; `_given` is one of Ray's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from gymnasium.envs.registration import registry

from ...core.algorithms import family_of
from ...core.columns import DEFAULT_MODULE_ID
from ...core.vault.file_names import (
    ALGORITHM_JSON,
    ALGORITHM_STATE,
    CLASS_FILE,
    COMPONENT_JSON,
    COMPONENT_STATE,
    ENV_RUNNER,
    ENV_TO_MODULE,
    LEARNER,
    LEARNER_GROUP,
    LEARNT_MODULE,
    MODULE_TO_ENV,
)
from ...legacy.policy.policy import Policy
from ...v2.connectors.common.add_observations import AddObservationsFromEpisodesToBatch
from ...v2.connectors.common.add_time_dim import AddTimeDimToBatchAndZeroPad
from ...v2.connectors.connector import ConnectorV2
from ...v2.connectors.env_to_module.env_to_module_pipeline import EnvToModulePipeline
from ...v2.connectors.module_to_env.module_to_env_pipeline import ModuleToEnvPipeline
from ...v2.modules.multi_rl_module import MultiRLModule
from ...v2.modules.multi_spec import MultiRLModuleSpec
from ...v2.saving.checkpoint_files import write_component
from .ray_config import BY_MODULE, is_plain, named, spec_of, training_settings
from .ray_parts import is_face

_OF_MODULES: Final = {
    "DQN": ("double_q", "dueling", "epsilon", "num_atoms", "v_max", "v_min"),
    "SAC": ("twin_q",),
}
_BATCH: Final = "train_batch_size_per_learner"
_FOR_ANY: Final = frozenset({"gamma", "lr", "grad_clip", _BATCH})
"""Settings that apply to all algorithms; the others belong to PPO."""


_given: Final = named("ray.rllib.utils.framework", "get_variable")
"""A function of Ray that returns its first argument and ignores the others."""


@dataclass(frozen=True)
class Acting:
    """Components for inference in Ray.

    Args:
        policies: Where they came from, by module id.
        modules: By module id.
        to_module: All env-to-module pieces.
        to_env: All module-to-env pieces.
        learner: The pieces at the start of the learner pipeline.
        spaces: The spaces that pipelines are saved with; None if unknown.
        module_action_space: The action space of the module, if the environment's differs.
    """

    policies: Mapping[str, Policy]
    modules: Mapping[str, Any]
    to_module: list[ConnectorV2]
    to_env: list[ConnectorV2]
    learner: list[ConnectorV2]
    spaces: tuple[Any, Any]
    module_action_space: Any = None

    def save_pipelines(self, folder: Path) -> None:
        """Write both pipelines with their states."""
        for kind, name, pieces in (
            (EnvToModulePipeline, ENV_TO_MODULE, self.to_module),
            (ModuleToEnvPipeline, MODULE_TO_ENV, self.to_env),
        ):
            kind(*self.spaces, connectors=pieces).save_to_path(folder / name)


class RayAlgorithm:
    """A checkpoint folder of one of Ray's algorithms.

    By default, `env` is taken from the config. `policy_mapping_fn` is a dict keyed by agent id, or
    a function that Ray can import; by default, agents are mapped to the module of the same name.
    """

    def __init__(
        self, acting: Acting, *, env: str | None = None, policy_mapping_fn: Any = None
    ) -> None:
        self.acting = acting
        self.first = next(iter(acting.policies.values()))
        self.is_single = [*acting.modules] == [DEFAULT_MODULE_ID]
        self.name = _algorithm_of(acting)
        self.env = _name_of(self.first.config.get("env")) if env is None else env
        self.mapping: Any = policy_mapping_fn
        self.specs = {name: spec_of(module) for name, module in acting.modules.items()}

    def facts(self) -> dict[str, str]:
        """Facts of the algorithm, by the names of `RayNeeds`."""
        return {
            "algorithm": self.name,
            "env": "" if self.env in registry else self.env,
            "no_training": self._no_training(),
        }

    def save(self, folder: Path) -> None:
        """Write it."""
        home = f"ray.rllib.algorithms.{self.name.lower()}.{self.name.lower()}"
        config = named(home, f"{self.name}Config")
        _write(
            folder,
            named(home, self.name),
            {"class": config, **self._settings()},
            state=ALGORITHM_STATE,
            metadata=ALGORITHM_JSON,
            type="Algorithm",
            format="cloudpickle",
        )
        _write(
            folder / LEARNER_GROUP,
            named("ray.rllib.core.learner.learner_group", "LearnerGroup"),
        )
        _write(folder / LEARNER_GROUP / LEARNER, named("ray.rllib.core.learner.learner", "Learner"))
        modules = MultiRLModule()
        for name, module in self.acting.modules.items():
            modules.add_module(name, module)
            modules.rl_module_specs[name] = self.specs[name]
        modules.save_to_path(folder / LEARNT_MODULE)
        kind = "SingleAgentEnvRunner" if self.is_single else "MultiAgentEnvRunner"
        home = "single_agent_env_runner" if self.is_single else "multi_agent_env_runner"
        _write(folder / ENV_RUNNER, named(f"ray.rllib.env.{home}", kind))
        self.acting.save_pipelines(folder / ENV_RUNNER)

    def _settings(self) -> dict[str, Any]:
        config = self.first.config
        acting = self.acting
        env_config = config.get("env_config")
        learning = training_settings(config)
        if self.name not in ("PPO", "APPO"):
            learning = {key: value for key, value in learning.items() if key in _FOR_ANY}
        if _BATCH in learning:  # Ray reads this name; the plain name is only an alias
            learning[f"_{_BATCH}"] = learning.pop(_BATCH)
        if self.name == "SAC":  # it has three rates, each by its own name
            learning.pop("lr", None)
        settings: dict[str, Any] = {
            **learning,
            **self._told_of_modules(),
            "env": self.env or None,
            "env_config": dict(env_config or {}) if is_plain(env_config) else {},
            "explore": bool(config.get("explore", True)),
            "num_env_runners": 0,
            "num_learners": 0,
            "_env_to_module_connector": partial(_given, _builds(self._own_to_module())),
            "_module_to_env_connector": partial(_given, self._to_env()),
            "add_default_connectors_to_module_to_env_pipeline": False,
            "_rl_module_spec": MultiRLModuleSpec(rl_module_specs=dict(self.specs)),
        }
        if acting.learner:
            settings["_learner_connector"] = partial(_given, _builds(acting.learner))
        if self.is_single:
            return {**settings, "_rl_module_spec": self.specs[DEFAULT_MODULE_ID]}
        policies: dict[str, Any] = {
            name: (None, module.observation_space, module.action_space, {})
            for name, module in acting.modules.items()
        }
        return {**settings, "policies": policies, "policy_mapping_fn": self._mapping()}

    def _told_of_modules(self) -> dict[str, Any]:
        """Return the settings of the algorithm that learners look up, instead of the module's."""
        keys = _OF_MODULES.get(self.name, ())
        model_config = next(iter(self.specs.values())).model_config
        return {key: model_config[key] for key in keys if key in model_config}

    def _to_env(self) -> list[tuple[Any, ...]]:
        """How Ray builds the pieces after the module; ours know what it gives."""
        builds = _builds(self.acting.to_env)
        space = self.acting.module_action_space
        if space is not None:
            for piece, (_, _, kwargs) in zip(self.acting.to_env, builds, strict=True):
                if is_face(piece):
                    kwargs["module_action_space"] = space
        return builds

    def _own_to_module(self) -> list[ConnectorV2]:
        """The pieces before Ray's defaults, which its runners add with what they know."""
        pieces = self.acting.to_module
        kinds = [type(piece) for piece in pieces]
        custom = pieces[: kinds.index(AddTimeDimToBatchAndZeroPad)]
        is_default = bool(custom) and type(custom[-1]) is AddObservationsFromEpisodesToBatch
        return custom[:-1] if is_default else custom

    def _mapping(self) -> Any:
        mapping = self.mapping
        if mapping is None:
            return _given  # of an agent and an episode it is the agent
        return partial(dict.get, dict(mapping)) if isinstance(mapping, Mapping) else mapping

    def _no_training(self) -> str:
        for name, module in self.acting.modules.items():
            kind, policy = type(module).__name__, self.acting.policies[name]
            has_value = family_of(policy.algorithm) == "actor_critic"
            if kind == "DescribedTorchRLModule":
                has_value = "value" in module.network.outputs
            learns = self.name in BY_MODULE.get(kind, ())
            if not learns or (self.name == "PPO" and not has_value):
                return f"{self.name} does not learn with the network of {policy.algorithm}"
        return ""


def _algorithm_of(acting: Acting) -> str:
    """Return the Ray algorithm that can continue most of the modules."""
    named = []
    for name, module in acting.modules.items():
        possible = BY_MODULE.get(type(module).__name__, ("PPO",))
        algorithm = acting.policies[name].algorithm
        named.append(algorithm if algorithm in possible else possible[0])
    return max(named, key=named.count)


def _builds(pieces: Iterable[ConnectorV2]) -> list[tuple[Any, ...]]:
    """Return how Ray recreates each piece; Ray sets their spaces."""
    builds = []
    for piece in pieces:
        args, kwargs = piece.get_ctor_args_and_kwargs()
        rest = {key: value for key, value in kwargs.items() if not key.startswith("input_")}
        builds.append((type(piece), args, rest))
    return builds


def _name_of(env: Any) -> str:
    """An environment's name as a config has it; the last part of a class's."""
    name = env if isinstance(env, str) else getattr(env, "name", getattr(env, "__name__", ""))
    return str(name or "").rpartition(".")[2] if not isinstance(env, str) else env


def _write(
    folder: Path,
    cls: Any,
    *args: Any,
    state: str = COMPONENT_STATE,
    metadata: str = COMPONENT_JSON,
    **facts: Any,
) -> None:
    write_component(
        folder,
        cls=cls,
        args=args,
        kwargs={},
        state={},
        state_name=state,
        class_name=CLASS_FILE,
        metadata_name=metadata,
        metadata=facts,
        use_msgpack=False,
    )
