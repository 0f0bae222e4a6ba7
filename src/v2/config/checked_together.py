"""What settings have to be to each other."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Final

from ...core.columns import DEFAULT_MODULE_ID
from ...core.errors import ConfigError, UnusedSettingWarning
from .policies import default_policy_mapping_fn

if TYPE_CHECKING:
    from .algorithm_config import AlgorithmConfig

_SIZE: Final = "train_batch_size"


def check_together(config: AlgorithmConfig[Any]) -> None:
    """Check what one setting alone cannot tell.

    Raises:
        ConfigError: Settings contradict each other.
    """
    if (
        config.minibatch_size is not None
        and config.minibatch_size > config.train_batch_size_per_learner
    ):
        raise ConfigError(
            f"`minibatch_size` ({config.minibatch_size}) is larger than "
            f"`train_batch_size_per_learner` ({config.train_batch_size_per_learner})",
            hint="make the one smaller or the other larger: config.training(...).",
        )
    _tell_unused_size(config)
    if isinstance(config.policies_to_train, list):
        strange = [each for each in config.policies_to_train if each not in config.policies]
        if strange:
            raise ConfigError(
                "config.multi_agent(policies_to_train=...)",
                expected=f"ids among {sorted(config.policies)}",
                found=repr(strange),
            )
    is_default = config.policy_mapping_fn is default_policy_mapping_fn
    if is_default and DEFAULT_MODULE_ID not in config.policies:
        raise ConfigError(
            "config.multi_agent(policy_mapping_fn=...) is missing",
            expected=f"a function of agent id and episode to one of {sorted(config.policies)}",
            hint="config.multi_agent(policy_mapping_fn=lambda agent_id, episode, **kw: ...).",
        )
    for module_id in config.algorithm_config_overrides_per_module:
        config.get_config_for_module(module_id)
    if config.evaluation_parallel_to_training and not config.evaluation_num_env_runners:
        raise ConfigError(
            "`evaluation_parallel_to_training` needs env runners beside the ones that train",
            hint="config.evaluation(evaluation_num_env_runners=1), or leave it out.",
        )
    if config.evaluation_duration == "auto" and not config.evaluation_parallel_to_training:
        raise ConfigError(
            "`evaluation_duration='auto'` is as long as training takes, and nothing trains beside",
            hint="config.evaluation(evaluation_parallel_to_training=True, "
            "evaluation_num_env_runners=1), or give a number.",
        )


def _tell_unused_size(config: AlgorithmConfig[Any]) -> None:
    """Warn where a batch size was set, and an algorithm's default for each learner counts."""
    defaults, each = config.own_defaults, config.train_batch_size_per_learner
    is_default = each == defaults.get(f"{_SIZE}_per_learner")
    if is_default and config.train_batch_size not in (
        config.total_train_batch_size,
        defaults.get(_SIZE),
    ):
        warnings.warn(
            f"{_SIZE} ({config.train_batch_size}) has no effect: {_SIZE}_per_learner ({each}) "
            "counts; set that one.",
            UnusedSettingWarning,
            stacklevel=4,
        )
