"""Validation of settings, alone and in combination."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Final

from ...core.columns import DEFAULT_MODULE_ID
from ...core.errors import ConfigError, UnusedSettingWarning
from ..modules.multi_spec import MultiRLModuleSpec
from ..modules.schedules import Scheduler
from ..modules.spec import RLModuleSpec
from .policies import default_policy_mapping_fn

if TYPE_CHECKING:
    from .algorithm_config import AlgorithmConfig


@dataclass(frozen=True)
class Rule:
    """A test and what it asks for, in words and as a type.

    Args:
        test: Whether a value will do.
        words: What would, in words.
        annotation: What would, as a type checker reads it: `make stubs` takes it from here.

    Example:
        >>> AT_LEAST_1.test(0), AT_LEAST_1.words
        (False, 'an integer of 1 or more')
    """

    test: Callable[[Any], bool]
    words: str
    annotation: str = "Any"


def one_of(*values: Any) -> Rule:
    """One of a few values."""
    listed = ", ".join(map(repr, values))
    return Rule(lambda value: value in values, f"one of {listed}", f"Literal[{listed}]")


def as_path(value: Any) -> Any:
    """Return a path as a string; other values are unchanged."""
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _is_int(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_schedule(value: Any) -> bool:
    try:
        Scheduler.validate(fixed_value_or_schedule=value)
    except ValueError:
        return False
    return _is_number(value) or (isinstance(value, Sequence) and len(value) > 1)


FLAG: Final = Rule(lambda value: isinstance(value, bool), "True or False", "bool")
INTEGER: Final = Rule(_is_int, "an integer", "int")
AT_LEAST_0: Final = Rule(
    lambda value: _is_int(value) and value >= 0, "an integer of 0 or more", "int"
)
AT_LEAST_1: Final = Rule(
    lambda value: _is_int(value) and value >= 1, "an integer of 1 or more", "int"
)
NUMBER: Final = Rule(_is_number, "a number", "float")
NOT_NEGATIVE: Final = Rule(
    lambda value: _is_number(value) and value >= 0, "a number that is not negative", "float"
)
POSITIVE: Final = Rule(lambda value: _is_number(value) and value > 0, "a number above 0", "float")
SHARE: Final = Rule(
    lambda value: _is_number(value) and 0 <= value <= 1, "a number from 0 to 1", "float"
)
SCHEDULE: Final = Rule(
    _is_schedule,
    "a number, or two or more [step, value] in order, the first at step 0",
    "Schedule",
)
WORTH: Final = Rule(
    lambda value: _is_schedule(value) and not (_is_number(value) and value < 0),
    "a number of 0 or more, or two or more [step, value] in order, the first at step 0",
    "Schedule",
)
SETTINGS: Final = Rule(lambda value: isinstance(value, Mapping), "a dict", "Mapping[str, Any]")
CALLABLE: Final = Rule(callable, "a function or class", "Function")
CALLABLES: Final = Rule(
    lambda value: (
        callable(value) or (isinstance(value, (list, tuple)) and all(map(callable, value)))
    ),
    "a function or class, or a list of them",
    "Function | Sequence[Function]",
)
CLASS: Final = Rule(lambda value: isinstance(value, type), "a class", "type[Any]")
COUNT_OR_AUTO: Final = Rule(
    lambda value: value == "auto" or AT_LEAST_1.test(value),
    "an integer of 1 or more, or 'auto'",
    "int | Literal['auto']",
)
ENVIRONMENT: Final = Rule(
    lambda value: value is None or isinstance(value, str) or callable(value),
    "a registered name, a gymnasium id, a class or a function",
    "str | Function",
)
POLICIES: Final = Rule(
    lambda value: isinstance(value, Collection) and not isinstance(value, str),
    "a dict or a collection of module ids",
    "Mapping[str, Any] | Collection[str]",
)
TEACHER: Final = Rule(
    lambda value: not isinstance(value, (bool, int, float, type)),
    "a path, a policy, or policies by module id",
)
TRAINED: Final = Rule(
    lambda value: callable(value) or POLICIES.test(value),
    "a collection of module ids, or a function of a module id",
    "Collection[str] | Function",
)
MODEL_CONFIG: Final = Rule(
    lambda value: (
        isinstance(value, Mapping) or (is_dataclass(value) and not isinstance(value, type))
    ),
    "a dict or a DefaultModelConfig",
    "Mapping[str, Any] | DataclassInstance",
)
MODULE_SPEC: Final = Rule(
    lambda value: isinstance(value, (RLModuleSpec, MultiRLModuleSpec)),
    "an RLModuleSpec or a MultiRLModuleSpec",
    "RLModuleSpec | MultiRLModuleSpec",
)


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
            "`evaluation_parallel_to_training` requires separate env runners",
            hint="config.evaluation(evaluation_num_env_runners=1), or leave it out.",
        )
    if config.evaluation_duration == "auto" and not config.evaluation_parallel_to_training:
        raise ConfigError(
            "`evaluation_duration='auto'` requires parallel training, whose duration it follows",
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
