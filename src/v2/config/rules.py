"""What the value of a setting has to be."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, is_dataclass
from numbers import Integral, Real
from typing import Any, Final

from ..modules.multi_spec import MultiRLModuleSpec
from ..modules.spec import RLModuleSpec
from ..schedules import Scheduler


@dataclass(frozen=True)
class Rule:
    """A test and what it asks for, in words.

    Example:
        >>> AT_LEAST_1.test(0), AT_LEAST_1.words
        (False, 'an integer of 1 or more')
    """

    test: Callable[[Any], bool]
    words: str


def one_of(*values: Any) -> Rule:
    """One of a few values."""
    return Rule(lambda value: value in values, f"one of {', '.join(map(repr, values))}")


def _is_int(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_schedule(value: Any) -> bool:
    try:
        Scheduler.validate(fixed_value_or_schedule=value)
    except ValueError:
        return False
    return _is_number(value) or len(value) > 1


FLAG: Final = Rule(lambda value: isinstance(value, bool), "True or False")
INTEGER: Final = Rule(_is_int, "an integer")
AT_LEAST_0: Final = Rule(lambda value: _is_int(value) and value >= 0, "an integer of 0 or more")
AT_LEAST_1: Final = Rule(lambda value: _is_int(value) and value >= 1, "an integer of 1 or more")
NOT_NEGATIVE: Final = Rule(
    lambda value: _is_number(value) and value >= 0, "a number that is not negative"
)
POSITIVE: Final = Rule(lambda value: _is_number(value) and value > 0, "a number above 0")
SHARE: Final = Rule(lambda value: _is_number(value) and 0 <= value <= 1, "a number from 0 to 1")
SCHEDULE: Final = Rule(
    _is_schedule, "a number, or two or more [step, value] in order, the first at step 0"
)
WORTH: Final = Rule(
    lambda value: _is_schedule(value) and not (_is_number(value) and value < 0),
    "a number of 0 or more, or two or more [step, value] in order, the first at step 0",
)
SETTINGS: Final = Rule(lambda value: isinstance(value, Mapping), "a dict")
CALLABLE: Final = Rule(callable, "a function or class")
CALLABLES: Final = Rule(
    lambda value: (
        callable(value) or (isinstance(value, (list, tuple)) and all(map(callable, value)))
    ),
    "a function or class, or a list of them",
)
CLASS: Final = Rule(lambda value: isinstance(value, type), "a class")
FRAGMENT: Final = Rule(
    lambda value: value == "auto" or AT_LEAST_1.test(value), "an integer of 1 or more, or 'auto'"
)
ENVIRONMENT: Final = Rule(
    lambda value: value is None or isinstance(value, str) or callable(value),
    "a registered name, a gymnasium id, a class or a function",
)
POLICIES: Final = Rule(
    lambda value: isinstance(value, Collection) and not isinstance(value, str),
    "a dict or a collection of module ids",
)
TRAINED: Final = Rule(
    lambda value: callable(value) or POLICIES.test(value),
    "a collection of module ids, or a function of a module id",
)
MODEL_CONFIG: Final = Rule(
    lambda value: (
        isinstance(value, Mapping) or (is_dataclass(value) and not isinstance(value, type))
    ),
    "a dict or a DefaultModelConfig",
)
MODULE_SPEC: Final = Rule(
    lambda value: isinstance(value, (RLModuleSpec, MultiRLModuleSpec)),
    "an RLModuleSpec or a MultiRLModuleSpec",
)
