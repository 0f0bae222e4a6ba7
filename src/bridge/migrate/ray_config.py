"""Ray's classes and settings by name, from which Ray creates objects.

A config is saved as its class, which Ray calls, and settings that override its defaults. All other
settings keep the defaults of the Ray version.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from ...core.vault.decode.standins import class_path
from ...v2.modules.spec import RLModuleSpec
from ...v2.saving import reference_pickle

BY_MODULE: Final = {
    "DefaultAPPOTorchRLModule": ("APPO",),
    "DefaultDQNTorchRLModule": ("DQN",),
    "DefaultPPOTorchRLModule": ("PPO", "IMPALA"),
    "DefaultSACTorchRLModule": ("SAC",),
    "DescribedTorchRLModule": ("PPO",),
    "LegacyPolicyModule": ("PPO",),
}
"""Class of a module -> Ray's algorithms that can train it, the most common first."""
_CONFIG: Final = re.compile(r"ray\.rllib\.algorithms\.(\w+)\.\1\.\w+Config")


def named(module: str, name: str) -> Any:
    """Return an object that is pickled as a reference to a class or function of Ray."""
    return type(name, (), {"saved_as": (module, name)})


def spec_of(module: Any) -> RLModuleSpec:
    """Return the spec from which Ray builds a module."""
    kwargs = module.get_ctor_args_and_kwargs()[1]
    return RLModuleSpec(
        type(module),
        module.observation_space,
        module.action_space,
        model_config=kwargs["model_config"],
    )


def is_plain(value: Any) -> bool:
    """Whether a setting is a value, not an object."""
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and is_plain(item) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return all(map(is_plain, value))
    return value is None or isinstance(value, (str, int, float, bool))


def config_for_clients(module: Any, config: Mapping[str, Any]) -> bytes:
    """Return the pickled Ray config for a module, as RLlib sends it to external clients.

    Clients build the module from the spec in the config. Settings are those of an algorithm
    checkpoint; only plain values are used.
    """
    name = BY_MODULE.get(type(module).__name__, ("PPO",))[0]
    path = class_path(config.get("class"))
    if not _CONFIG.fullmatch(path):
        path = f"ray.rllib.algorithms.{name.lower()}.{name.lower()}.{name}Config"
    settings = {
        key: value
        for key, value in config.items()
        if value is not None and key not in ("class", "policies", "model") and is_plain(value)
    }
    settings |= {
        "observation_space": module.observation_space,
        "action_space": module.action_space,
        "_rl_module_spec": spec_of(module),
    }
    home, _, name = path.rpartition(".")
    return reference_pickle.dump(_Made(named(home, name), settings))


class _Made:
    """Something that is pickled as what its class makes of no arguments, with a state on top."""

    def __init__(self, cls: Any, state: Mapping[str, Any]) -> None:
        self._cls, self._state = cls, state

    def __reduce__(self) -> Any:
        return self._cls, (), dict(self._state)


_NAMES: Final = {
    "gamma": "gamma",
    "lr": "lr",
    "grad_clip": "grad_clip",
    "lambda": "lambda_",
    "use_critic": "use_critic",
    "kl_coeff": "kl_coeff",
    "kl_target": "kl_target",
    "clip_param": "clip_param",
    "vf_clip_param": "vf_clip_param",
    "vf_loss_coeff": "vf_loss_coeff",
    "entropy_coeff": "entropy_coeff",
    "train_batch_size": "train_batch_size_per_learner",
    "sgd_minibatch_size": "minibatch_size",
    "minibatch_size": "minibatch_size",
    "num_sgd_iter": "num_epochs",
    "num_epochs": "num_epochs",
    "beta": "beta",
    "actor_lr": "actor_lr",
    "critic_lr": "critic_lr",
    "alpha_lr": "alpha_lr",
    "initial_alpha": "initial_alpha",
    "n_step": "n_step",
    "tau": "tau",
}
_RATES: Final = {
    "actor_learning_rate": "actor_lr",
    "critic_learning_rate": "critic_lr",
    "entropy_learning_rate": "alpha_lr",
}
_SCHEDULES: Final = {"lr_schedule": "lr", "entropy_coeff_schedule": "entropy_coeff"}


def training_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of learning that mean the same in both stacks.

    Example:
        >>> training_settings({"gamma": 0.9, "num_sgd_iter": 3, "lr_schedule": [[0, 0.1]]})
        {'gamma': 0.9, 'num_epochs': 3, 'lr': [[0, 0.1]]}
    """
    settings = {
        new: config[old]
        for old, new in _NAMES.items()
        if isinstance(config.get(old), (bool, int, float)) and np.isfinite(config[old])
    }
    rates = config.get("optimization")  # of SAC in Ray 2.10 and older
    for old, new in _RATES.items():
        rate = rates.get(old) if isinstance(rates, Mapping) else None
        if new not in settings and isinstance(rate, (int, float)) and np.isfinite(rate):
            settings[new] = rate
    for old, new in _SCHEDULES.items():
        points = config.get(old)
        if isinstance(points, (list, tuple)) and points:
            settings[new] = [list(point) for point in points if isinstance(point, (list, tuple))]
    return settings
