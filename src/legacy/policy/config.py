"""An old-style trainer config, as far as policies and their connectors read it."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any, Final

from typing_extensions import Self

from ...core.errors import ConfigError
from ...core.text.near_names import did_you_mean
from ..models.defaults import MODEL_DEFAULTS

SETTINGS: Final[Mapping[str, Mapping[str, Any]]] = {
    "environment": {
        "env": None,
        "env_config": {},
        "observation_space": None,
        "action_space": None,
        "render_env": False,
        "clip_rewards": None,
        "normalize_actions": True,
        "clip_actions": False,
        "disable_env_checking": False,
        "is_atari": None,
        "horizon": None,
        "soft_horizon": False,
        "no_done_at_end": False,
    },
    "framework": {"framework": "torch", "eager_tracing": True, "eager_max_retraces": 20},
    "rollouts": {
        "num_rollout_workers": 0,
        "num_envs_per_worker": 1,
        "sample_collector": None,
        "create_env_on_local_worker": False,
        "enable_connectors": True,
        "rollout_fragment_length": 200,
        "batch_mode": "truncate_episodes",
        "remote_worker_envs": False,
        "remote_env_batch_wait_ms": 0,
        "validate_workers_after_construction": True,
        "preprocessor_pref": "deepmind",
        "observation_filter": "NoFilter",
        "update_worker_filter_stats": True,
        "use_worker_filter_stats": True,
        "synchronize_filter": True,
        "compress_observations": False,
        "enable_tf1_exec_eagerly": False,
        "sampler_perf_stats_ema_coef": None,
    },
    "training": {
        "gamma": 0.99,
        "lr": 0.001,
        "grad_clip": None,
        "grad_clip_by": "global_norm",
        "train_batch_size": 32,
        "model": {},
        "optimizer": {},
    },
    "exploration": {"explore": True, "exploration_config": {"type": "StochasticSampling"}},
    "multi_agent": {
        "policies": {"default_policy": (None, None, None, None)},
        "policy_map_capacity": 100,
        "policy_mapping_fn": None,
        "policies_to_train": None,
        "observation_fn": None,
        "count_steps_by": "env_steps",
    },
    "resources": {"num_gpus": 0, "num_cpus_per_worker": 1, "num_gpus_per_worker": 0},
    "debugging": {"log_level": "WARN", "seed": None},
    "rl_module": {"_enable_rl_module_api": False, "rl_module_spec": None},
    "experimental": {
        "_disable_preprocessor_api": False,
        "_disable_action_flattening": False,
        "_disable_initialize_loss_from_dummy_batch": False,
        "_tf_policy_handles_more_than_one_loss": False,
    },
}
"""Method -> the settings it takes, with their defaults."""

_DEFAULTS: Final[Mapping[str, Any]] = {
    name: default for settings in SETTINGS.values() for name, default in settings.items()
}


class AlgorithmConfig:
    """A trainer config in the old builder style; each call returns the config itself.

    Settings are attributes and items. An unknown setting raises an error immediately.

    Example:
        >>> config = AlgorithmConfig().rollouts(observation_filter="MeanStdFilter")
        >>> config.observation_filter, config["clip_actions"]
        ('MeanStdFilter', False)
    """

    def __init__(self, algo_class: Any = None) -> None:
        for name, default in copy.deepcopy(dict(_DEFAULTS)).items():
            self.__dict__[_STORED.get(name, name)] = default
        self.algo_class = algo_class
        self.model: dict[str, Any] = dict(MODEL_DEFAULTS)

    def environment(self, env: Any = None, **settings: Any) -> Self:
        """Set what concerns the environment, its rewards and actions."""
        return self._set("environment", {**settings, **({} if env is None else {"env": env})})

    def framework(self, framework: str | None = None, **settings: Any) -> Self:
        """Set the framework; networks are always built in torch."""
        named = {} if framework is None else {"framework": framework}
        return self._set("framework", {**settings, **named})

    def rollouts(self, **settings: Any) -> Self:
        """Set how samples are taken; connectors and the observation filter among it."""
        return self._set("rollouts", settings)

    def env_runners(self, **settings: Any) -> Self:
        """Set how samples are taken, as later versions spell it."""
        renamed = {_LATER_NAMES.get(name, name): value for name, value in settings.items()}
        inner = {name: renamed.pop(name) for name in list(renamed) if name in _EXPLORATION}
        return self._set("rollouts", renamed)._set("exploration", inner)

    def training(self, **settings: Any) -> Self:
        """Set what concerns learning; `model` is merged into the model's defaults."""
        model = settings.pop("model", None)
        if model is not None:
            unknown = [name for name in model if name not in MODEL_DEFAULTS]
            if unknown:
                raise _unknown(unknown[0], MODEL_DEFAULTS, "the model config")
            self.model = {**self.model, **model}
        return self._set("training", settings)

    def exploration(self, **settings: Any) -> Self:
        """Set whether and how to explore."""
        return self._set("exploration", settings)

    def multi_agent(self, **settings: Any) -> Self:
        """Set the policies and which agent each one controls."""
        return self._set("multi_agent", settings)

    def resources(self, **settings: Any) -> Self:
        """Take the number of devices; kept, not used."""
        return self._set("resources", settings)

    def debugging(self, **settings: Any) -> Self:
        """Set log level and seed."""
        return self._set("debugging", settings)

    def rl_module(self, **settings: Any) -> Self:
        """Say whether the policy is an RLModule."""
        return self._set("rl_module", settings)

    def experimental(self, **settings: Any) -> Self:
        """Set the switches whose names start with an underscore."""
        return self._set("experimental", settings)

    def update_from_dict(self, config_dict: Mapping[str, Any]) -> Self:
        """Take settings over from a dict such as a checkpoint holds; unknown ones are kept too."""
        for name, value in config_dict.items():
            if name == "model":
                self.model = {**self.model, **value}
            else:
                self.__dict__[_STORED.get(name, name)] = value
        return self

    @classmethod
    def from_dict(cls, config_dict: Mapping[str, Any]) -> Self:
        """A config of defaults and these settings."""
        return cls().update_from_dict(config_dict)

    def to_dict(self) -> dict[str, Any]:
        """All settings as a plain dict, the form a checkpoint holds."""
        named = {_SHOWN.get(name, name): value for name, value in self.__dict__.items()}
        del named["algo_class"]
        return copy.deepcopy(named)

    def copy(self, copy_frozen: bool | None = None) -> Self:
        """An independent twin."""
        return copy.deepcopy(self)

    def get(self, key: str, default: Any = None) -> Any:
        """One setting, or `default` where there is none."""
        return self.__dict__.get(_STORED.get(key, key), default)

    def __getitem__(self, key: str) -> Any:
        if key not in self:
            raise _unknown(key, self.__dict__, "the config")
        return self.get(key)

    def __setitem__(self, key: str, value: Any) -> None:
        self.update_from_dict({key: value})

    def __contains__(self, key: object) -> bool:
        return _STORED.get(str(key), key) in self.__dict__

    def __iter__(self) -> Iterator[str]:
        return iter(self.to_dict())

    def keys(self) -> list[str]:
        """The names of all settings."""
        return list(self.to_dict())

    def _set(self, method: str, settings: Mapping[str, Any]) -> Self:
        allowed = SETTINGS[method]
        for name, value in settings.items():
            if name not in allowed:
                raise _unknown(name, allowed, f"{method}()")
            self.__dict__[_STORED.get(name, name)] = value
        return self


# The method framework() would hide an attribute of that name.
_STORED: Final = {"framework": "framework_str"}
_SHOWN: Final = {stored: name for name, stored in _STORED.items()}
_EXPLORATION: Final = ("explore", "exploration_config")
_LATER_NAMES: Final = {
    "num_env_runners": "num_rollout_workers",
    "num_envs_per_env_runner": "num_envs_per_worker",
}


def _unknown(name: str, known: Mapping[str, Any], where: str) -> ConfigError:
    owner = next((method for method, names in SETTINGS.items() if name in names), None)
    hint = did_you_mean(name, known) if owner is None else f"it is a setting of {owner}()."
    return ConfigError(f"{where} has no setting {name!r}.", hint=hint, name=name)
